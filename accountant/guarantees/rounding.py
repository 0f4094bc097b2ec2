"""Round exact rationals in a stated direction, and answer at values that are no floats."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from dpproof.accountant.arithmetic.enclosure import down, up
from dpproof.accountant.bound import Bound

_ROOT_BITS = 80  # Bits of a root that is not rational. Heuristic: it is rounded up.
_EXP_BITS = 128  # Bits of the fixed point in ``exp_up``. Heuristic: every step rounds up.
# Above five roundings of 2**-53 and a tanh within two units in the last place. Soundness depends on
# it.
_TANH_MARGIN = 1e-15
_LEAST_FACTOR = 1e-100  # A number whose square is a normal float. Error bounds depend on it.
MAX_EXPONENT = 700  # Largest exponent: e to it is representable as a float.


def floats_around(value: Fraction) -> tuple[float, float]:
    """Return the nearest floats at or below, and at or above; equal if the value is a float."""
    try:
        nearest = float(value)
    except OverflowError:
        last = sys.float_info.max
        return (last, math.inf) if value > 0 else (-math.inf, -last)
    numerator, denominator = nearest.as_integer_ratio()
    excess = numerator * value.denominator - value.numerator * denominator
    if excess == 0:
        return nearest, nearest
    return (down(nearest), nearest) if excess > 0 else (nearest, up(nearest))


def ask_increasing(question: Callable[[float], Bound], at: Fraction) -> Bound:
    """Answer a question that grows with its argument, which may be between floats."""
    below, above = floats_around(at)
    if below == above:
        return question(below)
    return Bound(question(below).lower, question(above).upper)


def ask_power(question: Callable[[float], Bound], at: Fraction) -> Bound:
    """Answer a question like power at a false-alarm rate, evaluated once.

    Power grows and is at least 0, and that of one pair is concave: at a share of a rate it is at
    least that share of the power, which stays true of the largest power of several pairs.
    """
    below, above = floats_around(at)
    power = question(above)
    if below == above:
        return power
    return Bound(max(power.lower * (below / above) * (1 - 1e-15), 0.0), power.upper)


def ask_decreasing(question: Callable[[float], Bound], at: Fraction) -> Bound:
    """Answer a question that falls with its argument, which may be between floats."""
    below, above = floats_around(at)
    if below == above:
        return question(below)
    return Bound(question(above).lower, question(below).upper)


def sqrt_up(square: Fraction) -> Fraction:
    """Return the square root: exact if it is rational, else at most 2**-80 relative above it."""
    numerator, denominator = square.numerator, square.denominator
    root, divisor = math.isqrt(numerator), math.isqrt(denominator)
    if root * root == numerator and divisor * divisor == denominator:
        return Fraction(root, divisor)
    excess = denominator.bit_length() - numerator.bit_length()
    shift = max(0, (2 * _ROOT_BITS + 4 + excess + 1) // 2)
    return Fraction(math.isqrt((numerator << 2 * shift) // denominator) + 1, 1 << shift)


def exp_up(exponent: Fraction) -> Fraction:
    """Return e^exponent for an exponent in [0, 700], rounded up by at most 2**-100 relative.

    Halve until the exponent is below 1/16, sum the Taylor series in fixed point and square
    back; every step rounds up and every term is positive. The tail after the last term is
    below that term. Each squaring doubles the relative error, 14 squarings at most.
    """
    if exponent == 0:
        return Fraction(1)
    halvings = max(0, math.ceil(exponent * 16).bit_length())
    one = 1 << _EXP_BITS
    small = _ceil_div(exponent.numerator << _EXP_BITS, exponent.denominator << halvings)
    total, term, index = one, one, 0
    while term > 1:
        index += 1
        term = _ceil_div(term * small, index << _EXP_BITS)
        total += term
    total += 1
    for _ in range(halvings):
        total = _ceil_div(total * total, one)
    return Fraction(total, one)


def short_up(value: float, bits: int) -> Fraction:
    """Return the least number of so many binary digits at or above a finite number >= 0."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.ceil(math.ldexp(mantissa, bits))) * Fraction(2) ** (exponent - bits)


def short_down(value: float, bits: int) -> Fraction:
    """Return the largest number of so many binary digits at or below a finite number >= 0."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.floor(math.ldexp(mantissa, bits))) * Fraction(2) ** (exponent - bits)


def _ceil_div(numerator: int, denominator: int) -> int:
    """Return the quotient of two integers, rounded up."""
    return -(-numerator // denominator)


def epsilon_tanh_up(epsilon: Fraction) -> Fraction:
    """Return epsilon tanh(epsilon/2), at most 1e-15 relative above it.

    It grows with epsilon, so a float above epsilon is safe; five roundings of 2**-53 and a
    tanh within two units in the last place stay below the margin. Never
    above epsilon and epsilon^2/2, which bound it exactly.
    """
    bound = min(epsilon, epsilon * epsilon / 2)
    above = floats_around(epsilon)[1]
    if _LEAST_FACTOR <= above < math.inf:
        bound = min(bound, Fraction(above * math.tanh(0.5 * above) * (1 + _TANH_MARGIN)))
    return bound


def show(value: Fraction) -> str:
    """Return a short text of an exact value, for statements and messages."""
    below, above = floats_around(value)
    if below == above:
        return f"{below:.6g}"
    return f"{above:.6g}" if math.isfinite(above) else f"{below:.6g}"
