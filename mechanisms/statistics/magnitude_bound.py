"""A private bound of the size of values, for unbounded sums and means."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import LInf
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.chained import FollowUp
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.above_threshold import AboveThreshold
from dpproof.mechanisms.statistics.bounded_mean import BoundedMean, BoundedSum
from dpproof.mechanisms.statistics.clipped_column import RealNoise, values_of

# Bounds that ``BoundedSum`` and ``BoundedMean`` accept.
_FURTHEST: Final = 249


def _exponent(value: int, name: str = "value") -> int:
    """Return a whole number from -249 to 249."""
    whole: object = value
    if isinstance(whole, bool) or not isinstance(whole, int | np.integer):
        raise ParameterError(name, whole, f"a whole number from {-_FURTHEST} to {_FURTHEST}")
    if not -_FURTHEST <= whole <= _FURTHEST:
        raise ParameterError(name, whole, f"at least {-_FURTHEST} and at most {_FURTHEST}")
    return int(whole)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class MagnitudeBound(Mechanism[R]):
    """Release the first power of two that nearly all values do not exceed in size.

    AboveThreshold on the counts of the values larger than 2^smallest, 2^(smallest + 1), ...: it
    stops at the first that is, with noise, at most ``outside``. However many powers are tried, only
    the one that stops it is paid for. If none does, the bound is 2^largest.

    Statement: every count moves by at most 1 between neighbours, and all in the same direction
        unless a record is replaced; so the exponent has the guarantee of ``AboveThreshold`` with
        sensitivity 1, ``monotone`` if no record is replaced.
    Assumes: sensitivity; one shape; random bits; output alone; monotone scores (unless a record is
        replaced).
    Source: ``AboveThreshold``.

    Args:
        threshold_scale, query_scale: of the Laplace noise on ``outside`` and on every count, in
            records.
        outside: the number of values that may be clipped. Below some ten query scales the
            search tends to stop at a power that is too small, as noise alone gets a count there.
        smallest, largest: exponents of the first and the last bound, from -249 to 249.
        relation: the neighbouring relation.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not a sequence of
            real numbers. A nan exceeds no bound.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> bound = MagnitudeBound(
        ...     threshold_scale=1, query_scale=2, outside=40, relation=AddRemove()
        ... )
        >>> bound.release([3.0] * 5000 + [1e6])
        4.0
    """

    threshold_scale: Fraction = field(converter=parameters.scale)
    query_scale: Fraction = field(converter=parameters.scale)
    outside: int = field(converter=parameters.whole)
    smallest: int = field(default=-20, converter=_exponent)
    largest: int = field(default=40, converter=_exponent)
    relation: R = field(validator=parameters.neighbours)

    def __attrs_post_init__(self) -> None:
        if self.largest < self.smallest:
            raise ParameterError("largest", self.largest, f"at least smallest, {self.smallest}")
        self._search()

    def guarantee(self) -> DominatingPair[R]:
        """Return the guarantee of AboveThreshold on counts."""
        return self._search().guarantee()

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw powers of two: float64 of shape (datasets, count)."""
        places = self._search().draw(datasets, count, rng)
        steps = np.where(places < 0, self.largest - self.smallest, places)
        return np.asarray(np.ldexp(1.0, self.smallest + steps))

    def inside(self, data: object) -> list[int]:
        """Return minus the number of values that exceed each bound in size; private.

        Raises:
            ParameterError: not a sequence of real numbers.
        """
        sizes = np.abs(values_of(data))
        bounds = np.ldexp(1.0, np.arange(self.smallest, self.largest + 1))
        ordered = np.sort(sizes[~np.isnan(sizes)])
        larger = len(ordered) - np.searchsorted(ordered, bounds, side="right")
        return [-int(number) for number in larger]

    def _search(self) -> AboveThreshold[R]:
        """Return AboveThreshold on the counts."""
        return AboveThreshold(
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            sensitivity=LInf(1, self.relation),
            monotone=not self.relation.symmetric,
            threshold=-self.outside,
            query=self.inside,
        )


# With every bound of ``MagnitudeBound``, up to 2^249, the noise then has a scale that is allowed.
_LARGEST: Final = Fraction(2) ** 50

Statistic: TypeAlias = Literal["sum", "mean"]


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
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
        The output of ``BoundedSum`` or ``BoundedMean`` for each bound of ``MagnitudeBound``.
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Chained, MagnitudeBound
        >>> bound = MagnitudeBound(
        ...     threshold_scale=1, query_scale=2, outside=40, relation=AddRemove()
        ... )
        >>> mean = WithinBound(statistic="mean", noise_multiplier=2, relation=AddRemove())
        >>> size, found = Chained(first=bound, then=mean).release([3.0] * 5000 + [1e6])
        >>> size, round(float(found.value), 1)
        (4.0, 3.0)
    """

    statistic: Statistic = field(validator=parameters.one_of("sum", "mean"))
    noise_multiplier: Fraction = field(
        converter=parameters.positive,
        # Otherwise what is released may be no scale.
        validator=parameters.within(1 / _LARGEST, _LARGEST, "in [2^-50, 2^50]"),
    )
    noise: RealNoise = field(default="gaussian", validator=parameters.one_of("gaussian", "laplace"))
    relation: R = field(validator=parameters.neighbours)

    def at(self, bound: Number) -> BoundedSum[R] | BoundedMean[R]:
        """Return the mechanism within one bound."""
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
        """Return the guarantee of the statistic, whatever the bound is."""
        return self.at(1).guarantee()

    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """Draw a statistic for each of the released bounds: shape (count,)."""
        if outputs.dtype.names is not None or outputs.ndim != 1:
            raise ParameterError("outputs", outputs.shape, "the bounds of MagnitudeBound")
        drawn = [self.at(float(bound)).draw([data], 1, rng)[0] for bound in outputs]
        return np.concatenate(drawn)
