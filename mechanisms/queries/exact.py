"""Queries that compute exactly, so that their sensitivity is a fact and not an approximation."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.mechanisms.queries.column import real_column

_MOST_GRAINS = 2**32
_EXACT = 2**53


@final
@dataclass(frozen=True, slots=True)
class Count:
    """How many records there are: sensitivity L1(1) under add-remove, 0 under replace-one.

    Example:
        >>> Count()([5.0, 7.5])
        2
    """

    @withholding
    def __call__(self, records: Sized) -> int:
        """Return the number of records."""
        return len(records)

    @withholding
    def on_each(self, samples: Sequence[Any]) -> NDArray[np.int64]:
        """Return the number of records of each of many samples."""
        return np.fromiter(map(len, samples), np.int64, len(samples))


@final
@dataclass(frozen=True, slots=True)
class ClippedSum:
    """The sum of the records, each clipped to [lower, upper], on a grid, without rounding error.

    Each clipped record is rounded to the nearest multiple of ``granularity`` and the whole
    multiples are added as integers, so the order of the records does not matter and the
    sensitivity is exact: max(|lower|, |upper|) under add-remove and zero-out, upper - lower under
    replace-one. A nan record counts as the number of [lower, upper] nearest to 0. Under zero-out
    that may be the blank record, on samples only if 0 is in [lower, upper]: a blank adds nothing
    there.

    Args:
        lower, upper: in the records' unit, lower < upper, multiples of granularity.
        granularity: a power of two in the records' unit; the value is granularity times a whole
            number, exact in binary64 up to 2^53 of them.
    Example:
        >>> ClippedSum(lower=0, upper=1, granularity=2**-20)([0.25, 3.0, -1.0])
        1.25
    """

    lower: Fraction
    upper: Fraction
    granularity: Fraction

    def __init__(self, *, lower: Number, upper: Number, granularity: Number = 2**-20) -> None:
        low, high = arguments.real(lower=lower), arguments.real(upper=upper)
        grain = arguments.positive(granularity=granularity)
        if not low < high:
            raise ParameterError("upper", upper, f"above lower = {lower}")
        if not (
            grain.numerator & (grain.numerator - 1)
            == 0
            == grain.denominator & (grain.denominator - 1)
        ):
            raise ParameterError("granularity", granularity, "a power of two")
        for name, value in (("lower", low), ("upper", high)):
            if (value / grain).denominator != 1 or abs(value / grain) > _MOST_GRAINS:
                raise ParameterError(
                    name, float(value), "a multiple of granularity, at most 2^32 of it"
                )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "granularity", grain)

    @withholding
    def __call__(self, records: ArrayLike) -> float:
        """Return the sum of the clipped records, in their unit."""
        values = real_column(records)
        self._refuse_more(len(values))
        return float(int(self._grains(values).sum()) * self.granularity)

    @withholding
    def on_each(self, samples: Sequence[Any]) -> NDArray[np.float64]:
        """Return the sum of each of many samples; of arrays they are computed together."""
        if set(map(type, samples)) != {np.ndarray} or {one.ndim for one in samples} != {1}:
            return np.array([self(one) for one in samples], dtype=np.float64)
        sizes = np.fromiter(map(len, samples), np.int64, len(samples))
        self._refuse_more(int(sizes.max()))
        some, sums = sizes > 0, np.zeros(sizes.size, dtype=np.int64)
        if some.any():
            grains = self._grains(real_column(np.concatenate(samples)))
            sums[some] = np.add.reduceat(grains, (np.cumsum(sizes) - sizes)[some])
        return np.asarray(sums * float(self.granularity), dtype=np.float64)

    def _refuse_more(self, size: int) -> None:
        """Raise ParameterError if sums of so many records may not be exact."""
        largest = max(abs(self.lower), abs(self.upper)) / self.granularity
        if size * largest > _EXACT:
            raise ParameterError("records", size, "fewer, or granularity coarser")

    def _grains(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return each clipped record as an integer number of grains."""
        low, high = float(self.lower), float(self.upper)
        clipped = np.clip(np.where(np.isnan(values), 0.0, values), low, high)
        return np.rint(clipped / float(self.granularity)).astype(np.int64)


@final
@dataclass(frozen=True, slots=True)
class Scores:
    """The score of every candidate on the data: the query of an exponential mechanism.

    Args:
        candidates: fixed in advance, at least one; the released index points into them.
        score: (data, candidate) -> a number.
    Example:
        >>> Scores(candidates=("a", "b"), score=lambda words, c: words.count(c))(["b", "b", "a"])
        [1, 2]
    """

    candidates: tuple[object, ...]
    score: Callable[[Any, Any], float]

    def __init__(self, *, candidates: Sequence[object], score: Callable[[Any, Any], float]) -> None:
        if len(candidates) == 0:
            raise ParameterError("candidates", candidates, "at least one candidate")
        if not callable(score):
            raise ParameterError("score", score, "a function (data, candidate) -> number")
        object.__setattr__(self, "candidates", tuple(candidates))
        object.__setattr__(self, "score", score)

    @withholding
    def __call__(self, records: object) -> list[float]:
        """Return one score per candidate, in order."""
        return [self.score(records, candidate) for candidate in self.candidates]
