"""The distance of two values, exactly: no rounding between a value and its sensitivity."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sensitivity import L1, L2, LInf, Sensitivity


@final
@dataclass(frozen=True, slots=True)
class Distance:
    """The L1, squared L2 and LInf distance of two values, exact; inf where one is not finite.

    Attributes:
        total: sum of the absolute changes.
        squares: sum of the squared changes.
        largest: the largest absolute change.
    """

    total: Fraction | float
    squares: Fraction | float
    largest: Fraction | float

    def plus(self, other: Distance) -> Distance:
        """Return the joint distance of two parts of one value."""
        largest = max(self.largest, other.largest)
        return Distance(self.total + other.total, self.squares + other.squares, largest)

    def exceeds(self, declared: Sensitivity[Any]) -> bool:
        """Return whether the distance is above a declared sensitivity, without any rounding."""
        match declared:
            case L1():
                return self.total > declared.value
            case L2():
                return self.squares > declared.value**2
            case LInf():
                return self.largest > declared.value
        raise ParameterError("sensitivity", declared, "L1(...), L2(...) or LInf(...)")

    def nearest(self, declared: Sensitivity[Any] | None) -> float:
        """Return the distance in the norm of a declared sensitivity, by default LInf, for display.

        It is rounded up to two digits, as a movement may be what a record holds.
        """
        match declared:
            case L1():
                return _rounded(_nearest(self.total))
            case L2():
                return _rounded(math.sqrt(_nearest(self.squares)))
        return _rounded(_nearest(self.largest))


NOWHERE = Distance(Fraction(0), Fraction(0), Fraction(0))
APART = Distance(math.inf, math.inf, math.inf)


def distance(first: object, second: object) -> Distance | None:
    """Return the distance of two numbers or arrays of one shape; None where there is none.

    Bitwise equal entries are at distance 0, infinities and nan too. From anything else, an infinity
    or nan is infinitely far.

    Example:
        >>> distance([0.1, 2], [0.1, 5]).largest
        Fraction(3, 1)
        >>> distance(1.0, [1.0]) is None
        True
    """
    one, other = _array(first), _array(second)
    if one is None or other is None or one.shape != other.shape:
        return None
    if one.dtype == other.dtype and one.dtype != object:
        same = _bits(one) == _bits(other)
        one, other = one.ravel()[~same], other.ravel()[~same]
    result = NOWHERE
    for x, y in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True):
        a, b = _exact(x), _exact(y)
        if a is None or b is None:
            result = result if repr(x) == repr(y) else APART
        else:
            moved = abs(a - b)
            result = result.plus(Distance(moved, moved * moved, moved))
    return result


def identical(first: object, second: object) -> bool:
    """Return whether two values are the same in every bit: -0.0 is not 0.0, and nan is nan.

    Arrays are compared by type, shape and bytes; containers item by item; mappings in their order.
    Anything else is compared by type, and by ``==`` where its class defines that.

    Example:
        >>> identical([0.0, "a"], [0.0, "a"]), identical(0.0, -0.0), identical({1: 2}, {1: 2.0})
        (True, False, False)
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return identical(list(first.items()), list(second.items()))
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(identical, first, second))
    if isinstance(first, AbstractSet) and isinstance(second, AbstractSet):
        return identical(sorted(map(repr, first)), sorted(map(repr, second)))
    if not _numeric(first) or not _numeric(second):
        if type(first) is not type(second):
            return False
        return type(first).__eq__ is object.__eq__ or bool(first == second)
    one, other = np.asarray(first), np.asarray(second)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.hasobject:
        return all(map(identical, one.ravel().tolist(), other.ravel().tolist()))
    return one.tobytes() == other.tobytes()


def _numeric(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic | float | complex | bool) or (
        isinstance(value, int) and abs(value) < 2**63
    )


def _array(value: object) -> NDArray[Any] | None:
    """Return real numbers as an array, or None for anything else."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        return None
    if array.dtype.kind in "biuf":
        return array
    exact = array.dtype == object and all(isinstance(x, numbers.Real) for x in array.flat)
    return array if exact else None


def _bits(array: NDArray[Any]) -> NDArray[np.bool_] | NDArray[np.void]:
    return np.ascontiguousarray(array).ravel().view(np.dtype((np.void, array.dtype.itemsize)))


def _exact(number: Any) -> Fraction | None:  # noqa: ANN401  # any real number of Python's or numpy's
    if isinstance(number, numbers.Rational):
        return Fraction(number)
    return Fraction(*number.as_integer_ratio()) if math.isfinite(number) else None


def _nearest(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _rounded(size: float) -> float:
    """Return a size rounded up to two digits."""
    if size == 0 or not math.isfinite(size):
        return size
    nearest = float(f"{size:.1e}")
    step = 10.0 ** (math.floor(math.log10(size)) - 1)
    return nearest if nearest >= size else float(f"{nearest + step:.1e}")
