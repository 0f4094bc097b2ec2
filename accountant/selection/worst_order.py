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

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals, distinct
from dpproof.accountant.run_counts.law import FARTHEST, LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve, Outcomes

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


# Above the relative error of sums of terms and of powers here. Soundness depends on it.
_SUM_ERROR = 1e-10
# Approximate numbers of blocks and masses. Heuristic: more of them make a smaller bound.
_BLOCKS, _MASSES = 256, 448
# Shares of phi'(1) below which phi' needs no fine cuts, and their weights: for outcomes of the
# event, and for masses below one. Heuristic.
_EVENT, _BELOW = ((0.05, 1.0),), ((0.05, 1.0), (1e-4, 0.3), (1e-9, 0.1))
# Masses from which cuts are chosen, and the least of them. Heuristic.
_FINE, _SMALLEST = 2_000, 1e-14
_FAINTEST = 1e-18  # Least mass at either end that cuts by loss take into account. Heuristic.
# Most passes over the corners off the hull. Heuristic: the bound holds with those that stay.
_PASSES = 400
_BEND = 0.5  # Weight of how much A bends. Heuristic.


@final
@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The upper ends of delta at t = e^epsilon, a sum of (gain - t cost)_+.

    Attributes:
        turn: gain over cost, falling, shape (n,).
        gain: sums of the first gains, shape (n + 1,).
        cost: of the first costs, shape (n + 1,).
    """

    turn: Reals
    gain: Reals
    cost: Reals

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends at epsilons at or above 0; large ones are cut, as delta falls."""
        t = np.exp(np.minimum(epsilon, FARTHEST))
        at = np.searchsorted(-self.turn, -t, side="left")
        bound = self.gain[at] - t * self.cost[at]
        return np.asarray(np.minimum(bound + _SUM_ERROR * bound + 1e-13 * self.gain[at], 1.0))


def worst_order_terms(
    above: Outcomes, law: RunLaw, *, blocks: int = _BLOCKS, masses: int = _MASSES
) -> Terms:
    """Return the bound for a base.

    Args:
        above: dominates the base.
        law: of the number of runs.
        blocks: of outcomes, approximately; more of them make a smaller bound.
        masses: of cells, likewise.
    """
    with np.errstate(under="ignore"):
        ratio = np.exp(-above.loss) * (1 - 1e-15)
    sums = [np.concatenate([[0.0], np.cumsum(one)]) for one in (above.p, above.q)]
    base = NeymanPearsonCurve(sums[0], sums[1], np.maximum.accumulate(ratio))
    cuts = _blocks(base, law, blocks)
    gains, costs = _lines(base, law, cuts, _masses(base, law, masses))
    return _sorted(base, cuts, *_hulls(gains, costs))


