"""The exact worst case of private selection over all orders of the outcomes, from above.

Write w(a) = phi'(1 - a). By Theorem 1 of proofs/theory/selection.md a worst order has the event's
outcomes by falling loss, and between them, from the top, other outcomes by rising loss. When event
outcomes of mass k (under P) and A(k) (under Q) stand above, and others of mass j and B(j), an
event outcome of loss l adds, per mass under P, w(k + j) - e^(epsilon - l) w(unseen + A(k) + B(j));
so the integral over k of its largest value over j, where positive, bounds delta_selected.

Rounding up a finite sum: on a rectangle of cells, k and j each between neighbours, w(k + j) is
convex, hence below its bilinear interpolation; w(unseen + A + B) is a convex function of
z = 1 - unseen - A - B, which is linear in k and in j, hence above its tangent plane at the middle.
The difference of the two is linear in j, so largest at an end, and there linear in k; its maximum
over all cells of j is convex in k, so the trapezoid rule overestimates the integral.

Where there are at most n runs, phi'(r z) >= r^(n-1) phi'(z) for r <= 1 is better next to z = 0:
with r the slope of A's chord over a rectangle, from the start of its row, the value is at most
phi'(z) (1 - e^(epsilon - l) r^(n-1)) or 0, which is convex in k and largest at one end in j
(Section 7, Chords).

Nothing stands at k + j > 1. A rectangle that this line crosses is bounded by a constant, the
largest value at its corners: the linear bounds are largest at a corner or on the line, where
w = phi'(0) and the tangent plane is at least that at the corner of least z, or at z = 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.run_counts.law import FARTHEST, LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import Outcomes

_HEAVY = 0.5  # Largest mass of a cell, in units of the change. Heuristic.
_NEGLIGIBLE = 1e-12  # Share of w(0) below which cells are not cut finer. Heuristic.
_ROUNDS = 40  # Most halvings of cells. Heuristic: the bound holds for any cells.
_MOST_CELLS = 4000  # Most cells. Heuristic.
_BLOCK = 1 << 18  # Rows times columns evaluated at once, to bound memory. Heuristic.
POSITION_ERROR = 1e-12  # Above the absolute error of sums of masses. Soundness depends on it.


def worst_case(
    above: Outcomes, law: RunLaw, epsilon: float, least_loss: float, change: float
) -> float:
    """Return an upper bound of delta_selected at epsilon >= 0.

    Args:
        above: dominates the base.
        law: of the number of runs.
        epsilon: nats.
        least_loss: outcomes of a lower loss are left out; they add what ``Shifts.ignored`` says.
        change: of log w over a cell, at most.
    """
    epsilon = min(epsilon, FARTHEST)  # delta falls, and an infinite loss less infinity is no number
    rows, columns = event_cells(above, law, change), other_cells(above, law, change)
    rows = top(rows, int(np.searchsorted(-rows.loss, -least_loss, side="right")))
    if not rows.p.size:
        return 0.0
    starts = np.concatenate([[0.0], np.cumsum(rows.p)]), np.concatenate([[0.0], np.cumsum(rows.q)])
    others = columns_from_bottom(columns)
    size = max(1, _BLOCK // others[0].size)
    total = 0.0
    for first in range(0, rows.p.size, size):
        part = slice(first, first + size)
        ends = slice(first, min(first + size, rows.p.size) + 1)
        ratio = np.exp(epsilon - rows.loss[part])
        events, slope = (starts[0][ends], starts[1][ends]), np.exp(-rows.loss[part])
        before, after = _best(law, events, others, above.unseen, (ratio, slope))
        total += float((rows.p[part] * 0.5 * (before + after)).sum())
    return min(total * (1 + 1e-10), 1.0)


def _best(
    law: RunLaw,
    events: tuple[Reals, Reals],
    others: tuple[Reals, Reals],
    unseen: float,
    ratios: tuple[Reals, Reals],
) -> tuple[Reals, Reals]:
    """Return for each row the largest value at its start and at its end, 0 if all are negative."""
    ratio, _ = ratios
    mass = 1.0 - events[0][:, None] - others[0]
    gain = law.derivative(np.clip(mass + POSITION_ERROR, 0.0, 1.0)) * (1 + LAW_ERROR)
    left = (1.0 - unseen - POSITION_ERROR) - events[1][:, None] - others[1]
    left = np.where(mass < 0.0, np.maximum(left, 0.0), left)
    middle = 0.25 * (left[:-1, :-1] + left[:-1, 1:] + left[1:, :-1] + left[1:, 1:])
    middle = np.clip(middle, 0.0, 1.0)
    cost = ratio[:, None] * law.derivative(middle) * (1 - LAW_ERROR)
    slope = cost * law.growth(middle)

    def value(row: slice, column: slice) -> Reals:
        return np.asarray(gain[row, column] - cost - slope * (left[row, column] - middle))

    near, far = slice(None, -1), slice(1, None)
    start = np.maximum(value(near, near), value(near, far))
    end = np.maximum(value(far, near), value(far, far))
    crossed = mass[far, far] < 0.0
    whole = np.maximum(start, end)[crossed]
    start[crossed], end[crossed] = whole, whole
    if law.largest is not None:
        share = _share(mass[near, far], left[near, far], ratios, law.largest)
        start, end = np.maximum(start, 0.0), np.maximum(end, 0.0)
        chord = gain[near, near] * share, gain[far, near] * share
        better = chord[0] + chord[1] < start + end
        start, end = np.where(better, chord[0], start), np.where(better, chord[1], end)
    possible = mass[near, near] > 0.0
    return (
        np.maximum(np.where(possible, start, 0.0).max(axis=1), 0.0),
        np.maximum(np.where(possible, end, 0.0).max(axis=1), 0.0),
    )


def _share(mass: Reals, left: Reals, ratios: tuple[Reals, Reals], largest: int) -> Reals:
    """Return 1 - e^(epsilon - l) r^(n-1), or 0, r the slope of A's chord from the row's start.

    Args:
        mass: what stands between the row's start and the end of the cell, under P.
        left: the same under Q.
        ratios: e^(epsilon - l), and A's slope, of the rows.
        largest: n.
    """
    ratio, slope = (one[:, None] for one in ratios)
    least = np.maximum(left, 0.0) / np.maximum(mass + POSITION_ERROR, POSITION_ERROR)
    r = np.clip(np.where(mass > 0.0, np.maximum(least, slope), slope) * (1 - LAW_ERROR), 0.0, 1.0)
    return np.asarray(np.maximum(1.0 - ratio * r ** (largest - 1) * (1 - LAW_ERROR), 0.0))


def event_cells(outcomes: Outcomes, law: RunLaw, change: float) -> Outcomes:
    """Return outcomes cut until w changes little over each if only the event is above."""

    def place(cells: Outcomes) -> tuple[Reals, Reals]:
        return np.cumsum(cells.p) - cells.p, cells.p

    return _cut(outcomes, law, change, place)


def other_cells(outcomes: Outcomes, law: RunLaw, change: float) -> Outcomes:
    """Return outcomes cut until w changes little over each if all of lower loss is above."""

    def place(cells: Outcomes) -> tuple[Reals, Reals]:
        return outcomes.unseen + np.cumsum(cells.q[::-1])[::-1] - cells.q, cells.q

    return _cut(outcomes, law, change, place)


def _cut(
    outcomes: Outcomes,
    law: RunLaw,
    change: float,
    place: Callable[[Outcomes], tuple[Reals, Reals]],
) -> Outcomes:
    """Return outcomes halved until w changes little over each.

    ``place`` gives positions and masses.
    """
    cells, negligible = outcomes, _NEGLIGIBLE * law.mean
    for _ in range(_ROUNDS):
        above, mass = place(cells)
        z = np.clip(1.0 - above, 0.0, 1.0)
        wide = (law.growth(z) * mass > change) & (law.derivative(z) > negligible)
        wide |= np.maximum(cells.p, cells.q) > _HEAVY * change
        if not wide.any() or cells.p.size > _MOST_CELLS:
            break
        cells = cells.pieces(np.where(wide, 2, 1))
    return cells


def top(cells: Outcomes, count: int) -> Outcomes:
    """Return the outcomes of largest loss."""
    return Outcomes(cells.p[:count], cells.q[:count], cells.loss[:count], cells.unseen)


def columns_from_bottom(cells: Outcomes) -> tuple[Reals, Reals]:
    """Return masses of the outcomes of lowest loss, from none of them to all."""
    p, q = np.cumsum(cells.p[::-1]), np.cumsum(cells.q[::-1])
    return np.concatenate([[0.0], p]), np.concatenate([[0.0], q])
