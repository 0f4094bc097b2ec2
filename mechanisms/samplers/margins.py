"""Assumptions on binary64 functions, and nothing else.

Fast paths compute in binary64 and widen the result by these bounds; a draw whose decision could
differ inside the widened interval is decided from more bits of the same uniform. The bounds are
tens to hundreds of times what is measured (the tests compare with 50 digits over the whole range
in use), and a wider margin never changes an output, only the time taken. Basic arithmetic is
IEEE 754, with relative error 2^-53.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

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


def nearest(x: Fraction) -> float:
    """Return the binary64 number nearest to x, infinity where it overflows.

    Example:
        >>> nearest(Fraction(10) ** 400)
        inf
    """
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf
