"""Argument checks that only samplers need."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError

# Scales far outside any data's units are refused, so that squares stay inside binary64.
WIDEST: Final = 2**300
_EXACT_INTEGER: Final = 2**53


def scale(**argument: object) -> Fraction:
    """Return the argument as an exact number, which must be in [2^-300, 2^300]."""
    ((name, value),) = argument.items()
    exact = arguments.positive(**argument)
    if not Fraction(1, WIDEST) <= exact <= WIDEST:
        raise ParameterError(name, value, "in [2^-300, 2^300]", "change the unit of the data")
    return exact


def squared_scale(**argument: object) -> Fraction:
    """Return the argument as an exact number, which must be in [2^-600, 2^600]."""
    ((name, value),) = argument.items()
    exact = arguments.positive(**argument)
    if not Fraction(1, WIDEST**2) <= exact <= WIDEST**2:
        raise ParameterError(name, value, "in [2^-600, 2^600]", "change the unit of the data")
    return exact


def granularity(**argument: object) -> tuple[Fraction, int]:
    """Return a power of two in [2^-2000, 2^2000], with its exponent."""
    ((name, value),) = argument.items()
    exact = arguments.positive(**argument)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if not (abs(exponent) <= 2000 and exact == Fraction(2) ** exponent):
        raise ParameterError(
            name, value, "a power of two in [2^-2000, 2^2000]", "use default_granularity(scale)"
        )
    return exact, exponent


def reals(**argument: ArrayLike) -> NDArray[np.float64]:
    """Return an array of finite real numbers, each exactly representable in binary64."""
    ((name, value),) = argument.items()
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        if np.any(array > _EXACT_INTEGER) or np.any(array < -_EXACT_INTEGER):
            raise DataError(name, value, "integers of size at most 2^53, or float64")
    elif array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise DataError(name, value, "an array of float64 or of integers")
    result = array.astype(np.float64)
    if not np.isfinite(result).all():
        raise DataError(name, value, "finite", "nan and infinity cannot be released")
    return result