def _blocks(base: NeymanPearsonCurve, law: RunLaw, count: int) -> Reals:
    """Return cuts of the outcomes by falling loss.

    Heuristic. Many are by loss, above 0, where there are at most so many runs.
    """
    fine = _fine(base)
    along = _along(base, law, fine, (1.0 - fine, 1.0 - base.under(fine)), _EVENT)
    tail = _tail(base, law, 3 * count // 4, 1.0)
    even = _even(along, fine, count if tail.size else 2 * count)
    return distinct(np.concatenate([[0.0], even, tail, [1.0]]))


def _masses(base: NeymanPearsonCurve, law: RunLaw, count: int) -> Reals:
    """Return cuts of the masses below an outcome.

    Heuristic.
    """
    fine = _fine(base)
    along = _along(base, law, fine, (fine, base.under(fine)), _BELOW)
    tail = _tail(base, law, count // 4, math.inf)
    return distinct(np.concatenate([[0.0], _even(along, fine, count), tail, [1.0]]))


def _fine(base: NeymanPearsonCurve) -> Reals:
    """Return many masses between 0 and 1, dense at both ends."""
    small = np.geomspace(_SMALLEST, 1.0, _FINE)
    return np.unique(np.clip(np.concatenate([[0.0], small, 1.0 - small, base.k, [1.0]]), 0.0, 1.0))


def _along(
    base: NeymanPearsonCurve,
    law: RunLaw,
    fine: Reals,
    masses: tuple[Reals, Reals],
    shares: tuple[tuple[float, float], ...],
) -> Reals:
    """Return a coordinate that grows as log phi' does at masses under P and Q, and as A bends.

    The logs are of phi' and some share of phi'(1), each with a weight.
    """
    steps = []
    for one in masses:
        value = law.derivative(np.clip(one, 0.0, 1.0))
        logs = [weight * np.log(value + share * law.mean) for share, weight in shares]
        steps.append(np.abs(np.diff(sum(logs, np.zeros(value.shape)))))
    ratio = np.log(np.maximum(base.ratio, 1e-300))
    bend = np.minimum(np.abs(np.diff(np.interp(fine, base.k[:-1], ratio))), 1.0)
    return np.concatenate(
        [[0.0], np.cumsum(steps[0] + steps[1] + _BEND * np.sqrt(steps[1] * bend))]
    )


def _even(along: Reals, fine: Reals, count: int) -> Reals:
    """Return masses at which the coordinate grows by equal steps."""
    return np.interp(np.linspace(0.0, along[-1], count), along, fine)


def _tail(base: NeymanPearsonCurve, law: RunLaw, count: int, largest: float) -> Reals:
    """Return cuts evenly by loss, for laws of a bounded number of runs.

    Their phi' falls to a negligible value as its argument does. Only outcomes of at most a ratio
    q/p are cut.
    """
    if law.largest is None:
        return np.zeros(0)
    visible = (base.k[1:] > _FAINTEST) & (base.ratio > 0.0) & (base.k[:-1] < 1.0 - _FAINTEST)
    visible &= base.ratio <= largest
    if not visible.any():
        return np.zeros(0)
    logs, k = np.log(base.ratio[visible]), base.k[:-1][visible]
    return np.interp(np.linspace(logs[0], logs[-1], count), logs, k)


def _lines(base: NeymanPearsonCurve, law: RunLaw, cuts: Reals, x: Reals) -> tuple[Reals, Reals]:
    """Return gains g and costs y of the lines g - s y below W, shape (2, blocks, masses + 1).

    The first axis is a block's beginning and end. The first line is that of nothing ranked below;
    of a mass that is not after the block, both are 0.
    """
    k = np.stack([cuts[:-1], cuts[1:]])
    first = np.minimum(np.searchsorted(x, k[1]), x.size - 1)
    after = np.arange(x.size) >= first[:, None]
    gains = law.derivative(np.clip(x - k[:, :, None] + POSITION_ERROR, 0.0, 1.0)) * (1 + LAW_ERROR)
    start, end = _cells(base, law, k, x, gains)
    none = np.full((2, first.size, 1), np.inf)
    end = np.where(after[:, :-1], end, np.inf)
    costs = np.minimum(np.concatenate([start, none], axis=2), np.concatenate([none, end], axis=2))
    row = np.arange(first.size)
    near = _beside(law, base.ratio[base.place(k[0])], x[first] - k)
    costs[:, row, first] = np.minimum(costs[:, row, first], near)
    least = float(law.derivative(np.zeros(1))[0])
    alone = np.full((2, first.size, 1), least)
    gains = np.concatenate([alone * (1 + LAW_ERROR), np.where(after, gains, 0.0)], axis=2)
    costs = np.where(after & np.isfinite(costs), np.maximum(costs, 0.0), 0.0)
    return gains, np.concatenate([alone * (1 - LAW_ERROR), costs], axis=2)


def _beside(law: RunLaw, slope: Reals, near: Reals) -> Reals:
    """Return a lower bound of the cost of the first mass after a block.

    It uses A's slope at the block's beginning and the tangent of phi' at 0, or for at most n runs
    phi'(r z) >= r^(n-1) phi'(z).
    """
    near = np.maximum(near - 2 * POSITION_ERROR, 0.0)
    least = float(law.derivative(np.zeros(1))[0]) * (1 - LAW_ERROR)
    bend = float(law.growth(np.zeros(1))[0]) * (1 - LAW_ERROR) if least else 0.0
    tangent = least + least * bend * slope * near
    if law.largest is None:
        return np.asarray(tangent)
    share = np.minimum(slope, 1.0) ** (law.largest - 1) * (1 - _SUM_ERROR)
    other = share * law.derivative(np.clip(near, 0.0, 1.0)) * (1 - LAW_ERROR)
    return np.where(other[0] > tangent[0], other, tangent)


def _cells(
    base: NeymanPearsonCurve, law: RunLaw, k: Reals, x: Reals, gains: Reals
) -> tuple[Reals, Reals]:
    """Return lower bounds of a mass's cost, by the cell after it and by the cell before it.

    Shape (2, blocks, masses - 1): by the tangent of phi' at a middle of A(x) - A(k), above the line
    of the outcome in the cell's middle; by phi' at the least of A(x) - A(k) if that tangent falls
    below half of it; or by a chord of A for at most n runs, which bounds the cell's end alone.
    """
    known = base.under(np.minimum(k + POSITION_ERROR, 1.0)) + POSITION_ERROR
    at = base.place(0.5 * (x[1:] + x[:-1]))
    ends = x - POSITION_ERROR
    line = [
        base.least[at] + base.ratio[at] * (one - base.k[at]) - POSITION_ERROR
        for one in (ends[:-1], ends[1:])
    ]
    middle = np.clip(0.5 * (line[0] + line[1]) - known.mean(axis=0)[:, None], 0.0, 1.0)
    value = law.derivative(middle)
    tilt = value * law.growth(middle)
    plane = []
    for one in line:
        away = one - known[:, :, None] - middle
        plane.append(value + tilt * away - 4 * LAW_ERROR * (value + tilt * np.abs(away)))
    lowest = base.under(np.maximum(ends[:-1], 0.0)) - POSITION_ERROR - known[1][:, None]
    flat = law.derivative(np.clip(lowest, 0.0, 1.0)) * (1 - LAW_ERROR)
    good = plane[0][1] >= 0.5 * flat
    start, end = (np.where(good, one, flat) for one in plane)
    if law.largest is None:
        return start, end
    rise = np.maximum(lowest + known[1][:, None] - known[0][:, None], 0.0)
    run = np.maximum(x[:-1] - k[0][:, None] + POSITION_ERROR, POSITION_ERROR)
    share = np.clip(rise / run, 0.0, 1.0) ** (law.largest - 1) * (1 - _SUM_ERROR)
    lost = share * gains[:, :, :-1] - start, end - share * gains[:, :, 1:]
    chord = lost[0].max(axis=0) > lost[1].max(axis=0)
    return np.where(chord, np.inf, start), np.where(chord, share * gains[:, :, 1:], end)


def _hulls(gains: Reals, costs: Reals) -> tuple[Reals, Reals, NDArray[np.intp]]:
    """Return steps of the hulls of the lines, and how many each row has.

    Rows by end, then by block.

    Steps (dg, dy) that lead from 0 to every line's (g, y) in turn make the sum of (dg - s dy)_+ at
    least each g - s y, whether or not they turn one way only: so the last few corners may stay.
    """
    gains, costs = (one.reshape(-1, one.shape[2]) for one in (gains, costs))
    order = np.lexsort((-gains, costs), axis=1)
    nothing = np.zeros((gains.shape[0], 1))  # where the steps of every row begin
    gains, costs = (
        np.concatenate([nothing, np.take_along_axis(one, order, axis=1)], axis=1)
        for one in (gains, costs)
    )
    best = np.maximum.accumulate(gains, axis=1)
    rises = np.concatenate(
        [np.ones((gains.shape[0], 1), bool), np.diff(best, axis=1) > 0.0], axis=1
    )
    forced = np.zeros(rises.shape, dtype=bool)
    forced[:, 0] = True
    row = np.broadcast_to(np.arange(rises.shape[0])[:, None], rises.shape)[rises]
    row, gain, cost = _corners(forced[rises], row, gains[rises], costs[rises])
    inner = row[1:] == row[:-1]
    counts = np.bincount(row[1:][inner], minlength=rises.shape[0])
    return np.diff(gain)[inner], np.diff(cost)[inner], counts


def _corners(
    first: NDArray[np.bool_], row: NDArray[np.intp], gain: Reals, cost: Reals
) -> tuple[NDArray[np.intp], Reals, Reals]:
    """Return rows of points without those that are below a segment of their neighbours.

    A row in which nothing was dropped is finished, and left alone.
    """
    finished: list[tuple[NDArray[np.intp], Reals, Reals]] = []
    for _ in range(_PASSES):
        rise, run = np.diff(gain), np.diff(cost)
        kept = np.ones(gain.size, dtype=bool)
        kept[1:-1] = rise[:-1] * run[1:] > rise[1:] * run[:-1]
        kept |= first | np.append(first[1:], True)
        changed = np.zeros(int(row[-1]) + 1, dtype=bool)
        changed[row[~kept]] = True
        going = changed[row]
        finished.append((row[~going], gain[~going], cost[~going]))
        going &= kept
        first, row, gain, cost = first[going], row[going], gain[going], cost[going]
        if not row.size:
            break
    else:
        finished.append((row, gain, cost))
    rows, gains, costs = zip(*finished, strict=True)
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    return row[order], np.concatenate(gains)[order], np.concatenate(costs)[order]


def _sorted(
    base: NeymanPearsonCurve, cuts: Reals, gain: Reals, cost: Reals, counts: NDArray[np.intp]
) -> Terms:
    """Return all terms by falling gain over cost.

    They are, for every outcome in a block, the block's steps scaled by its mass and ratio.
    """
    middle, width, block, share = base.parts(cuts)
    ratio, starts = base.ratio[base.place(middle)], np.cumsum(counts) - counts
    terms = []
    for end, part in enumerate((1.0 - share, share)):
        row = block + end * (cuts.size - 1)
        many = counts[row]
        piece = np.repeat(np.arange(row.size), many)
        step = np.arange(piece.size) - np.repeat(np.cumsum(many) - many, many)
        step += np.repeat(starts[row], many)
        weight = (width * part)[piece]
        both = weight * gain[step], weight * ratio[piece] * cost[step]
        used = both[0] > both[1]
        terms.append(np.stack([one[used] for one in both]))
    gain, cost = np.concatenate(terms, axis=1)
    with np.errstate(divide="ignore"):
        turn = gain / cost
    order = np.argsort(-turn)
    sums = (np.concatenate([[0.0], np.cumsum(one[order])]) for one in (gain, cost))
    return Terms(turn[order], *sums)
