"""Sums and means within a bound that another mechanism has released."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, Required, TypeAlias, Unpack, final, overload

import numpy as np

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, R, Relation, require_relation
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.chained import FollowUp
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import Arguments
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import scale
from dpproof.mechanisms.statistics.bounded_mean import BoundedMean
from dpproof.mechanisms.statistics.bounded_sum import BoundedSum
from dpproof.mechanisms.statistics.clipped_column import RealNoise, require_noise

# With every bound of ``MagnitudeBound``, up to 2^249, the noise then has a scale that is allowed.
_LARGEST: Final = Fraction(2) ** 50

Statistic: TypeAlias = Literal["sum", "mean"]


class _Arguments(Arguments, total=False):
    statistic: Required[Statistic]
    noise_multiplier: Required[Number]
    noise: RealNoise


@final
@dataclass(frozen=True, slots=True, init=False)
class WithinBound(FollowUp[R]):
    """The sum or mean of values clipped to [-b, b], with noise that grows with the released b.

    Statement: ``BoundedSum`` or ``BoundedMean`` with lower = -b, upper = b, and noise of
        ``noise_multiplier`` times its sensitivity. For a power of two b the sensitivity is exact,
        so the guarantee is the same for all: (1 / noise_multiplier)-GDP with Gaussian noise.
    Source: adaptive composition as in ``Chained``.

    Args:
        statistic: "sum" or "mean".
        noise_multiplier: the noise's scale in units of the sensitivity, in [2^-50, 2^50].
        noise: "gaussian" or "laplace".
        relation: the neighbouring relation.
    Outputs:
        What ``BoundedSum`` or ``BoundedMean`` releases, for each bound of ``MagnitudeBound``.
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> from dpproof.mechanisms import Chained, MagnitudeBound
        >>> bound = MagnitudeBound(threshold_scale=1, query_scale=2, outside=40)
        >>> mean = Chained(first=bound, then=WithinBound(statistic="mean", noise_multiplier=2))
        >>> size, found = mean.release([3.0] * 5000 + [1e6])
        >>> size, round(float(found.value), 1)
        (4.0, 3.0)
    """

    statistic: Statistic
    noise_multiplier: Fraction
    noise: RealNoise
    relation: R

    @overload
    def __init__(self: WithinBound[AddRemove], **given: Unpack[_Arguments]) -> None: ...
    @overload
    def __init__(self, *, relation: R, **given: Unpack[_Arguments]) -> None: ...

    def __init__(
        self,
        *,
        statistic: Statistic,
        noise_multiplier: Number,
        noise: RealNoise = "gaussian",
        relation: Relation = parameters.DEFAULT_RELATION,
    ) -> None:
        if statistic not in ("sum", "mean"):
            raise ParameterError("statistic", statistic, "sum or mean")
        object.__setattr__(self, "statistic", statistic)
        multiplier = scale(noise_multiplier=noise_multiplier)
        if not 1 / _LARGEST <= multiplier <= _LARGEST:  # else what is released may be no scale
            raise ParameterError("noise_multiplier", noise_multiplier, "in [2^-50, 2^50]")
        object.__setattr__(self, "noise_multiplier", multiplier)
        object.__setattr__(self, "noise", require_noise(noise))
        object.__setattr__(self, "relation", require_relation(relation))

    def at(self, bound: Number) -> BoundedSum[R] | BoundedMean[R]:
        """The mechanism within one bound."""
        size = Fraction(bound)
        kind = BoundedSum if self.statistic == "sum" else BoundedMean
        one_sided = self.statistic == "sum" and not self.relation.symmetric
        moved = size if one_sided else 2 * size
        return kind(
            scale=self.noise_multiplier * moved,
            lower=-size,
            upper=size,
            noise=self.noise,
            relation=self.relation,
        )

    def guarantee(self) -> Guarantee[R]:
        """What the statistic satisfies, whatever the bound is."""
        return self.at(1).guarantee()

    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """A statistic for each of the released bounds: shape (count,)."""
        if outputs.dtype.names is not None or outputs.ndim != 1:
            raise ParameterError("outputs", outputs.shape, "the bounds of MagnitudeBound")
        drawn = [self.at(float(bound)).draw([data], 1, rng)[0] for bound in outputs]
        return np.concatenate(drawn)
