"""Numbers drawn from a law of finitely many rational probabilities."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import uniform_below


def from_law(law: Sequence[Fraction], size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw ``size`` independent positions i, each with probability exactly ``law[i]``.

    Proof: a uniform whole number below the common denominator falls into the i-th of consecutive
        intervals of lengths law[i] times it with that probability.

    Args:
        law: probabilities, at least 0, of sum exactly 1; the caller has checked them.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64.
    Raises:
        ParameterError: size not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> from_law([Fraction(0), Fraction(1)], 3, ReplayRng(1)).tolist()
        [1, 1, 1]
    """
    unit = lcm(*(mass.denominator for mass in law))
    steps = list(accumulate(int(mass * unit) for mass in law))
    drawn = uniform_below(unit, size, rng)
    if drawn.dtype != np.object_:
        return np.searchsorted(np.array(steps, dtype=np.int64), drawn, side="right").astype(
            np.int64
        )
    return np.array([bisect_right(steps, int(one)) for one in drawn], dtype=np.int64)
