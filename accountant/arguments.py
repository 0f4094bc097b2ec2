"""Argument checks: exact value in, typed error out.

Every number enters as ``int``, ``Fraction``, ``Decimal`` or ``float`` and is kept as the exact
``Fraction`` it denotes (a float is its binary64 value). The keyword is the name used in the
message: ``check.positive(sigma=sigma)``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.proofs.limits import MAX_LABEL

Number = int | float | Fraction | Decimal
MAX_COUNT = 10**12
_LARGEST_INTEGER: Final = 2**53  # up to it every whole number is a float
_MOST_DIGITS: Final = 5000  # before or after the point of a Decimal: 1e999999999 is no number here


def _one(argument: dict[str, object]) -> tuple[str, object]:
    ((name, value),) = argument.items()
    return name, value


def _exact(name: str, value: object, allowed: str) -> Fraction:
    # numpy's scalars register as numbers.Integral / numbers.Real; bool does not pass.
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
            raise ParameterError(
                name, value, allowed, "it must be finite, and no larger than 1e5000"
            )
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(name, value, allowed, "give an int, a float, a Fraction or a Decimal")
    try:
        return Fraction(value) if isinstance(value, numbers.Rational) else Fraction(float(value))
    except (ValueError, OverflowError):
        raise ParameterError(name, value, allowed, "it must be finite") from None


def real(**argument: object) -> Fraction:
    """Return the argument as an exact finite real number, or raise."""
    name, value = _one(argument)
    return _exact(name, value, "a finite number")


def _within(
    argument: dict[str, object], allowed: str, inside: Callable[[Fraction], bool]
) -> Fraction:
    """Return the argument as an exact number in a domain, or raise."""
    name, value = _one(argument)
    exact = _exact(name, value, allowed)
    if not inside(exact):
        raise ParameterError(name, value, allowed)
    return exact


def positive(**argument: object) -> Fraction:
    """Return the argument as an exact finite number above 0, or raise."""
    return _within(argument, "a finite number > 0", lambda x: x.numerator > 0)


def non_negative(**argument: object) -> Fraction:
    """Return the argument as an exact finite number at or above 0, or raise."""
    return _within(argument, "a finite number >= 0", lambda x: x.numerator >= 0)


def probability(**argument: object) -> Fraction:
    """Return the argument as an exact number in [0, 1], or raise."""
    return _within(argument, "in [0, 1]", lambda x: 0 <= x.numerator <= x.denominator)


def open_probability(**argument: object) -> Fraction:
    """Return the argument as an exact number in (0, 1), or raise."""
    return _within(argument, "in (0, 1)", lambda x: 0 < x.numerator < x.denominator)


def rate(**argument: object) -> Fraction:
    """Return the argument as an exact number in (0, 1], or raise."""
    return _within(argument, "in (0, 1]", lambda x: 0 < x.numerator <= x.denominator)


def count(**argument: object) -> int:
    """Return the argument as a whole number from 1 to 10**12, or raise."""
    return _whole(argument, f"a whole number from 1 to {MAX_COUNT}", 1, MAX_COUNT)


def whole(**argument: object) -> int:
    """Return the argument as a whole number at or above 0, or raise."""
    return _whole(argument, "a whole number >= 0", 0, math.inf)


def _whole(argument: dict[str, object], allowed: str, least: int, most: float) -> int:
    """Return the argument as an integer within a range, or raise."""
    name, value = _one(argument)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(name, value, allowed, "give an int")
    if not least <= int(value) <= most:
        raise ParameterError(name, value, allowed)
    return int(value)


def line(**argument: object) -> str:
    """Return the argument as a text of 1 to 200 printable characters, or raise."""
    name, value = _one(argument)
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= MAX_LABEL:
        raise ParameterError(name, value, f"a text of 1 to {MAX_LABEL} characters on one line")
    return value


def array(
    allowed: str, within: Callable[[NDArray[np.float64]], NDArray[np.bool_]], **argument: ArrayLike
) -> NDArray[np.float64]:
    """Return the argument as an array of the floats that it denotes exactly, or raise."""
    name, value = _one(dict(argument))
    try:
        values = np.asarray(value)
    except ValueError:
        raise ParameterError(
            name, "rows of different lengths", f"numbers {allowed}", "give one array"
        ) from None
    if values.dtype.kind not in "fiu" or values.dtype.itemsize > np.dtype(np.float64).itemsize:
        raise ParameterError(
            name, f"an array of {values.dtype}", f"numbers {allowed}", "give ints or floats"
        )
    floats = values.astype(np.float64)
    exact = floats == values
    if values.dtype.kind in "iu":  # compared as integers, as both sides would be rounded
        exact = (values <= _LARGEST_INTEGER) & (values >= -_LARGEST_INTEGER)
    bad = np.flatnonzero(~(exact & np.isfinite(floats) & within(floats)))
    if bad.size:
        place = tuple(int(one) for one in np.unravel_index(bad[0], floats.shape))
        where = f" at {place}" if floats.ndim else ""
        raise ParameterError(name + where, values[place].item(), allowed)
    return floats
