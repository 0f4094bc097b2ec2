"""Sums and means of clipped numbers: to public bounds, and to a private bound of their size."""

from __future__ import annotations

import functools
import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import DominatingPair, Guarantee, ParameterError, post_process
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2, JointSensitivity, LInf
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import MOST_RECORDS, Blocks
from dpproof.mechanisms.combinators.composed import FollowUp
from dpproof.mechanisms.learning.records import GridRecords, Records, as_records, is_sparse, on_grid
from dpproof.mechanisms.mechanism import Mechanism, Outputs, record
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.queries import ClippedSum, Query, real_column
from dpproof.mechanisms.samplers import Rng
from dpproof.mechanisms.selection.above_threshold import AboveThreshold
from dpproof.mechanisms.selection.exponential import read_scores

# Soundness: 2^29 records of at most 2^24 steps each add up to at most 2^53, exact in binary64.
_STEP_BITS: Final = 24
# Bounds, and what lies between them, keep away from where binary64 overflows and underflows.
_LARGEST: Final = Fraction(2) ** 250
_SIZE: Final = parameters.within(-_LARGEST, _LARGEST, "at most 2^250 in size")

RealNoise: TypeAlias = Literal["gaussian", "laplace"]


@final
@dataclass(frozen=True, slots=True)
class StepGrid:
    """Whole numbers of steps of one size, a power of two."""

    exponent: int  # a step is 2^exponent, in data units

    @classmethod
    def up_to(cls, size: Fraction) -> StepGrid:
        """Return the grid on which ``size``, above 0, is more than 2^23 and at most 2^24 steps."""
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** (exponent - 1) >= size:
            exponent -= 1
        elif Fraction(2) ** exponent < size:
            exponent += 1
        return cls(exponent - _STEP_BITS)

    def floor(self, number: Fraction) -> int:
        """Return the number of whole steps in a number, rounded down."""
        return math.floor(number / Fraction(2) ** self.exponent)

    def clipped(
        self, values: NDArray[np.float64], lowest: int, highest: int
    ) -> NDArray[np.float64]:
        """Round every value to steps by itself, and clip it; nan stays nan."""
        with np.errstate(over="ignore"):
            steps = np.rint(np.ldexp(values, -self.exponent))
        return np.clip(steps, lowest, highest)


def values_of(data: object) -> NDArray[np.float64]:
    """Return the values of a dataset, few enough for exact sums."""
    values = real_column(data)
    if len(values) > MOST_RECORDS:
        raise ParameterError("data", len(values), f"at most {MOST_RECORDS} records")
    return values


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ClippedStatistic(Mechanism[R], ABC):
    """Noise on sums of values that are clipped to public bounds, 2^-250 or more apart."""

    whole = ""

    scale: Fraction = field(converter=parameters.scale)
    lower: Fraction = field(converter=parameters.real, validator=_SIZE)
    upper: Fraction = field(converter=parameters.real, validator=_SIZE)
    noise: RealNoise = field(default="gaussian", validator=parameters.one_of("gaussian", "laplace"))
    relation: R = field(validator=parameters.neighbours)

    @upper.validator
    def _above_lower(self, _parameter: object, upper: Fraction) -> None:
        if upper - self.lower < 1 / _LARGEST:
            allowed = f"at least 2^-250 above lower, which is {float(self.lower)}"
            raise ParameterError("upper", upper, allowed)

    @final
    def _noise(self, sensitivity: Fraction) -> Gaussian[R] | Laplace[R]:
        """Return the noise, on values that move by at most this in L1 norm, and so in L2 norm."""
        if self.noise == "gaussian":
            return Gaussian(sigma=self.scale, sensitivity=L2(sensitivity, self.relation))
        return Laplace(scale=self.scale, sensitivity=L1(sensitivity, self.relation))


def rows_on_grid(data: object, *, norm: Fraction | None, features: int | None) -> GridRecords:
    """Put each row by itself on the grid, clipped to a norm; scaled to norm 1 if that is None."""
    # All are of class 0. A row that is not finite, or zero on the grid, is left out.
    return on_grid(
        _unlabelled(data, features), _no_class, norm=norm, features=features, compact=True
    )


