"""A bound of the privacy loss at all times at once, from a mixture of supermartingales."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import float_up

_REACH: Final = 60  # orders 1 + 2^(j/2), |j| <= 60; soundness asks only that the weights sum to 1
_J: Final = np.arange(-_REACH, _REACH + 1)
_X: Final = math.sqrt(2.0) ** _J
_LOG_INVERSE_WEIGHTS: Final = np.log(1.5 * (np.abs(_J) + 1) * (np.abs(_J) + 2))
_HALVINGS: Final = 50  # of the bracket of the bound: how much is given away, not soundness
_ROUNDING: Final = 2.0**-48  # relative; far above the rounding of three products and sums
_LARGEST: Final = 1e250  # above it the products of the mixture may overflow


def mixture_bound(rho: Fraction, log_inverse: float) -> float:
    """Return the loss at which a mixture of supermartingales reaches 1/delta.

    Let V(l, rho) = sum_j w_j exp(x_j l - x_j (1 + x_j) rho), x_j = 2^{j/2} and
    w_j = 2 / (3 (|j| + 1) (|j| + 2)). If every mechanism is rho_i-zCDP given the outputs before it,
    V(L_t, rho_1 + ... + rho_t) is a supermartingale from at most 1, so that with probability at
    least 1 - delta it stays below 1/delta (proofs/theory/filters.md, 5).

    Args:
        rho: the sum so far, at or above 0.
        log_inverse: at or above log(1/delta).
    Returns:
        A float at or above the l with V(l, rho) = 1/delta.
    Example:
        >>> round(mixture_bound(Fraction(1, 20), 13.82), 1)
        2.0
    """
    size = float_up(rho)
    # One term alone reaches 1/delta there; the sum does so before. Infinite terms are no minimum.
    with np.errstate(over="ignore"):
        high = float(np.min((1.0 + _X) * size + (log_inverse + _LOG_INVERSE_WEIGHTS) / _X))
    high *= 1.0 + _ROUNDING
    if high > _LARGEST:
        return high

    def below(loss: float) -> bool:
        return not _log_down(loss, size) >= log_inverse

    return bisect(below, 0.0, high, rounds=_HALVINGS)[1]


def _log_down(loss: float, rho: float) -> float:
    """Return a number at or below the log of the mixture."""
    gains, costs = _X * loss, _X * (1.0 + _X) * rho + _LOG_INVERSE_WEIGHTS
    exponents = gains - costs - _ROUNDING * (gains + costs)
    top = float(np.max(exponents))
    return top + math.log(float(np.sum(np.exp(exponents - top)))) - _ROUNDING * (abs(top) + 200.0)
