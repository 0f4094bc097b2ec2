"""How often a position is drawn, in phases that draw with replacement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

# Sums of squares that are told apart; whatever is beyond counts with delta = 1.
_CAP: Final = 400
# Soundness: the mass beyond is a difference from 1, whose rounding errors are far below this.
_LOST: Final = 1e-12


def occurrences(records: int, draws: Sequence[int]) -> tuple[NDArray[np.float64], float]:
    """Return the law of sum C_p^2, up to 400, and the mass beyond, rounded up.

    Example:
        >>> masses, beyond = occurrences(10, [1, 1])
        >>> masses[:3].round(6).tolist(), beyond < 1e-6
        ([0.81, 0.18, 0.01], True)
    """
    total = np.zeros(_CAP + 1)
    total[0] = 1.0
    for number in draws:
        most = min(number, int(_CAP**0.5))
        times = np.arange(most + 1)
        law = np.zeros(_CAP + 1)
        law[times**2] = _binomial(number, times, records)
        total = np.convolve(total, law)[: _CAP + 1]
    return total, float(max(1.0 - total.sum(), 0.0)) + _LOST


def _binomial(number: int, times: NDArray[np.int64], records: int) -> NDArray[np.float64]:
    """Return the binomial masses of ``times`` occurrences in ``number`` draws of 1/records."""
    if records == 1:
        return np.asarray(times == number, dtype=np.float64)
    masses = np.empty(len(times))
    masses[0] = math.exp(number * math.log1p(-1.0 / records))
    for k in range(len(times) - 1):
        masses[k + 1] = masses[k] * (number - k) / ((k + 1) * (records - 1))
    return masses