def _unlabelled(data: object, features: int | None) -> Any:  # noqa: ANN401  # Records, or Blocks
    """Return rows with the label 0 each; a malformed row of a sequence becomes nan."""
    if isinstance(data, Blocks):
        return data.map(functools.partial(_unlabelled, features=features))
    rows: Any = data.rows if isinstance(data, Records) else data
    if is_sparse(rows) or (isinstance(rows, np.ndarray) and rows.ndim == 2):
        return Records(rows, np.zeros(rows.shape[0]))
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        allowed = "an array of shape (records, features), Records, or a sequence of rows"
        raise ParameterError("data", type(data).__name__, allowed)
    return as_records([(row, 0) for row in data], features)


def _no_class(labels: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.zeros(len(labels), dtype=np.int64)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class BoundedMean(ClippedStatistic[R]):
    """Release the mean of numbers clipped to public bounds, and how many there are.

    Two sums get noise: of the distances x - lower, and of the distances upper - x. Together they
    tell the number of records, which may be private, and the mean. Of a record both distances add
    up to upper - lower, so the second sum costs nothing. Under replace-one the number of records is
    public, and the first sum is enough. A nan counts as a blank record: it adds to neither sum, and
    half to each where a record is replaced.

    Statement: a record adds (x - lower, upper - x), of L1 norm upper - lower and L2 norm at most
        that, to the two sums; replaced, it moves the first sum by at most upper - lower. The noise
        has that sensitivity.
    Assumes: one shape; random bits; output alone.
    Source: ``Gaussian`` and ``Laplace``; the sensitivity is attained by single records.

    Args:
        scale: of the noise on each sum, in data units, in [2^-300, 2^300].
        lower, upper: public bounds, chosen without looking at the data, of at most 2^250 in size;
            ``Chained(first=MagnitudeBound(...), then=WithinBound(...))`` finds them privately.
        noise: "gaussian" or "laplace".
    Outputs:
        A record with fields ``value``, the mean, between the bounds, and ``count``, the noisy
        number of records; under replace-one the public one.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> ages = BoundedMean(scale=100, lower=0, upper=100, relation=AddRemove())
        >>> ages.guarantee().mu
        Fraction(1, 1)
        >>> bool(0 <= ages.release([25, 40, 62.5]).value <= 100)
        True
    """

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the noise at this sensitivity."""
        return post_process(
            self._noise(self.upper - self.lower).guarantee(),
            description="dividing a noisy sum by a noisy count",
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw means and counts: records of shape (datasets, count)."""
        rows, sums = zip(*(self._sums(data) for data in datasets), strict=True)
        width, middle = float(self.upper - self.lower), float((self.lower + self.upper) / 2)
        if self.relation.symmetric:  # the number of records is public, and the first sum enough
            numbers = np.repeat(np.array(rows, dtype=np.float64)[:, np.newaxis], count, axis=1)
            above = self._noise(self.upper - self.lower).draw(
                [first for first, _ in sums], count, rng
            )
            above -= numbers * width / 2
        else:
            noisy = self._noise(self.upper - self.lower).draw(sums, count, rng)
            numbers = noisy.sum(axis=2) / width
            above = (noisy[..., 0] - noisy[..., 1]) / 2
        shift = np.clip(above / np.maximum(numbers, 1.0), -width / 2, width / 2)
        means = np.clip(middle + shift, float(self.lower), float(self.upper))
        return record(2, value=means, count=numbers)

    def sums(self, data: object) -> NDArray[np.float64]:
        """Return the exact sums of the distances from the lower and the upper bound; private."""
        return self._sums(data)[1]

    def _sums(self, data: object) -> tuple[int, NDArray[np.float64]]:
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        rows, totals = blocks.sum(self._steps)
        exponent = StepGrid.up_to(self.upper - self.lower).exponent
        return rows, np.asarray(np.ldexp(totals, exponent))

    def _steps(self, data: object) -> tuple[int, NDArray[np.float64]]:
        """Return the number of records, and the sums in steps."""
        grid, values = StepGrid.up_to(self.upper - self.lower), values_of(data)
        highest = grid.floor(self.upper - self.lower)
        steps = grid.clipped(values - float(self.lower), 0, highest)
        if self.relation.symmetric:
            steps = np.where(np.isnan(steps), highest // 2, steps)
        steps = steps[~np.isnan(steps)]
        return len(values), np.array([steps.sum(), (highest - steps).sum()])


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class BoundedSum(ClippedStatistic[R]):
    """Clip one number a record to public bounds, add the numbers up exactly, and add noise.

    Numbers are rounded to a grid of 2^-24 of the larger bound before they are added, so that the
    sum is exact. A nan counts as a blank record: it adds nothing, so that a blank is as good as no
    record, and where a record is replaced the number between the bounds that is nearest to 0.

    Statement: a record moves the sum by at most max(|lower|, |upper|), and by upper - lower where
        it is replaced; the noise has that sensitivity.
    Assumes: one shape; random bits; output alone.
    Source: ``Gaussian`` and ``Laplace``; the sensitivity is attained by single records.

    Use: the arguments are those of ``BoundedMean``; the scale is sigma of Gaussian noise, the mean
        absolute deviation of Laplace noise.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> total = BoundedSum(scale=500, lower=0, upper=1000, relation=AddRemove())
        >>> total.guarantee().mu
        Fraction(2, 1)
        >>> isinstance(total.release([1, 2000, 3.5]), float)
        True
    """

    def __attrs_post_init__(self) -> None:
        self._query()

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the noise at this sensitivity."""
        return self._noise(self._moved()).guarantee()

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw sums plus noise: float64 of shape (datasets, count)."""
        return self._noise(self._moved()).draw([self.total(data) for data in datasets], count, rng)

    def total(self, data: object) -> float:
        """Return the exact sum of the clipped values; it is private."""
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        return self._query()(blocks.map(self._present))

    def _present(self, data: object) -> NDArray[np.float64]:
        values = values_of(data)
        return values if self.relation.symmetric else values[~np.isnan(values)]

    def _query(self) -> ClippedSum:
        """Return the sum on the grid, its bounds rounded inwards; refuse bounds of one step."""
        grid = StepGrid.up_to(max(abs(self.lower), abs(self.upper)))
        step = Fraction(2) ** grid.exponent
        return ClippedSum(
            lower=-grid.floor(-self.lower) * step,
            upper=grid.floor(self.upper) * step,
            granularity=step,
        )

    def _moved(self) -> Fraction:
        largest = max(abs(self.lower), abs(self.upper))
        return self.upper - self.lower if self.relation.symmetric else largest


# Bounds that ``BoundedSum`` and ``BoundedMean`` accept.
_FURTHEST: Final = 249


def _exponent(value: int, name: str = "value") -> int:
    whole: object = value
    if isinstance(whole, bool) or not isinstance(whole, int | np.integer):
        raise ParameterError(name, whole, f"a whole number from {-_FURTHEST} to {_FURTHEST}")
    if not -_FURTHEST <= whole <= _FURTHEST:
        raise ParameterError(name, whole, f"at least {-_FURTHEST} and at most {_FURTHEST}")
    return int(whole)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class MagnitudeBound(Mechanism[R]):
    """Release the first power of two that nearly all values do not exceed in size.

    AboveThreshold on the counts of the values larger than 2^smallest, 2^(smallest + 1), ...: it
    stops at the first that is, with noise, at most ``outside``. However many powers are tried, only
    the one that stops it is paid for. If none does, the bound is 2^largest. A nan exceeds no bound.

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
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> noise = {"threshold_scale": 1, "query_scale": 2, "relation": AddRemove()}
        >>> bound = MagnitudeBound(outside=40, **noise)
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
        """Return minus the number of values that exceed each bound in size; private."""
        sizes = np.abs(values_of(data))
        bounds = np.ldexp(1.0, np.arange(self.smallest, self.largest + 1))
        ordered = np.sort(sizes[~np.isnan(sizes)])
        larger = len(ordered) - np.searchsorted(ordered, bounds, side="right")
        return [-int(number) for number in larger]

    def _search(self) -> AboveThreshold[R]:
        return AboveThreshold(
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            sensitivity=LInf(1, self.relation),
            monotone=not self.relation.symmetric,
            threshold=-self.outside,
            query=self.inside,
        )


# With every bound of ``MagnitudeBound``, up to 2^249, the noise then has a scale that is allowed.
_LARGEST_BASE: Final = Fraction(2) ** 50

Statistic: TypeAlias = Literal["sum", "mean"]


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
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
    Outputs:
        The output of ``BoundedSum`` or ``BoundedMean`` for each bound of ``MagnitudeBound``.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Chained, MagnitudeBound
        >>> noise = {"threshold_scale": 1, "query_scale": 2, "relation": AddRemove()}
        >>> bound = MagnitudeBound(outside=40, **noise)
        >>> mean = WithinBound(statistic="mean", noise_multiplier=2, relation=AddRemove())
        >>> size, found = Chained(first=bound, then=mean).release([3.0] * 5000 + [1e6])
        >>> size, round(float(found.value), 1)
        (4.0, 3.0)
    """

    statistic: Statistic = field(validator=parameters.one_of("sum", "mean"))
    noise_multiplier: Fraction = field(
        converter=parameters.positive,
        # Otherwise what is released may be no scale.
        validator=parameters.within(1 / _LARGEST_BASE, _LARGEST_BASE, "in [2^-50, 2^50]"),
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


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class NumericAnswers(FollowUp[R]):
    """Values of the queries at released positions, 0 at -1, with Laplace noise of their own.

    Behind ``AboveThreshold``, in ``Chained``, this is the sparse vector technique with numeric
    answers; behind ``TopK`` or a choice it measures what was chosen.

    Statement: as many Laplace shifts by sensitivity/scale as there are positions at most: given the
        positions, so many fixed numbers are released that each move by at most the sensitivity.
    Source: adaptive composition as in ``Chained``; docs/shift-lemma.md.

    Args:
        query: data -> the values of all queries, as for the mechanism before.
        scale: of each answer's noise, in the queries' unit.
        sensitivity: LInf, of any one query.
        cutoff: the most positions that are released.
    Example:
        >>> from dpproof.accountant import LInf
        >>> from dpproof.mechanisms import AboveThreshold, Chained
        >>> loads = lambda records: [sum(r > k for r in records) for k in (9, 5, 1)]
        >>> of = {"query": loads, "sensitivity": LInf(1)}
        >>> alarm = AboveThreshold(threshold_scale=1, query_scale=2, threshold=500, **of)
        >>> both = Chained(first=alarm, then=NumericAnswers(scale=4, **of))
        >>> place, size = both.release([3] * 1000)
        >>> int(place), abs(size - 1000) < 400
        (2, True)
    """

    query: Query = field(validator=parameters.function_of_data)
    scale: Fraction = field(converter=parameters.scale)
    sensitivity: LInf[R] = field(validator=parameters.norms(LInf))
    cutoff: int = field(default=1, converter=parameters.count)

    @property
    def relation(self) -> R:
        """Return the relation that the sensitivity speaks of."""
        return self.sensitivity.relation

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of one shift for each answer."""
        return self._noise().guarantee()

    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """Draw noisy values at the positions: float64 of the positions' shape."""
        values = read_scores(self.query, [data])[0]
        positions = np.asarray(outputs["0"] if outputs.dtype.names else outputs)  # or with gaps
        if positions.reshape(len(positions), -1).shape[1] > self.cutoff:
            raise ParameterError("cutoff", self.cutoff, f"at least {positions.shape[1]}, as before")
        there = positions >= 0
        exact = np.where(there, values[np.maximum(positions, 0)], 0.0)
        return np.where(there, self._noise().draw([exact], 1, rng)[0, 0], 0.0)

    def _noise(self) -> Laplace[R]:
        few = JointSensitivity.few(
            coordinates=self.cutoff, each=self.sensitivity.value, relation=self.relation
        )
        return Laplace(scale=self.scale, sensitivity=few)
