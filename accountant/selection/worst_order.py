"""The exact worst case of private selection over all orders of the outcomes, from above.

By Theorem 1 of proofs/theory/selection.md a worst order has the event's outcomes by falling loss,
and between them, from the top, other outcomes by rising loss. So delta_selected is at most the
integral over the mass k of the event above an outcome of

    V(k) = max over x in [k, 1] of (phi'(x - k) - s phi'(A(x) - A(k)))_+,    s = e^epsilon A'(k),

where x - k is the mass ranked below under P, and A(x) - A(k) that under Q. Section 7 bounds it on
blocks of k and cells of x by finitely many lines g - s y, so that V is their largest: by the values
at the corners of a rectangle, and by how far the difference of the two terms bends inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals, distinct
from dpproof.accountant.run_counts.law import FARTHEST, LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve

POSITION_ERROR = 1e-12  # Above the relative error of sums of masses. Soundness depends on it.
# Above the relative error of sums of terms and of powers here. Soundness depends on it.
_SUM_ERROR = 1e-10
# Approximate numbers of blocks and masses. Heuristic: more of them make a smaller bound.
_BLOCKS, _MASSES = 256, 448
# Shares of phi'(1) below which phi' needs no fine cuts, and their weights: for outcomes of the
# event, and for masses below one. Heuristic.
_EVENT, _BELOW = ((0.05, 1.0), (1e-4, 0.2)), ((0.05, 1.0), (1e-4, 0.3), (1e-9, 0.1))
# Masses from which cuts are chosen, and the least of them. Heuristic.
_FINE, _SMALLEST = 2_000, 1e-14
_FAINTEST = 1e-18  # Least mass at either end that cuts by loss take into account. Heuristic.
_FAINT_CUTS = 32  # Cuts of the masses below that. Heuristic.
# Most passes over the corners off the hull. Heuristic: the bound holds with those that stay.
_PASSES = 400
MUCH = 0.01  # Mass of an outcome whose ends are cuts. Heuristic.
_BEND = 0.5  # Weight of how much A bends. Heuristic.
_ALIKE = 0.05  # Range of log s between the ends of a chord. Heuristic.
_TOGETHER = 1 << 6  # Blocks whose lines are made at once. Heuristic.
_MOST_SLOPE = 1e280  # Largest s, so that s phi'(1) is representable as a float. Heuristic.
_NEVER = 1e20  # The cost of no line: it is never the largest. Heuristic.
_FINER = 24  # More blocks and cells for one epsilon. Heuristic.


@final
@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Upper ends of delta at increasing t = e^epsilon, whose chords are above it."""

    t: Reals
    height: Reals

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends at epsilons at or above 0; large ones are cut, as delta falls."""
        bound = np.interp(np.exp(np.minimum(epsilon, FARTHEST)), self.t, self.height)
        return np.asarray(np.minimum(bound * (1 + _SUM_ERROR), 1.0))


@final
@dataclass(frozen=True, eq=False)
class Lines:
    """The lines g - s y, the largest of which bounds V at both ends of each block.

    ``cuts`` are the ends of the blocks of outcomes by falling loss, ``masses`` those of cells of x;
    ``gains`` g and ``costs`` y have the shape (2, blocks, 2 masses - 1).
    """

    base: NeymanPearsonCurve
    law: RunLaw
    cuts: Reals
    masses: Reals
    gains: Reals
    costs: Reals

    @staticmethod
    def of(
        base: NeymanPearsonCurve, law: RunLaw, *, blocks: int = _BLOCKS, masses: int = _MASSES
    ) -> Lines:
        """Return the lines for about so many blocks and masses: more of them bound V closer."""
        return Lines.at(base, law, _blocks(base, law, blocks), _masses(base, law, masses))

    @staticmethod
    def at(base: NeymanPearsonCurve, law: RunLaw, cuts: Reals, masses: Reals) -> Lines:
        """Return the lines of given blocks and cells."""
        return Lines(base, law, cuts, masses, *_lines(base, law, cuts, masses))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta_selected at epsilon >= 0; a large one is cut."""
        return min(float(self._parts(epsilon).sum()) * (1 + _SUM_ERROR), 1.0)

    def _slopes(self, epsilon: float, k: Reals) -> Reals:
        """Return s = e^epsilon A'(k); a large one is cut, as the bound falls."""
        t = math.exp(min(epsilon, FARTHEST))
        return t * np.minimum(self.base.ratio[self.base.place(k)], _MOST_SLOPE / t)

    def _parts(self, epsilon: float) -> Reals:
        """Return what each block adds to the bound."""
        row, ends, weights = self._chords(epsilon)
        values = np.zeros(row.size)
        for g, y, part in zip(self.gains, self.costs, weights, strict=True):
            for at, weight in zip(ends, part, strict=True):
                values += weight * np.maximum((g[row] - at[:, None] * y[row]).max(axis=1), 0.0)
        return np.bincount(row, values, minlength=self.cuts.size - 1).astype(float)

    def _chords(self, epsilon: float) -> tuple[NDArray[np.intp], Reals, Reals]:
        """Return the blocks of some chords, s at their ends (2, n), and weights there: (2, 2, n).

        The largest of lines is convex in s, so at most its chord between outcomes of a block with
        s alike, which become two. Weights are by the block's end and by the chord's.
        """
        middle, width, block, share = self.base.parts(self.cuts)
        s = self._slopes(epsilon, middle)
        size = np.floor(np.log(np.maximum(s, 1e-300)) / _ALIKE)
        first = np.flatnonzero((np.diff(block, prepend=-1) > 0) | (np.diff(size, prepend=0.0) > 0))
        many = np.diff(first, append=s.size)
        start, end = np.minimum.reduceat(s, first), np.maximum.reduceat(s, first)
        apart = np.where(end > start, end - start, 1.0)
        after = (s - np.repeat(start, many)) / np.repeat(apart, many)
        before = np.where(np.repeat(end > start, many), np.repeat(end, many) - s, 1.0)
        before /= np.repeat(apart, many)
        weights = [
            [np.add.reduceat(width * part * one, first) for one in (before, after)]
            for part in (1.0 - share, share)
        ]
        return block[first], np.stack([start, end]), np.array(weights)

    def order(self, epsilon: float) -> tuple[Reals, Reals, Reals]:
        """Return the cuts, about what each block adds, and the best x in its middle."""
        k = 0.5 * (self.cuts[1:] + self.cuts[:-1])
        s = self._slopes(epsilon, k)
        gains, costs = self._both
        best = (gains - s[:, None] * costs).argmax(axis=1)
        ends = np.concatenate([np.zeros(1), self.masses[:-1], self.masses[1:]])
        at = np.clip(np.searchsorted(self.masses, ends[best]), 1, self.masses.size - 2)
        under = self.base.under(k)

        def value(x: Reals) -> Reals:
            cost = self.base.under(x * (1 + POSITION_ERROR)) - under
            return self.law.derivative(x - k) - s * self.law.derivative(np.clip(cost, 0.0, 1.0))

        before = np.minimum(self.masses[at - 1], ends[best] * (1 - 4 * POSITION_ERROR))
        near = np.maximum(np.stack([before, ends[best], self.masses[at + 1]]), k)
        near = np.vstack([near, np.clip(_vertex(near, value(near)), near[0], near[2])])
        worth = value(near)
        x = near[worth.argmax(axis=0), np.arange(k.size)]
        return self.cuts, np.maximum(worth.max(axis=0), 0.0) * np.diff(self.cuts), x

    @cached_property
    def _both(self) -> tuple[Reals, Reals]:
        """Return the sums of gains and of costs over both ends of each block."""
        return self.gains.sum(axis=0), self.costs.sum(axis=0)

    def refined(self, *epsilons: float, more: int | tuple[int, int] = _FINER) -> Lines:
        """Return about so many more blocks and cells, most where the bound seems loose."""
        size = more if isinstance(more, tuple) else (more, more)
        cuts, masses = (
            _split(*each)
            for each in zip((self.cuts, self.masses), self._loose(epsilons), size, strict=True)
        )
        return Lines.at(self.base, self.law, cuts, masses)

    def _loose(self, epsilons: tuple[float, ...]) -> tuple[Reals, Reals]:
        """Return how many parts each block and each cell should be cut into, relatively.

        What is lost is that of the second order, so it is the cube root of what a cell loses.
        """
        last = self.masses.size - 2
        blocks, cells = np.zeros(self.cuts.size - 1), np.zeros(last + 1)
        for epsilon in epsilons:
            _, worth, x = self.order(epsilon)
            loose = np.cbrt(np.abs(self._parts(epsilon) - worth))
            loose /= max(float(loose.sum()), 1e-300)
            at = np.searchsorted(self.masses, x)
            beside = np.clip(np.concatenate([at - 1, at]), 0, last)
            blocks += loose
            cells += np.bincount(beside, np.tile(loose, 2), minlength=last + 1)
        return blocks, cells

    def terms(self, epsilons: Reals) -> Terms:
        """Return the bound between increasing epsilons from 0, of lines of both blocks at a cut."""
        least = self.base.ratio[self.base.place(np.append(0.0, self.cuts[:-1]))]
        cells = np.arange(1, self.masses.size)
        natural = np.append(0, np.stack([cells, cells + cells.size], axis=1).ravel())
        gains, costs = self.gains[:, :, natural], self.costs[:, :, natural]
        costs = np.where(gains > 0.0, costs, _NEVER)
        both = np.zeros((2, self.cuts.size, natural.size))
        both[1] = _NEVER
        both[0, :-1], both[1, :-1] = gains[0], costs[0]
        both[0, 1:] = np.maximum(both[0, 1:], gains[1])
        both[1, 1:] = np.minimum(both[1, 1:], costs[1])
        return _summed(
            self._chords(0.0),
            _hulls(both[0], both[1], least),
            np.exp(np.minimum(epsilons, FARTHEST)),
        )


