"""Integer arrays that never overflow, steps of grids, and the argument checks of samplers."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import DataError, ParameterError, arguments
from dpproof.mechanisms.samplers.enclosure import nearest

Integers = NDArray[np.int64] | NDArray[np.object_]

_LIMIT, _OVERSAMPLE = 2**63, 64


def patched(fast: NDArray[np.int64], slow: Mapping[int, int]) -> Integers:
    """Return ``fast`` with entry i replaced by slow[i]; object dtype if one does not fit int64."""
    if not slow:
        return fast
    fits = all(-_LIMIT <= value < _LIMIT for value in slow.values())
    result: Integers = fast.copy() if fits else fast.astype(np.object_)
    for index, value in slow.items():
        result[index] = value
    return result


def largest_size(values: Integers) -> int:
    """Return max |values| as a Python integer; 0 for an empty array."""
    if len(values) == 0:
        return 0
    return max(abs(int(values.min())), abs(int(values.max())))


def multiply_add(factor: int, values: Integers, offset: Integers) -> Integers:
    """Return factor * values + offset without overflow."""
    if abs(factor) * max(largest_size(values), 1) + largest_size(offset) < _LIMIT:
        small: Integers = factor * values + offset
        return small
    large: Integers = factor * values.astype(np.object_) + offset.astype(np.object_)
    return large


def subtract(left: Integers, right: Integers) -> Integers:
    """Return left - right without overflow."""
    return multiply_add(-1, right, left)


def first_accepted(size: int, draw: Callable[[int], Integers], *, rate: float) -> Integers:
    """Return the first ``size`` values accepted of independent rounds of ``draw(n)``, in order."""
    # The rate is about the share accepted: it sets the size of a round and nothing else.
    parts: list[Integers] = []
    missing = size
    while missing > 0:
        accepted = draw(int(missing / rate) + int((missing / rate) ** 0.5) + _OVERSAMPLE)
        parts.append(accepted[:missing])
        missing -= len(parts[-1])
    if not parts:
        return np.zeros(0, dtype=np.int64)
    if any(part.dtype == np.object_ for part in parts):
        return np.concatenate([part.astype(np.object_) for part in parts])
    return np.concatenate([part.astype(np.int64, copy=False) for part in parts])


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
        allowed = "a power of two in [2^-2000, 2^2000]"
        raise ParameterError(name, value, allowed, "use default_granularity(scale)")
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


def repeated_values(values: NDArray[Any], count: int) -> NDArray[Any]:
    """Repeat each dataset's value ``count`` times: shape (datasets, count, ...)."""
    return np.repeat(values[:, np.newaxis], count, axis=1)


def as_floats(steps: NDArray[Any], granularity: Fraction) -> NDArray[np.float64]:
    """Return ``steps * granularity`` as the nearest float64: beyond 2^53 steps post-processing."""
    if steps.dtype == np.object_:
        numbers = [nearest(int(step) * granularity) for step in steps.flat]
        return np.array(numbers, dtype=np.float64).reshape(steps.shape)
    exponent = granularity.numerator.bit_length() - granularity.denominator.bit_length()
    return np.asarray(np.ldexp(steps.astype(np.float64), exponent))


def add_whole(values: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[Any]:
    """Add integer noise to values without overflow; object dtype where int64 is too small."""
    shaped: NDArray[Any] = noise.reshape(values.shape)
    if noise.dtype == np.object_ or (noise.size and np.abs(noise).max() > 2**62):
        return np.asarray(values.astype(np.object_) + shaped.astype(np.object_))
    return np.asarray(values + shaped)
