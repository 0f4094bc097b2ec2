"""Arrays of complex numbers known up to a rigorous radius, and directed rounding of floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]
Numbers = Reals | Complexes

UNIT_ROUNDOFF = 2.0**-53
# Assumed: numpy's and scipy's elementary functions (exp, expm1, log, log1p, sin, cos, atan2,
# hypot, ndtr and their complex combinations used here) are within this many units in the last
# place; spot checks against mpmath found at most 2.
ELEMENTARY_ULPS = 4


@final
@dataclass(frozen=True, slots=True)
class Enclosure:
    """``|true - value| <= radius``, elementwise.

    Where the radius is infinite, the real part of ``value`` is an upper bound of the real
    part of the true value, and nothing else is known.

    Attributes:
        value: shape (n,), complex.
        radius: shape (n,), at or above 0.
    """

    value: Complexes
    radius: Reals


def up(value: float) -> float:
    """The next float above."""
    return math.nextafter(value, math.inf)


def down(value: float) -> float:
    """The next float below."""
    return math.nextafter(value, -math.inf)


def float_up(value: Fraction) -> float:
    """The smallest float at or above an exact rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else up(nearest)


def float_down(value: Fraction) -> float:
    """The largest float at or below an exact rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else down(nearest)
