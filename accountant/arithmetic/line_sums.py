"""Sum w (e^{sg} - 1 - sg), which is of second order, along a line by products of matrices.

For real a and b, E(x) = e^{ix} - 1 - ix has

    E(a + b) = (e^{ia} - 1)(e^{ib} - 1) + E(a) + E(b),

so that on n equally spaced points E needs some 2 sqrt(n) of them for each g, and all terms are of
second order. The real part c of s is taken out: with v = w e^{cg},

    w (e^{(c+iy)g} - 1 - (c+iy)g) = v E(yg) + w (e^{cg} - 1 - cg) + iy w g (e^{cg} - 1).
"""

from __future__ import annotations

import math

import numpy as np

from dpproof.accountant.arithmetic.elementary import LONGEST, complex_product, exp_minus_linear
from dpproof.accountant.arithmetic.enclosure import ELEMENTARY_ULPS, Complexes, Reals

# What the error bound has beside logs and sums. Soundness depends on it.
LINE_ULPS = 14 * ELEMENTARY_ULPS + 128
_COLUMNS = 64  # Terms in a product of matrices. Error bounds depend on it.


def exp_minus_linear_on_line(
    start: float, step: float, count: int, growth: Reals, log_weights: Reals
) -> Complexes:
    """Return the sums over g of w (e^z - 1 - z), z = (start + i k step) g, for k = 0..count-1.

    Error at most u times the sum of w |z|^2 e^{max(Re z, 0)} (``LINE_ULPS`` + 20 |log w| +
    ``summation_ulps(m)``), if log w <= 0 and start g <= 1 - log w for all g: E(a), E(b) and the
    real point err as ``exp_minus_linear`` says, and a^2 + b^2 + (start g)^2 <= |z|^2. There the
    weights v have v |log v| <= w (|log w| + 1) e^{max(Re z, 0)}, and err by (3 |log w| + 2) u. The
    product, of |ab| <= (yg)^2 / 4, errs by (4 c + 16 + 3 ``summation_ulps(m)``) u of that, and the
    last term by 36 u of |z|^2 / 2.

    Args:
        start: at or above 0.
        step: above 0.
        count: at least 3.
        growth: shape (m,), g.
        log_weights: shape (m,).
    """
    row = min(math.isqrt(count - 1) + 1, 64)
    rows = -(-count // row)
    weights = log_weights + start * growth
    small, large = step * np.arange(1.0, row), step * row * np.arange(1.0, rows)
    total = np.zeros((rows, row), dtype=complex)
    for part in range(0, growth.size, _COLUMNS):
        some = growth[part : part + _COLUMNS]
        first = _turned(np.multiply.outer(large, some)) * np.exp(weights[part : part + _COLUMNS])
        second, tile = _turned(np.multiply.outer(some, small)), LONGEST // row
        for at in range(0, rows - 1, tile):
            total[1 + at : 1 + at + tile, 1:] += complex_product(first[at : at + tile], second)
    for place, points in ((np.s_[:, 1:], small), (np.s_[1:, :], large)):
        sums = exp_minus_linear(1j * points, growth, weights)
        total[place] += sums if place[0] == np.s_[:] else sums[:, None]
    flat = exp_minus_linear(np.array([start + 0j]), growth, log_weights)[0].real if start else 0.0
    grown = np.exp(log_weights) * np.expm1(np.minimum(start * growth, 1.0))
    grown = np.where(start * growth > 1.0, np.exp(weights) - np.exp(log_weights), grown)
    slope = float((grown * growth).sum())
    y = step * np.arange(float(count))
    return np.asarray(total.ravel()[:count] + flat + 1j * y * slope)


def _turned(angle: Reals) -> Complexes:
    """Return e^{ix} - 1, of an error of at most 4 c u |x|."""
    half = np.sin(0.5 * angle)
    return np.asarray(-2.0 * half * half + 1j * np.sin(angle))
