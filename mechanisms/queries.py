"""Queries: what a mechanism computes from the data before it adds noise or chooses."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
from fractions import Fraction
from numbers import Real
from typing import Any, Final, TypeAlias, TypeVar, final

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.form import DataError, withholding
from dpproof.mechanisms.blocks import Blocks, number_of
from dpproof.mechanisms.samplers.enclosure import nearest


def real_column(data: object) -> NDArray[np.float64]:
    """Return the values of a dataset, one number a record, each rounded to binary64 by itself."""
    allowed = "a sequence of real numbers", "one value a record"
    try:
        array = np.asarray(data)
    except ValueError:
        raise DataError("data", data, *allowed) from None
    if array.ndim == 1 and array.dtype.kind == "O" and all(isinstance(one, Real) for one in array):
        return np.array([nearest(one) for one in array], dtype=np.float64)
    if array.ndim != 1 or (array.dtype.kind not in "fiu" and array.size):
        raise DataError("data", array, *allowed)
    return array.astype(np.float64)


# The output's type belongs to the mechanism, so its score's argument does too.
Score: TypeAlias = Callable[[Any], float]


def required_score(score: object) -> None:
    """Refuse anything but a function of an output, or None."""
    if score is not None and not callable(score):
        raise ParameterError("score", score, "a function of an output, or None")


def scored(score: Score | None, output: object) -> float:
    """Return the score of an output; without one the output itself."""
    value = output if score is None else score(output)
    if isinstance(value, numbers.Real) and not math.isnan(value):
        return value  # type: ignore[return-value]  # comparable, whatever kind of number
    hint = "give score=, a function of the output, and let it map nan to a number"
    raise DataError("score", value, "a number, for every output", hint)


_MOST_GRAINS, _EXACT = 2**32, 2**53


@final
@frozen
class Count:
    """The number of records: sensitivity L1(1) under add-remove, 0 under replace-one.

    Example:
        >>> Count()([5.0, 7.5])
        2
    """

    @withholding
    def __call__(self, records: Sized | Blocks) -> int:
        """Return the number of records."""
        if isinstance(records, Blocks):
            return int(records.sum(number_of)[0])
        return len(records)

    @withholding
    def on_each(self, samples: Sequence[Any]) -> NDArray[np.int64]:
        """Return the number of records of each of many samples."""
        return np.fromiter(map(self, samples), np.int64, len(samples))


@final
@frozen(init=False)
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
        if any(part & (part - 1) for part in grain.as_integer_ratio()):
            raise ParameterError("granularity", granularity, "a power of two")
        for name, value in (("lower", low), ("upper", high)):
            if (value / grain).denominator != 1 or abs(value / grain) > _MOST_GRAINS:
                allowed = "a multiple of granularity, at most 2^32 of it"
                raise ParameterError(name, float(value), allowed)
        self.__attrs_init__(low, high, grain)

    @withholding
    def __call__(self, records: ArrayLike | Blocks) -> float:
        """Return the sum of the clipped records, in their unit."""
        size, total = records.sum(self._sum) if isinstance(records, Blocks) else self._sum(records)
        self._refuse_more(size)
        return float(total * self.granularity)

    def _sum(self, records: ArrayLike) -> tuple[int, int]:
        """Return the number of records, and the grains of their sum."""
        values = real_column(records)
        self._refuse_more(len(values))
        return len(values), int(self._grains(values).sum())

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
        largest = max(abs(self.lower), abs(self.upper)) / self.granularity
        if size * largest > _EXACT:
            raise ParameterError("records", size, "fewer, or granularity coarser")

    def _grains(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return each clipped record as an integer number of grains."""
        low, high = float(self.lower), float(self.upper)
        clipped = np.clip(np.where(np.isnan(values), 0.0, values), low, high)
        return np.rint(clipped / float(self.granularity)).astype(np.int64)


@final
@frozen
class Additive:
    """A query of whole numbers whose value is the sum of its values on any parts of the records.

    It takes ``Blocks``. A query that bounds what a user adds is none: a user may be in many blocks.

    Args:
        query: data -> an integer, or an array of integers.
    Example:
        >>> from dpproof.mechanisms import Blocks
        >>> ages = Additive(lambda ages: np.bincount(ages, minlength=3))
        >>> ages(Blocks([np.array([0, 2]), np.array([2, 2])])).tolist()
        [1, 0, 3]
    """

    query: Query

    @withholding
    def __call__(self, records: Any) -> Any:  # noqa: ANN401  # whatever the query takes
        """Return the query's value, of blocks the sum of its values."""
        if isinstance(records, Blocks):
            return records.sum(self._sum)[1]
        return self.query(records)

    def _sum(self, records: Any) -> tuple[int, NDArray[Any]]:  # noqa: ANN401
        """Return 0 for the number of records, which does not matter, and the value."""
        return 0, _whole(self.query(records)).astype(np.object_)


@final
@frozen(init=False)
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
        self.__attrs_init__(tuple(candidates), score)

    @withholding
    def __call__(self, records: object) -> list[float]:
        """Return one score per candidate, in order."""
        return [self.score(records, candidate) for candidate in self.candidates]


Record = TypeVar("Record")


