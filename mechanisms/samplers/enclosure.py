"""Numbers in [0, 1] known to any precision, and assumptions on binary64 functions.

Fast paths compute in binary64 and widen the result by these bounds; a draw whose decision could
differ inside the widened interval is decided from more bits of the same uniform. The bounds are
tens to hundreds of times what is measured (the tests compare with 50 digits over the whole range
in use), and a wider margin never changes an output, only the time taken. Basic arithmetic is
IEEE 754, with relative error 2^-53.

An ``Enclosure`` maps a precision p to integers (low, high) with low <= x * 2^p <= high. Every slow
decision of the package compares the bits of a uniform with such a bracket.

Assumption: mpmath's ``exp``, ``sqrt``, ``erfc``, ``atan`` and ``pi`` at w bits are within a
relative 2^(8 - w). They are called with at least 24 bits beyond p and the bracket is one unit
wider on both sides.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

# Relative error of numpy.exp and numpy.log (8 units in the last place and more).
LIBM: Final = 2.0**-49

# Relative error of scipy.special.ndtri on [2^-130, 1/2]; 256 times the 2^-51 measured.
NDTRI: Final = 2.0**-43

# Relative error of the uniform's binary64 approximation; see ``uniform.Uniforms``.
UNIFORM: Final = 2.0**-51

# Relative slack for a handful of roundings of sums and products.
ROUNDING: Final = 2.0**-50

# Absolute slack where underflow could hide a relative error.
UNDERFLOW: Final = 2.0**-900


def nearest(x: Fraction | int) -> float:
    """Return the binary64 number nearest to x, infinity where it overflows."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


Bracket = tuple[int, int]
Enclosure = Callable[[int], Bracket]

_NEAREST, _GUARD = "n", 24


def _libmp() -> Any:  # noqa: ANN401 - mpmath has no types
    from mpmath import libmp  # noqa: PLC0415 - only the rare slow decisions need it

    return libmp


def _float(x: Fraction, bits: int) -> Any:  # noqa: ANN401 - mpmath has no types
    return _libmp().from_rational(x.numerator, x.denominator, bits, _NEAREST)


def _bracket(x: Any, bits: int) -> Bracket:  # noqa: ANN401 - mpmath has no types
    unit = 1 << bits
    floor = int(_libmp().to_fixed(x, bits))
    return max(floor - 1, 0), min(floor + 2, unit)


def rational(x: Fraction) -> Enclosure:
    """Enclose a rational number of [0, 1]."""
    return quotient(x.numerator, x.denominator)


def quotient(above: int, below: int) -> Enclosure:
    """Enclose a quotient of whole numbers in [0, 1], which may have a common divisor."""

    def at(bits: int) -> Bracket:
        scaled = above << bits
        return scaled // below, -(-scaled // below)

    return at


def exp_minus(gamma: Fraction) -> Enclosure:
    """Enclose e^-gamma for a rational gamma >= 0; past gamma = p by (0, 1), as e^-p < 2^-p."""
    if gamma == 0:
        return rational(Fraction(1))

    def at(bits: int) -> Bracket:
        if gamma >= bits:
            return 0, 1
        # |gamma| < p: an argument good to 2^-w moves the result by p 2^-w.
        work = bits + bits.bit_length() + _GUARD
        return _bracket(_libmp().mpf_exp(_float(-gamma, work), work, _NEAREST), bits)

    return at


def normal_two_tails(t: Fraction) -> Enclosure:
    """Enclose P(|Z| > t) = erfc(t / sqrt 2), Z standard normal, for a rational t >= 0."""
    # The value is at most e^(-t^2/2), so past t^2 = 2p it is below 2^-p and (0, 1) is a bracket.
    half_square = t * t / 2

    def at(bits: int) -> Bracket:
        if half_square >= bits:
            return 0, 1
        # The condition number of erfc here is below t^2 + 2 <= 2p + 2.
        work = bits + 2 * bits.bit_length() + _GUARD
        x = _libmp().mpf_sqrt(_float(half_square, work), work, _NEAREST)
        return _bracket(_libmp().mpf_erfc(x, work, _NEAREST), bits)

    return at


def cauchy_two_tails(t: Fraction) -> Enclosure:
    """Enclose P(|Z| > t) = (2 / pi) arctan(1 / t), Z standard Cauchy, for a rational t >= 0."""
    if t == 0:
        return rational(Fraction(1))

    def at(bits: int) -> Bracket:
        # The condition number of arctan is at most 1.
        work = bits + _GUARD
        angle = _libmp().mpf_atan(_float(1 / t, work), work, _NEAREST)
        double = _libmp().mpf_shift(angle, 1)
        return _bracket(_libmp().mpf_div(double, _libmp().mpf_pi(work), work, _NEAREST), bits)

    return at


def keep_probability(epsilon: Fraction, categories: int) -> Enclosure:
    """Enclose e^epsilon / (e^epsilon + categories - 1), which decreases in e^-epsilon."""
    small = exp_minus(epsilon)

    def at(bits: int) -> Bracket:
        work = bits + categories.bit_length() + _GUARD
        low, high = small(work)
        unit, square = 1 << work, 1 << (work + bits)
        return (
            square // (unit + (categories - 1) * high),
            -(-square // (unit + (categories - 1) * low)),
        )

    return at
