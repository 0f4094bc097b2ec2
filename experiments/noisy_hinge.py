"""Noisy projected subgradient descent on the margin hinge loss."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import (
    Contributions,
    HalfspaceMistakes,
    NoisySums,
    StepLearner,
    SumLearner,
    hinge_limits,
)
from dpproof.mechanisms.learning.records import GridRecords, Vectors
from dpproof.mechanisms.parameters import named

# The paper's loss is max(0, 0.96 margin - y <w, x>) / (0.86 margin): it is 0 where a projection
# left 0.96 of the margin, and at least 1 where y <w, x> < margin / 10.
_KEPT: Final = Fraction(96, 100)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class NoisyHinge(SumLearner[R]):
    """Learn a halfspace of known margin by noisy projected subgradient steps on all records.

    Start from w = 0. In every step add up y x over all records with y <w, x> < 0.96 margin, add
    N(0, sigma^2 I), move w by a constant times the noisy sum, and project on the unit ball.

    Statement: with all records in every step the run is mu-GDP, mu = sqrt(steps) norm / sigma,
        twice that under replace-one.
    Source: Theorem A of proofs/theory/learners.md. The loss is Nguyen, Ullman & Zakynthinou,
        arXiv:1902.09009, Algorithm 1; this replaces the solver of their Algorithm 3, whose
        repetitions spend the budget once and whose selection spends it again.

    Args:
        margin: above 0, in data units.
        expected_size: a public guess of the number of records; it sets the step size only.
        steps, sigma, norm, relation, features: as for ``BatchPerceptron``.
        average: whether the weights are the mean of the last half of the states, or the last one.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` and ``weights`` of shape (features,).
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> learner = NoisyHinge(
        ...     margin=0.3, expected_size=2_000, steps=100, sigma=40, relation=AddRemove()
        ... )
        >>> learner.guarantee().mu
        Fraction(1, 4)
    """

    margin: Fraction = field(converter=parameters.positive)
    expected_size: int = field(converter=parameters.count)
    steps: int = field(converter=parameters.count)
    sigma: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)

    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        return NoisySums(
            steps=self.steps, sigma=self.sigma, norm=self._unit, relation=self.relation
        )

    def _contributions(self, records: GridRecords) -> Contributions:
        # The engine's states are w / norm, and the grid's rows x / norm.
        norm = float(self._unit)
        largest = math.hypot(
            self.expected_size * norm, math.sqrt(records.vectors.shape[1]) * float(self.sigma)
        )
        pace = 1 / (math.sqrt(self.steps) * largest)

        def update(states: Vectors, noisy: Vectors) -> Vectors:
            moved = states + pace * noisy
            lengths = np.linalg.norm(moved, axis=1, keepdims=True) * norm
            return np.asarray(moved / np.maximum(lengths, 1.0))

        limits = hinge_limits(float(_KEPT * self.margin / self._unit**2))
        return HalfspaceMistakes(records, limits, update)


_LARGEST_DECAY: Final = 2


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class SubsampledHinge(StepLearner[R]):
    """Learn a halfspace by noisy subgradient steps on the hinge loss with L2 decay.

    Start from w = 0. In every step draw a sample, add up y x over its records with y <w, x> < 1,
    add N(0, sigma^2 I), and put w = (1 - learning_rate decay) w + learning_rate (noisy sum). The
    decay does not look at data and stands outside the sum.

    Statement: as for ``BatchPerceptron``: one record moves the sum of a step by at most ``norm``.
    Source: Theorem A of proofs/theory/learners.md. It is DP-SGD (Abadi et al., arXiv:1607.00133)
        on the hinge loss, whose subgradients need no clipping, with sums in place of means; the
        baseline of Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, section 5.

    Args:
        learning_rate: of a sum, not of a mean: divide by a public expected size of the sample; in
            [2^-300, 2^300].
        decay: at least 0, the weight of ||w||^2 / 2 in the loss; at most 2 / learning_rate, beyond
            which the states would grow without bound.
        steps, sigma, rate, norm, relation, features, batch: as for ``BatchPerceptron``.
        average: whether the weights are the mean of the last half of the states, or the last one.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` and ``weights`` of shape (features,).
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> learner = SubsampledHinge(
        ...     learning_rate=0.01, decay=1e-4, steps=100, sigma=40, relation=AddRemove()
        ... )
        >>> learner.guarantee().mu
        Fraction(1, 4)
    """

    learning_rate: Fraction = field(converter=parameters.scale)
    decay: Fraction = field(default=Fraction(0), converter=parameters.non_negative)

    @decay.validator
    def _keeps_states_finite(self, _parameter: object, decay: Fraction) -> None:
        # Soundness: the grid of a state that is not finite would not be exact.
        if self.learning_rate * decay > _LARGEST_DECAY:
            raise ParameterError("decay", decay, f"at most {_LARGEST_DECAY} / learning_rate")

    def _contributions(self, records: GridRecords) -> Contributions:
        # The engine's states are w / norm, and the grid's rows x / norm.
        rate, shrink = float(self.learning_rate), float(1 - self.learning_rate * self.decay)

        def update(states: Vectors, noisy: Vectors) -> Vectors:
            return shrink * states + rate * noisy

        limits = hinge_limits(float(1 / self._unit**2))
        return HalfspaceMistakes(records, limits, update)