@withholding
def bound_contributions(
    records: Iterable[tuple[Hashable, Record]], most: int, *, once: bool = False
) -> list[Record]:
    """Keep the first ``most`` records of every user, in the order in which they stand.

    Where all records of one user are protected together, the dataset is what the users have, and a
    neighbour has all records of one user more or less. What is kept of one user depends on that
    user's records alone, so that neighbours differ by at most ``most`` kept records. Used inside a
    query: ``Histogram(contributions=most, query=...)`` then speaks of users, and so do
    ``PartitionSelection(contributions=most)`` with ``once`` and a sum whose sensitivity is ``most``
    times that of one record. With ``once`` every record of a user is kept once only; records are
    then hashable. Of data that are sorted, the first records may be special.

    Laws: removing a user removes that user's kept records, and changes no other.
    Example:
        >>> visits = [("ann", "shop"), ("bob", "bank"), ("ann", "shop"), ("ann", "bank")]
        >>> bound_contributions(visits, 2)
        ['shop', 'bank', 'shop']
        >>> bound_contributions(visits, 2, once=True)
        ['shop', 'bank', 'bank']
    """
    limit = arguments.count(most=most)
    counts: Counter[Hashable] = Counter()
    seen: set[tuple[Hashable, object]] = set()
    bounded: list[Record] = []
    for user, record in records:
        if counts[user] >= limit or (once and (user, record) in seen):
            continue
        counts[user] += 1
        bounded.append(record)
        if once:
            seen.add((user, record))
    return bounded


# The query's author knows the type of the records; the mechanism never looks at them.
Query: TypeAlias = Callable[[Any], object]
SUMS: Final = (Count, ClippedSum, Additive)
"""Queries that take ``Blocks``."""

_LARGEST, _QUERY_EXACT = 2**62, 2.0**53


def require_query(query: object) -> Query | None:
    """Return the argument if it is a callable or None, else refuse it."""
    if query is None or callable(query):
        return query
    raise ParameterError("query", query, "a function of the data, or None to act on a value")


def real_values(query: Query | None, datasets: Sequence[object]) -> NDArray[np.float64]:
    """Return the query's value on each dataset: shape (len(datasets), ...), finite float64."""
    if isinstance(query, Count | ClippedSum):
        return _real(query.on_each(datasets))
    return _stacked([_real(value) for value in _values(query, datasets)])


@withholding
def whole_values(query: Query | None, datasets: Sequence[object]) -> NDArray[np.int64]:
    """Return the query's value on each dataset: shape (len(datasets), ...), int64.

    Floats are refused: whether they always are whole cannot be seen from one value. So are sizes
    above 2^62, and values that differ in shape.
    """
    if isinstance(query, Count):
        return _whole(query.on_each(datasets))
    return _stacked([_whole(value) for value in _values(query, datasets)])


def _values(query: Query | None, datasets: Sequence[object]) -> list[object]:
    return list(datasets) if query is None else [query(data) for data in datasets]


def _stacked(values: list[NDArray[Any]]) -> NDArray[Any]:
    shape = values[0].shape
    for value in values:
        if value.shape != shape:
            hint = "a shape that depends on the records is itself an unprotected output"
            raise DataError("query", value, f"of one shape on every sample, here {shape}", hint)
    return np.stack(values)


def _array(value: object, allowed: str) -> NDArray[Any]:
    """Return the value as an array of the numbers it holds, without converting them."""
    if isinstance(value, np.ndarray | np.generic | int | float) and not isinstance(value, bool):
        array = np.asarray(value)
    else:
        try:
            array = np.array(value, dtype=np.object_)
        except ValueError:
            raise DataError("value", value, allowed, "it must be rectangular") from None
    if array.dtype.kind in "fiu":
        return array
    if array.dtype == np.object_ and all(
        isinstance(x, numbers.Real) and not isinstance(x, bool) for x in array.flat
    ):
        return array
    hint = "a mechanism on records needs query=, a function to a number"
    raise DataError("value", value, allowed, hint)


def one_integer(query: Query | None, datasets: Sequence[object]) -> NDArray[np.int64]:
    """Return the query's value on each dataset, one integer each: shape (len(datasets),)."""
    truth = whole_values(query, datasets)
    if truth.ndim != 1:
        raise DataError("value", truth[0], "one integer, not an array")
    return truth


def _real(value: object) -> NDArray[np.float64]:
    allowed = "finite numbers, each exactly a binary64 number"
    array = _array(value, allowed)
    try:
        result = array.astype(np.float64)
    except OverflowError:
        raise DataError("value", value, allowed) from None
    if not np.isfinite(result).all():
        raise DataError("value", value, allowed, "clip it or replace nan inside the query")
    if array.dtype.kind == "f" and array.dtype.itemsize <= result.dtype.itemsize:
        return result
    if array.dtype.kind in "iu" and array.size and np.abs(result).max() < _QUERY_EXACT:
        return result
    if any(x != Fraction(float(y)) for x, y in zip(array.flat, result.flat, strict=True)):
        raise DataError("value", value, allowed, "round it inside the query")
    return result


def _whole(value: object) -> NDArray[np.int64]:
    allowed = "integers of size at most 2^62"
    array = _array(value, allowed)
    whole = array.dtype.kind in "iu" or (
        array.dtype == np.object_ and all(isinstance(x, numbers.Integral) for x in array.flat)
    )
    if not whole:
        raise DataError("value", value, allowed, "round it to an integer inside the query")
    if array.size and max(abs(int(array.max())), abs(int(array.min()))) > _LARGEST:
        raise DataError("value", value, allowed)
    return array.astype(np.int64)
