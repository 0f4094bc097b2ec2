"""Noisy projected subgradient descent on the margin hinge loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Required, Unpack, final, overload

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import Contributions, NoisySums
from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.halfspace import HalfspaceMistakes, hinge_limits, signed
from dpproof.mechanisms.learning.records import GridRecords
from dpproof.mechanisms.learning.sum_learner import SumArguments, SumLearner, checked

# The paper's loss is max(0, 0.96 margin - y <w, x>) / (0.86 margin): it is 0 where a projection
# left 0.96 of the margin, and at least 1 where y <w, x> < margin / 10.
_KEPT: Final = Fraction(96, 100)


class _Arguments(SumArguments, total=False):
    margin: Required[Number]
    expected_size: Required[int]


@final
@dataclass(frozen=True, slots=True, init=False)
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
        >>> learner = NoisyHinge(margin=0.3, expected_size=2_000, steps=100, sigma=40)
        >>> learner.guarantee().mu
        Fraction(1, 4)
    """

    margin: Fraction
    expected_size: int
    steps: int
    sigma: Fraction
    norm: Fraction | None
    relation: R
    average: bool
    features: int | None

    @overload
    def __init__(self: NoisyHinge[AddRemove], **given: Unpack[_Arguments]) -> None: ...
    @overload
    def __init__(self, *, relation: R, **given: Unpack[_Arguments]) -> None: ...

    def __init__(
        self,
        *,
        margin: Number,
        expected_size: int,
        steps: int,
        sigma: Number,
        norm: Number | None = 1,
        relation: Relation = parameters.DEFAULT_RELATION,
        average: bool = True,
        features: int | None = None,
    ) -> None:
        fields = checked(
            rate=1,
            steps=steps,
            sigma=sigma,
            norm=norm,
            relation=relation,
            average=average,
            features=features,
        )
        del fields["rate"], fields["batch"]
        fields["margin"] = check.positive(margin=margin)
        fields["expected_size"] = check.count(expected_size=expected_size)
        self._set(**fields)

    def sums(self) -> NoisySums[R]:
        """The noisy sums that a run releases, with what one record contributes at most."""
        return NoisySums(
            steps=self.steps,
            sigma=self.sigma,
            norm=self._unit,
            relation=self.relation,
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
        return HalfspaceMistakes(signed(records), limits, update)
