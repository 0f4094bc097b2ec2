"""Queries: from data to the value that noise is added to.

A query is any deterministic function of the dataset. Its sensitivity is a claim about the *exact*
values it returns: a query computed in floating point has rounding errors of its own, and two
neighbours, or two orders of the same records, may differ by more than the textbook sensitivity.
The queries of ``mechanisms.queries.exact`` compute exactly, so their sensitivity is a fact.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.mechanisms.queries.exact import ClippedSum, Count

# The query's author knows the type of the records; the mechanism never looks at them.
Query: TypeAlias = Callable[[Any], object]

_LARGEST = 2**62
_EXACT = 2.0**53


def require_query(query: object) -> Query | None:
    """Return the argument if it is a callable or None, else raise ParameterError.

    Raises:
        ParameterError: anything else.
    """
    if query is None or callable(query):
        return query
    raise ParameterError("query", query, "a function of the data, or None to act on a value")


def real_values(query: Query | None, datasets: Sequence[object]) -> NDArray[np.float64]:
    """The query's value on each dataset: shape (len(datasets), ...), finite float64.

    Raises:
        ParameterError: a value is not finite, not a number, or not exactly a binary64 number; or
            values differ in shape.
    """
    if isinstance(query, Count | ClippedSum):
        return _real(query.on_each(datasets))
    return _stacked([_real(value) for value in _values(query, datasets)])


def whole_values(query: Query | None, datasets: Sequence[object]) -> NDArray[np.int64]:
    """The query's value on each dataset: shape (len(datasets), ...), int64.

    A float that is a whole number is refused as well: whether it always is cannot be seen from
    one value.

    Raises:
        ParameterError: a value is not an integer, or exceeds 2^62; or values differ in shape.
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
            raise DataError(
                "query",
                value,
                f"of one shape on every sample, here {shape}",
                "a shape that depends on the records is itself an unprotected output",
            )
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
    if array.dtype == np.object_ and all(_is_number(x) for x in array.flat):
        return array
    raise DataError(
        "value", value, allowed, "a mechanism on records needs query=, a function to a number"
    )


def _is_number(x: object) -> bool:
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def one_integer(query: Query | None, datasets: Sequence[object]) -> NDArray[np.int64]:
    """The query's value on each dataset, one integer each: shape (len(datasets),).

    Raises:
        ParameterError: as for ``whole_values``, or arrays.
    """
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
    if array.dtype.kind in "iu" and array.size and np.abs(result).max() < _EXACT:
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
