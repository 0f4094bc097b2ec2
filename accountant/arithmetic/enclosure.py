"""Hold complex numbers known up to a rigorous radius, and round floats in a stated direction."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.bound import Bound

Reals = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]
Numbers = Reals | Complexes

UNIT_ROUNDOFF = 2.0**-53
# Assumed: numpy's elementary functions (exp, expm1, log, log1p, sin, cos, atan2, hypot and their
# complex combinations used here), and those of Python's math, are within this many units in the
# last place; spot checks against mpmath found at most 2. The same of numpy's long doubles, where
# these are IEEE's numbers of 64 or more bits.
ELEMENTARY_ULPS = 4
# Largest exponent of 2 for which floats are certainly normal. Error bounds depend on it.
_BINARY_RANGE = 1000
# Above what 10**7 roundings of denormal numbers lose. Soundness depends on it.
DENORMAL_ROUNDING = 1e-315
# The longest floats whose rounding is IEEE's. Soundness depends on the check of the mantissa.
EXTENDED = np.longdouble if np.finfo(np.longdouble).nmant in (63, 112) else np.float64


@cache
def unit_roundoff(dtype: np.dtype[Any]) -> float:
    """Return half the distance of 1 to the next number of a real or complex type."""
    return 0.5 * float(np.finfo(dtype).eps)


@final
@dataclass(frozen=True, slots=True)
class Enclosure:
    """``|true - value| <= radius``, elementwise.

    Where the radius is infinite, the real part of ``value`` is an upper bound of the real
    part of the true value, and nothing else is known.
    """

    value: Complexes  # shape (n,), complex, of the usual or the longest floats
    radius: Reals  # shape (n,), at or above 0


def from_swapped(lower: Reals, upper: Reals, epsilon: Reals) -> tuple[Reals, Reals]:
    """Bound H_t(P || Q) at t = e^epsilon <= 1 by H_{1/t}(Q || P): it is 1 - t + t times that.

    Rounds: outwards. The two functions err by ``ELEMENTARY_ULPS`` each, what is done with them by
    two more roundings, and no term is below 0.
    """
    t, rest, slack = np.exp(epsilon), -np.expm1(epsilon), 8 * ELEMENTARY_ULPS * UNIT_ROUNDOFF
    least = np.maximum((rest + t * lower) * (1 - slack), 0.0)
    return least, np.minimum((rest + t * upper) * (1 + slack), 1.0)


def joined(parts: Sequence[Enclosure]) -> Enclosure:
    """Concatenate enclosures."""
    return Enclosure(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.radius for part in parts]),
    )


def weighted_sum(each: Enclosure, counts: Reals) -> Enclosure:
    """Enclose the sum over the k rows of ``each``, shape (k, n), times their counts above 0."""
    weights = np.asarray(counts)[:, None]
    with np.errstate(invalid="ignore"):  # an infinite value of infinite radius; see ``lost``
        scaled = weights * each.value
    value, size = scaled.sum(axis=0), np.abs(scaled).sum(axis=0)
    radius = (weights * each.radius).sum(axis=0)
    rounding = (len(counts) + 4) * unit_roundoff(value.dtype) * size
    lost = np.isinf(radius)
    if lost.any():
        radii = np.where(np.isinf(each.radius), 0.0, each.radius)
        ceiling = (scaled.real + weights * radii).sum(axis=0)
        value = np.where(lost, ceiling + 1e-12 * np.abs(ceiling) + rounding, value)
    return Enclosure(value, radius * (1 + 1e-12) + rounding)


def up(value: float) -> float:
    """Return the next float above."""
    return math.nextafter(value, math.inf)


def down(value: float) -> float:
    """Return the next float below."""
    return math.nextafter(value, -math.inf)


def log_down(difference: Reals) -> Reals:
    """Return a lower bound of the log of a once-rounded difference, -inf if it is at most 0."""
    with np.errstate(divide="ignore"):
        log = np.log(np.maximum(difference, 0.0))
    return np.asarray(log - 8 * UNIT_ROUNDOFF * (1.0 + np.abs(log)))


def log_up(difference: Reals) -> Reals:
    """Return an upper bound of the log of a once-rounded difference, -inf if it is at most 0."""
    with np.errstate(divide="ignore"):
        log = np.log(np.maximum(difference, 0.0))
    return np.asarray(log + np.where(np.isinf(log), 0.0, 8 * UNIT_ROUNDOFF * (1.0 + np.abs(log))))


def float_up(value: Fraction) -> float:
    """Return the smallest float at or above an exact rational."""
    if value > sys.float_info.max:
        return math.inf
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else up(nearest)


def float_down(value: Fraction) -> float:
    """Return the largest finite float at or below an exact rational, which is at or above 0."""
    if value > sys.float_info.max:
        return sys.float_info.max
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else down(nearest)


def log_exact(value: Fraction) -> float:
    """Return log(value) of an exact rational above 0, within 16 u of itself, next to 1 too.

    If the value is within 2**-1000 of 1 the error is absolute, 2**-1060.
    """
    power = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(power) > _BINARY_RANGE:
        return power * math.log(2.0) + math.log(value / Fraction(2) ** power)
    return math.log1p(float(value - 1)) if abs(power) <= 1 else math.log(float(value))


def raised_up(value: float, relative: float) -> float:
    """Return a number at or above 0, raised by a relative margin and by what denormals lose."""
    return value * (1.0 + relative) + DENORMAL_ROUNDING


@overload
def rounded_short(value: float) -> float: ...
@overload
def rounded_short(value: Reals) -> Reals: ...
def rounded_short(value: float | Reals) -> float | Reals:
    """Round to 20 significant bits, so that sums and small multiples are exact."""
    if isinstance(value, np.ndarray):
        mantissas, exponents = np.frexp(value)
        return np.ldexp(np.round(mantissas * (1 << 20)) / (1 << 20), exponents)
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * (1 << 20)) / (1 << 20), exponent)


T = TypeVar("T", bound=np.generic)


def distinct(points: NDArray[T]) -> NDArray[T]:
    """Return the points in increasing order, each once: numpy.unique imports more, and is slow."""
    ordered = np.sort(points)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])


# For a smaller delta the upper end of epsilon is the largest loss. Heuristic: that end is always
# valid.
LEAST_DELTA = 1e-300


def total_delta_up(mass: Bound, log_delta: Reals) -> Reals:
    """Return an upper bound of the infinite mass plus delta of the finite losses; never 0."""
    total = mass.upper + np.exp(np.minimum(log_delta, 1.0)) * (1 + 1e-14)
    return np.asarray(np.minimum(np.nextafter(total, np.inf), 1.0))