def _vertex(x: Reals, y: Reals) -> Reals:
    """Return where the parabolas through three points each have their vertex, or the middle one."""
    before, after = np.diff(x, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right = np.diff(y, axis=0) / np.diff(x, axis=0)
        step = 0.5 * (left * after + right * before) / (left - right)
    return np.asarray(x[1] + np.where(np.isfinite(step), step, 0.0))


def _split(points: Reals, weights: Reals, count: int) -> Reals:
    """Return the points and about so many more, most where the weights are."""
    along = count * np.cumsum(weights) / max(float(weights.sum()), 1e-300)
    pieces = 1 + np.diff(np.floor(along), prepend=0.0).astype(np.intp)
    cell = np.repeat(np.arange(weights.size), pieces)
    step = np.arange(cell.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    new = points[cell] + np.diff(points)[cell] * step / pieces[cell]
    return distinct(np.append(new, points[-1]))


def _blocks(base: NeymanPearsonCurve, law: RunLaw, count: int) -> Reals:
    """Return cuts of the outcomes by falling loss, many by loss if the runs have a bound."""
    tail = _tail(base, 3 * count // 4, 1.0)
    even = _even(base, law, count if tail.size else 2 * count, event=True)
    return distinct(np.concatenate([[0.0], even, tail, _heavy(base), [1.0]]))


def _masses(base: NeymanPearsonCurve, law: RunLaw, count: int) -> Reals:
    """Return cuts of the masses below an outcome."""
    even = _even(base, law, count, event=False)
    tail = _tail(base, count // 4, math.inf) if law.largest else np.zeros(0)
    return distinct(np.concatenate([[0.0], even, tail, _heavy(base), [1.0]]))


def _heavy(base: NeymanPearsonCurve) -> Reals:
    """Return the ends of the outcomes of much mass, at which A bends."""
    some = np.flatnonzero(np.diff(base.k) > MUCH)
    return np.asarray(np.clip(base.k[np.concatenate([some, some + 1])], 0.0, 1.0))


def _even(base: NeymanPearsonCurve, law: RunLaw, count: int, *, event: bool) -> Reals:
    """Return masses between which logs of phi' at masses under P and Q grow, or A bends, evenly.

    The logs are of phi' and some share of phi'(1), each with a weight.
    """
    small = np.geomspace(_SMALLEST, 1.0, _FINE)
    fine = np.concatenate([[0.0], small, 1.0 - small, base.k, [1.0]])
    fine = np.unique(np.clip(fine, 0.0, 1.0))
    steps = []
    for one in (fine, base.under(fine)):
        value = law.derivative(np.clip(1.0 - one if event else one, 0.0, 1.0))
        shares = _EVENT if event else _BELOW
        logs = [weight * np.log(value + share * law.mean) for share, weight in shares]
        steps.append(np.abs(np.diff(sum(logs, np.zeros(value.shape)))))
    ratio = np.log(np.maximum(base.ratio, 1e-300))
    bend = np.minimum(np.abs(np.diff(np.interp(fine, base.k[:-1], ratio))), 1.0)
    step = steps[0] + steps[1] + _BEND * np.sqrt(steps[1] * bend)
    along = np.concatenate([[0.0], np.cumsum(step)])
    return np.asarray(np.interp(np.linspace(0.0, along[-1], count), along, fine))


def _tail(base: NeymanPearsonCurve, count: int, largest: float) -> Reals:
    """Return cuts evenly by loss, of the outcomes of at most a ratio q/p, fewer where faint."""
    cuts = []
    visible = (base.ratio > 0.0) & (base.k[:-1] < 1.0 - _FAINTEST) & (base.ratio <= largest)
    for part, size in ((base.k[1:] > _FAINTEST, count), (base.k[1:] <= _FAINTEST, _FAINT_CUTS)):
        if (some := visible & part).any():
            logs, k = np.log(base.ratio[some]), base.k[:-1][some]
            cuts.append(np.interp(np.linspace(logs[0], logs[-1], size), logs, k))
    return np.concatenate(cuts) if cuts else np.zeros(0)


def _lines(base: NeymanPearsonCurve, law: RunLaw, cuts: Reals, x: Reals) -> tuple[Reals, Reals]:
    """Return gains and costs of lines, shape (2, blocks, 2 masses - 1), by both ends of blocks.

    The first line is of nothing ranked below; then come both ends of each cell, 0 before a block.
    """
    gains, costs = np.zeros((2, 2, cuts.size - 1, 2 * x.size - 1))
    for start in range(0, cuts.size - 1, _TOGETHER):  # of cells before all of some blocks, none
        some = cuts[start : start + _TOGETHER + 1]
        skip = int(np.clip(np.searchsorted(x, some[1]) - 1, 0, x.size - 2))
        lines, rows = _lines_after(base, law, some, x[skip:]), slice(start, start + some.size - 1)
        for whole, part in zip((gains, costs), lines, strict=True):
            whole[:, rows, 0], after = part[:, :, 0], np.split(part[:, :, 1:], 2, axis=2)
            whole[:, rows, 1 + skip : x.size], whole[:, rows, x.size + skip :] = after
    return gains, costs


def _lines_after(
    base: NeymanPearsonCurve, law: RunLaw, cuts: Reals, x: Reals
) -> tuple[Reals, Reals]:
    """Return the lines of some blocks, as ``_lines``, by cells that begin beside the first."""
    k = np.stack([cuts[:-1], cuts[1:]])
    first = np.clip(np.searchsorted(x, k[1]), 1, x.size - 1)
    above = x * (1 + 2 * POSITION_ERROR) - k[:, :, None]
    gains = law.derivative(np.clip(above, 0.0, 1.0)) * (1 + LAW_ERROR)
    start, end, spared = _cells(base, law, k, x, gains)
    after = np.arange(x.size - 1) >= first[:, None]
    row = np.arange(first.size)
    beside = np.maximum(x[first] * (1 - 4 * POSITION_ERROR) - k, 0.0)
    near = _beside(law, base.ratio[base.place(k[0])], beside)
    least = np.full((2, first.size, 1), float(law.derivative(np.zeros(1))[0]))
    sides = [(gains[:, :, :-1] - spared, start), (gains[:, :, 1:] - spared, end)]
    lines = [(least * (1 + LAW_ERROR), least * (1 - LAW_ERROR))]
    for gain, cost in sides:
        some = after & np.isfinite(cost)
        lines.append((np.where(some, gain, 0.0), np.where(some, np.maximum(cost, 0.0), 0.0)))
    lines[2][0][:, row, first - 1], lines[2][1][:, row, first - 1] = gains[:, row, first], near
    gains, costs = (np.concatenate(each, axis=2) for each in zip(*lines, strict=True))
    return gains, costs


def _beside(law: RunLaw, slope: Reals, near: Reals) -> Reals:
    """Return at most the cost of the first mass after a block, by A's slope where the block begins.

    It is phi's tangent at 0, or for at most n runs phi'(r z) >= r^(n-1) phi'(z).
    """
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
) -> tuple[Reals, Reals, Reals]:
    """Return at most a mass's cost by the cells after and before it, and the gain spared.

    The cost is phi' above the line of the outcome in the cell's middle, or a flat one where the
    cell is short, less its bend (Section 7). Where little is left, it is phi' at the least of
    A(x) - A(k), or that of a chord of A for at most n runs, which bounds the cell's end alone.
    """
    heights = base.under(np.minimum(k * (1 + POSITION_ERROR), 1.0)) * (1 + POSITION_ERROR)
    at = base.place(0.5 * (x[1:] + x[:-1]))
    under = base.under(x[:-1] * (1 - POSITION_ERROR)) * (1 - POSITION_ERROR)
    slip = 4 * POSITION_ERROR * base.ratio[at] * x[1:]  # A is at most its slope times its place
    line = [base.least[at] + base.ratio[at] * (one - base.k[at]) - slip for one in (x[:-1], x[1:])]
    short = np.diff(x) <= 8 * POSITION_ERROR * x[1:]  # where A slips more than it rises
    line = [np.where(short, under, one) for one in line]
    bend, spared = _bends(base, law, (k, x), (line[1] + 2 * slip, heights[0]))
    above = [np.clip(one - heights[:, :, None], 0.0, 1.0) for one in line]
    plane = [law.derivative(one) * (1 - LAW_ERROR) - bend for one in above]
    flat = law.derivative(np.clip(under - heights[1][:, None], 0.0, 1.0)) * (1 - LAW_ERROR)
    good = (above[0][1] > 0.0) & (plane[0][1] >= 0.5 * flat) & np.isfinite(bend)
    start, end = (np.where(good, one, flat) for one in plane)
    spared = np.where(good, spared, 0.0)
    if law.largest is None:
        return start, end, spared
    rise = np.maximum(under - heights[0][:, None], 0.0)
    run = np.maximum(x[:-1] * (1 + 2 * POSITION_ERROR) - k[0][:, None], 1e-300)
    share = np.clip(rise / run, 0.0, 1.0) ** (law.largest - 1) * (1 - _SUM_ERROR)
    lost = share * gains[:, :, :-1] - start, end - share * gains[:, :, 1:]
    chord = lost[0].max(axis=0) > lost[1].max(axis=0)
    start, end = np.where(chord, np.inf, start), np.where(chord, share * gains[:, :, 1:], end)
    return start, end, np.where(chord, 0.0, spared)


def _bends(
    base: NeymanPearsonCurve, law: RunLaw, places: tuple[Reals, Reals], under: tuple[Reals, Reals]
) -> tuple[Reals, Reals]:
    """Return u and v of Section 7: how much costs are less inside, and how much gains are.

    ``places``: ends k of blocks, and x of cells. ``under``: the line at each cell's end, and A
    at each block's beginning, from above.
    """
    (k, x), (line, known) = places, under
    largest = np.clip(line - known[:, None] * (1 - 4 * POSITION_ERROR), 0.0, 1.0)
    least = np.clip(x[:-1] * (1 - 2 * POSITION_ERROR) - k[1][:, None], 0.0, 1.0)
    curved = 0.125 * law.third(largest) * (1 + _SUM_ERROR), 0.125 * law.third(least)
    first, last = (base.ratio[base.place(one)] for one in (k[0], k[1] * (1 + POSITION_ERROR)))
    slope = first[:, None] * (1 - _SUM_ERROR)
    bend, spared = np.zeros(least.shape), np.zeros(least.shape)
    slopes = base.ratio[base.place(0.5 * (x[1:] + x[:-1]))], last[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # where u is infinite the cell is flat
        for width, ratio in zip((np.diff(x), np.diff(k, axis=0).T), slopes, strict=True):
            up = (width * ratio) ** 2 * curved[0]
            bend += up
            spared += np.minimum(width**2 * curved[1], slope * up) * (1 - _SUM_ERROR)
    return bend, spared


def _hulls(gains: Reals, costs: Reals, s: Reals) -> tuple[Reals, Reals, NDArray[np.intp]]:
    """Return steps of the hulls of the lines, and how many each row has, one row for each cut.

    Only lines count that may be the largest at or above each row's s. Steps (dg, dy) from 0 to
    every line in turn make the sum of (dg - s dy)_+ at least each line: corners may stay.
    """
    order = costs.argsort(axis=1, kind="stable")  # nearly sorted, as lines come by x
    gains, costs = (np.take_along_axis(one, order, axis=1) for one in (gains, costs))
    nothing = np.zeros((gains.shape[0], 1))  # where the steps of every row begin
    best = np.maximum.accumulate(np.hstack([nothing, gains]), axis=1)
    peak = (gains - s[:, None] * costs).argmax(axis=1)
    rises = np.diff(best, axis=1, prepend=-1.0) > 0.0
    rises[:, 1:] &= np.arange(gains.shape[1]) <= peak[:, None]
    row, column = np.nonzero(rises)
    gain, cost = best[rises], np.hstack([nothing, costs])[rises]
    row, gain, cost = _corners(column == 0, row, gain, cost)
    inner = row[1:] == row[:-1]
    counts = np.bincount(row[1:][inner], minlength=rises.shape[0])
    return np.diff(gain)[inner], np.diff(cost)[inner], counts


def _corners(
    first: NDArray[np.bool_], row: NDArray[np.intp], gain: Reals, cost: Reals
) -> tuple[NDArray[np.intp], Reals, Reals]:
    """Return rows of points without those below a segment of their neighbours."""
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


def _summed(
    chords: tuple[NDArray[np.intp], Reals, Reals],
    hulls: tuple[Reals, Reals, NDArray[np.intp]],
    t: Reals,
) -> Terms:
    """Return the sum of (gain - t cost)_+ of the steps of blocks at each end of their chords.

    The chords are those of ``Lines._chords`` at epsilon = 0, the hulls of ``_hulls``.
    """
    block, ends, weights = chords
    gain, cost, counts = hulls
    starts, sums, size = np.cumsum(counts) - counts, np.zeros((2, t.size + 1)), 0
    for side, at in np.ndindex(2, 2):
        some = np.flatnonzero(weights[side, at] > 0.0)
        row = block[some] + side
        many = counts[row]
        piece = np.repeat(some, many)
        step = np.arange(piece.size) - np.repeat(np.cumsum(many) - many - starts[row], many)
        weight = weights[side, at][piece]
        gains, costs = weight * gain[step], weight * ends[at][piece] * cost[step]
        with np.errstate(divide="ignore"):
            place = np.searchsorted(t, gains / costs)
        sums += [np.bincount(place, one, t.size + 1) for one in (gains, costs)]
        size += gains.size
    gain, cost = (np.cumsum(one[:0:-1])[::-1] for one in sums)
    # Sums of n terms in turn are off by n u at most, and t times the costs are below the gains.
    rounding = 4 * UNIT_ROUNDOFF * (size + 100)
    return Terms(t, (gain - t * cost) * (1 + _SUM_ERROR) + rounding * gain)
