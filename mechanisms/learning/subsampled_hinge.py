"""The private support vector machine: noisy subgradient steps on the hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Required, Unpack, final, overload

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, R, Relation, ReplaceOne
from dpproof.accountant.sampling.without_replacement import WithoutReplacement
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.batches import scheme_of
from dpproof.mechanisms.learning.bounded_updates import Contributions, NoisySums
from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.halfspace import HalfspaceMistakes, hinge_limits, signed
from dpproof.mechanisms.learning.records import GridRecords
from dpproof.mechanisms.learning.sum_learner import SumArguments, SumLearner, checked
from dpproof.mechanisms.samplers.sampler_arguments import scale

_LARGEST_DECAY: Final = 2


class _Arguments(SumArguments, total=False):
    learning_rate: Required[Number]
    decay: Number


@final
@dataclass(frozen=True, slots=True, init=False)
class SubsampledHinge(SumLearner[R]):
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
        >>> learner = SubsampledHinge(learning_rate=0.01, decay=1e-4, steps=100, sigma=40)
        >>> learner.guarantee().mu
        Fraction(1, 4)
    """

    learning_rate: Fraction
    decay: Fraction
    rate: Fraction
    steps: int
    sigma: Fraction
    norm: Fraction | None
    relation: R
    average: bool
    features: int | None
    batch: WithoutReplacement | None

    @overload
    def __init__(
        self: SubsampledHinge[AddRemove], *, rate: Number = 1, **given: Unpack[_Arguments]
    ) -> None: ...
    @overload
    def __init__(self, *, relation: R, rate: Number = 1, **given: Unpack[_Arguments]) -> None: ...
    @overload
    def __init__(
        self: SubsampledHinge[ReplaceOne],
        *,
        relation: ReplaceOne,
        batch: WithoutReplacement,
        **given: Unpack[_Arguments],
    ) -> None: ...

    def __init__(
        self,
        *,
        learning_rate: Number,
        decay: Number = 0,
        steps: int,
        sigma: Number,
        rate: Number = 1,
        norm: Number | None = 1,
        relation: Relation = parameters.DEFAULT_RELATION,
        average: bool = True,
        features: int | None = None,
        batch: WithoutReplacement | None = None,
    ) -> None:
        fields = checked(
            rate=rate,
            steps=steps,
            sigma=sigma,
            norm=norm,
            relation=relation,
            average=average,
            features=features,
            batch=batch,
        )
        pace = scale(learning_rate=learning_rate)
        shrinking = check.non_negative(decay=decay)
        # Soundness: states stay finite; the grid of a state that is not finite would not be exact.
        if pace * shrinking > _LARGEST_DECAY:
            raise ParameterError("decay", decay, f"at most {_LARGEST_DECAY} / learning_rate")
        fields["learning_rate"], fields["decay"] = pace, shrinking
        self._set(**fields)

    def sums(self) -> NoisySums[R]:
        """The noisy sums that a run releases, with what one record contributes at most."""
        return NoisySums(
            scheme=scheme_of(self.rate, self.batch),
            steps=self.steps,
            sigma=self.sigma,
            norm=self._unit,
            relation=self.relation,
        )

    def _contributions(self, records: GridRecords) -> Contributions:
        # The engine's states are w / norm, and the grid's rows x / norm.
        rate, shrink = float(self.learning_rate), float(1 - self.learning_rate * self.decay)

        def update(states: Vectors, noisy: Vectors) -> Vectors:
            return shrink * states + rate * noisy

        limits = hinge_limits(float(1 / self._unit**2))
        return HalfspaceMistakes(signed(records), limits, update)
