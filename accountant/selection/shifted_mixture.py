"""The f-divergence bound of private selection, as a mixture of shifted profiles of the base.

Write phi for the generating function of the number of runs, m for its mean, and tau(c) for the
least mass under Q of a set of mass c under P. Let C be the largest convex function with C(0) = 0
and C(phi'(c)) <= phi'(tau(c)) for all c in [0, 1]. Then for epsilon >= 0

    delta_selected(epsilon) <= integral over X in [0, m] of delta(epsilon + log C'(X)) dX.

Proof: proofs/theory/selection.md, Theorem 2. Here C is replaced by a piecewise linear convex
function below it, so that the integral is a finite sum, with weights the lengths of its pieces and
shifts the logs of its slopes.

Below C. P and Q have finitely many outcomes, so tau is linear between vertices. On such a cell
phi' is convex, hence below its chord, and phi' o tau is above its tangent at the middle (phi'
is convex and tau linear there). So for x > 0 the maximum over the cell of phi'(c) x - phi'(tau(c))
is at most that of a linear function, taken at an end: the cell contributes the two points
(phi'(c_end), tangent at tau(c_end)) to the hull. A cell too coarse for its tangent contributes
(phi'(right end), phi'(tau(left end))), as both functions grow. On the first cell, where
tau(c) = r c with r <= 1, a law with at most k runs has phi'(r c) >= r^(k-1) phi'(c), a line
through the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, distinct
from dpproof.accountant.arithmetic.hull import hull_positions
from dpproof.accountant.run_counts.law import LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import Corners, Outcomes, corners

_ROUNDS = 40  # Most halvings of cells. Heuristic: the bound holds for any cells.
_MOST_CELLS = 6000  # Most cells. Heuristic.
_NEGLIGIBLE = 1e-25  # Share of phi'(1) below which cells need no fine bound. Heuristic.
# Tilt of a tangent from which a cell uses the coarse bound. Heuristic: both hold, since 1 - tilt >
# 0.
_COARSE = 0.5
_BLOCK = 1 << 16  # Epsilons times shifts evaluated at once, to bound memory. Heuristic.
# Least first coordinate, so that products of two are floats. Soundness does not depend on it: a
# larger one is sound.
_LEAST = 1e-120
# Above the relative error of running sums of a few thousand masses that are 1e-14 wrong. Soundness
# depends on it.
_SUM_ERROR = 1e-11


@final
@dataclass(frozen=True, slots=True)
class Shifts:
    """The bound sum_j weights[j] delta(epsilon + shifts[j]), epsilon >= 0, by a base from above.

    The weights add up to at least the mean number of runs; shifts increase, -inf where delta is 1.
    """

    weights: Reals
    shifts: Reals
    base: Corners

    def merged(self, count: int) -> Shifts:
        """Return the bound with at most about so many shifts, neighbours by the smallest."""
        at = distinct(np.linspace(0, self.shifts.size, count + 1)[:-1].astype(np.intp))
        return Shifts(np.add.reduceat(self.weights, at), self.shifts[at], self.base)

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends at epsilons at or above 0."""
        rows = max(1, _BLOCK // max(self.shifts.size, 1))
        values = [
            self.base.at(epsilon[first : first + rows, None] + self.shifts) @ self.weights
            for first in range(0, epsilon.size, rows)
        ]
        return np.minimum(np.concatenate(values) * (1 + 1e-11), 1.0)


def shifts(above: Outcomes, law: RunLaw, change: float) -> Shifts:
    """Return the bound, of cells cut until log phi' changes by at most ``change`` over each."""
    x, y = _points(above, law, change)
    x = np.maximum(x, _LEAST * law.mean)  # a larger x is safe, and products of two are floats
    order = np.argsort(x, kind="stable")
    x, y = np.insert(x[order], 0, 0.0), np.insert(y[order], 0, 0.0)
    keep = hull_positions(x, y)
    weights = np.diff(x[keep])
    slopes = np.maximum.accumulate(np.maximum(np.diff(y[keep]) / weights, 0.0))
    reached = np.interp(x, x[keep], np.concatenate([[0.0], np.cumsum(slopes * weights)]))
    some = reached > 0.0
    slopes = slopes * min(1.0, float((y[some] / reached[some]).min(initial=1.0))) * (1 - 1e-12)
    with np.errstate(divide="ignore"):
        return Shifts(weights, np.log(slopes) - 1e-14, corners(above))


def _points(above: Outcomes, law: RunLaw, change: float) -> tuple[Reals, Reals]:
    """Return points that C stays below: first coordinates rounded up, second down."""
    cells = _cells(above, law, change)
    right, after = np.cumsum(cells.p), np.cumsum(cells.q)
    left, before = right - cells.p, after - cells.q
    left[0], before[0] = 0.0, 0.0

    def height(c: Reals) -> Reals:
        raised = np.minimum(np.maximum(c, 0.0) * (1 + _SUM_ERROR), 1.0)
        return law.derivative(raised) * (1 + LAW_ERROR)

    lowered = np.clip(0.5 * (before + after) * (1 - _SUM_ERROR), 0.0, 1.0)
    value, growth = law.derivative(lowered) * (1 - LAW_ERROR), law.growth(lowered)
    tilt = 0.5 * cells.q * growth
    bottom = np.clip(before * (1 - _SUM_ERROR), 0.0, 1.0)
    coarse = law.derivative(bottom) * (1 - LAW_ERROR)
    fine = tilt < _COARSE
    x = np.concatenate([height(np.where(fine, left, right)), height(right)])
    y = np.concatenate(
        [
            np.where(fine, value * (1 - tilt * (1 + 1e-9)), coarse),
            np.where(fine, value * (1 + tilt * (1 - 1e-9)), coarse),
        ]
    )
    first, size = cells.p.size, float(height(right[:1])[0])
    floor = float(law.derivative(np.zeros(1))[0]) * (1 - LAW_ERROR)
    if law.largest is not None:
        ratio = float(cells.q[0] / cells.p[0]) * (1 - _SUM_ERROR)
        floor = max(floor, min(ratio, 1.0) ** (law.largest - 1) * size * (1 - 1e-9))
    x[first], y[first], x[0], y[0] = size, floor, size, floor
    return x, y


def _cells(above: Outcomes, law: RunLaw, most: float) -> Outcomes:
    """Return outcomes cut until log phi' changes little over each, at c and at tau(c)."""
    cells, negligible = above, _NEGLIGIBLE * law.mean
    for _ in range(_ROUNDS):
        right, after = np.cumsum(cells.p), np.cumsum(cells.q)
        change = np.maximum(
            law.growth(np.minimum(right, 1.0)) * cells.p,
            law.growth(np.minimum(after, 1.0)) * cells.q,
        )
        wide = (change > most) & (law.derivative(np.minimum(right, 1.0)) > negligible)
        if not wide.any() or cells.p.size > _MOST_CELLS:
            break
        cells = cells.pieces(np.where(wide, 2, 1))
    return cells
