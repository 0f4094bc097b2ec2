"""Make witnesses for the best of some runs: proofs/theory/selection.md, Sections 6 and 7.

Of finite pairs the checker cuts the outcomes into blocks and the mass below an outcome into cells,
and repeats the sum. Masses lie evenly where phi'(c) and phi'(A(c)) change; blocks are halved if
that lowers the sum most at some ratios t. Of other pairs it verifies, cell by cell, a polygon
below phi' o tau, for the mixture of shifts. Its corners lie evenly where phi' and phi' o tau
change; each is as high as the tangents at the known points allow, then the polygon is made convex,
which makes the mixture smallest. Heuristic: all constants; poor cuts make a larger bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals, float_up
from dpproof.accountant.arithmetic.hull import hull_positions
from dpproof.accountant.certificates.base_profile import (
    MARGIN,
    BaseProfile,
    base_facts,
    evenly,
    proved_point,
)
from dpproof.accountant.certificates.choose import Point
from dpproof.accountant.certificates.finite_pairs import Aim, pair_of_bounds
from dpproof.accountant.certificates.serialize import Object, law_work, run_law
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import short_down, short_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve
from dpproof.accountant.selection.profile import selection
from dpproof.proofs import limits
from dpproof.proofs.certificate import Json, Step, show_rational
from dpproof.proofs.limits import TANGENT_BITS

# A point near 0 for the slope of phi', and the relative rounding. Heuristic: the checker decides.
_NEAR, _SLIP = 1e-9, 1e-6


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """Gains and costs of some blocks; the first axis is a block's beginning and end."""

    first: NDArray[np.intp]  # the first mass at or after each block
    gains: Reals  # phi'(x - k), shape (2, blocks, masses)
    beside: Reals  # the cost at the first mass, shape (2, blocks)
    # Costs by tangents at the beginnings and ends of the cells, shape (2, 2, blocks, masses - 1),
    # the second axis the cell's; infinite before the first mass.
    plane: Reals
    # Costs by chords at the ends of the cells, shape (2, blocks, masses - 1), likewise.
    chord: Reals

    @staticmethod
    def of(runs: RunLaw, base: NeymanPearsonCurve, x: Reals, cuts: Reals) -> Grid:
        """Return the bounds of the blocks between some cuts, for masses x from 0 to 1."""
        heights, first = base.under(cuts), np.searchsorted(x, cuts[1:])
        ends = np.array([[cuts[:-1], heights[:-1]], [cuts[1:], heights[1:]]])
        used = np.arange(x.size - 1) >= first[:, None]
        gains = runs.derivative(np.clip(x - ends[:, 0, :, None], 0.0, 1.0))
        beside = _beside(runs, base, cuts[:-1], x[first] - ends[:, 0])
        plane = np.where(used, _planes(runs, base, x, ends[:, 1]), math.inf)
        share = _chords(runs, x[:-1], base.under(x[:-1]), ends[0])
        chord = np.where(used & (share > 0.0), share * gains[:, :, 1:], math.inf)
        chord = np.where(used & (share <= 0.0), 0.0, chord)
        return Grid(first, gains, beside, plane, chord)

    def costs(self, close: NDArray[np.intp]) -> Reals:
        """Return the least costs, shape (2, blocks, masses), A bounded by chords in close cells."""
        cell = np.arange(self.plane.shape[3])
        near = cell < (self.first + close)[:, None]
        start = np.where(near, math.inf, self.plane[:, 0])
        end = np.where(near, self.chord, self.plane[:, 1])
        none = np.full((2, self.first.size, 1), math.inf)
        costs = np.minimum(
            np.concatenate([start, none], axis=2), np.concatenate([none, end], axis=2)
        )
        row = np.arange(self.first.size)
        costs[:, row, self.first] = np.minimum(costs[:, row, self.first], self.beside)
        return np.asarray(costs)

    def largest(self, scale: Reals) -> Reals:
        """Return the largest gain less scaled cost, by the number of cells with chords.

        The scale has shape (2, blocks), the result (2, blocks, masses).
        """
        s, before, after = scale[:, :, None], self.gains[:, :, :-1], self.gains[:, :, 1:]
        by_chord = after - s * self.chord
        by_plane = np.maximum(before - s * self.plane[:, 0], after - s * self.plane[:, 1])
        none = np.full((2, self.first.size, 1), -math.inf)
        chords = np.concatenate([none, np.maximum.accumulate(by_chord, axis=2)], axis=2)
        planes = np.maximum.accumulate(by_plane[:, :, ::-1], axis=2)[:, :, ::-1]
        row = np.arange(self.first.size)
        nearest = self.gains[:, row, self.first] - scale * self.beside
        rest = np.maximum(chords, np.concatenate([planes, none], axis=2))
        return np.asarray(np.maximum(np.maximum(rest, nearest[:, :, None]), 0.0))


def _beside(runs: RunLaw, base: NeymanPearsonCurve, starts: Reals, near: Reals) -> Reals:
    """Return the least cost of the first mass, at both ends of the blocks."""
    slopes = base.ratio[base.place(starts)]
    slope = float(runs.derivative(np.zeros(1))[0]) + _bend(runs) * slopes * near
    if runs.largest is None:
        return np.asarray(slope)
    share = np.minimum(slopes, 1.0) ** (runs.largest - 1) * (1 - _SLIP)
    other = share * runs.derivative(np.clip(near, 0.0, 1.0))
    return np.where(other[0] > slope[0], other, slope)


def _bend(runs: RunLaw) -> float:
    """Return a lower bound of phi'' at 0."""
    near = runs.derivative(np.array([0.0, _NEAR]))
    if near[0] > 0.0:
        return float(near[0] * runs.growth(np.zeros(1))[0])
    return float(near[1] / _NEAR) * (1 - _SLIP)


def _planes(runs: RunLaw, base: NeymanPearsonCurve, x: Reals, heights: Reals) -> Reals:
    """Return tangents of phi' above the lines of the outcomes in the middle of the cells."""
    at = base.place(0.5 * (x[1:] + x[:-1]))
    line = [base.least[at] + base.ratio[at] * (one - base.k[at]) for one in (x[:-1], x[1:])]
    inside = heights[:, :, None]
    lowest = runs.derivative(np.zeros(1))[0]
    middle, low = 0.5 * (line[0] + line[1]) - inside.mean(axis=0), line[0] - inside[1]
    plane = _plane(runs, middle, line, inside)
    plane = np.where(plane[1, 0] >= lowest, plane, _plane(runs, low, line, inside))
    start = base.under(x[:-1])
    other = [start, start + base.ratio[base.place(x[:-1])] * np.diff(x)]
    return np.where(plane[1, 0] >= 0.0, plane, _plane(runs, start - inside[1], other, inside))


def _plane(runs: RunLaw, z: Reals, line: Sequence[Reals], inside: Reals) -> Reals:
    """Return the tangent of phi' near z, at both ends of the rows and of the cells."""
    z = np.clip(z, 0.0, 1.0)
    z = np.where(z < 0.5, _rounded(z), 1.0 - _rounded(1.0 - z))
    value = runs.derivative(z)
    tilt = value * runs.growth(z)
    return np.array([[value + tilt * (one - height - z) for one in line] for height in inside])


def _rounded(z: Reals) -> Reals:
    """Return numbers of few binary digits near z, as the checker does."""
    digits, exponent = np.frexp(z)
    return np.asarray(np.ldexp(np.rint(digits * 2**TANGENT_BITS) / 2**TANGENT_BITS, exponent))


def _chords(runs: RunLaw, x: Reals, least: Reals, starts: Reals) -> Reals:
    """Return r^(n-1) for at most n runs, r the slopes of A's chords from the blocks' starts to x.

    The shape is (blocks, x.size); without a largest number of runs all are 0.
    """
    if runs.largest is None:
        return np.zeros((starts.shape[1], x.size))
    rise, run = (one - mine[:, None] for one, mine in ((least, starts[1]), (x, starts[0])))
    slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0.0)
    return np.asarray(np.clip(slope, 0.0, 1.0) ** (runs.largest - 1) * (1 - _SLIP))


# Corners that are cuts, if there are more than the second number of outcomes; else all.
_SHARP, _FEW = 10, 50
_FAINT = 1e-9  # Share of phi'(1) below which values need no fine cells.
_FINE, _SMALLEST = 2_000, 1e-12  # Masses from which cuts are chosen, and the least of them.
_BITS = 40  # Bits of a cut.
_LEVEL = 1e5  # Value, in units of the tail, at which the sum is made small.
_RATIOS, _FARTHEST, _HALVINGS = 12, 512.0, 8  # Ratios t, the largest log t, and bisections for it.
_NEGLIGIBLE = 1e-7  # Relative gain below which a block is not halved.
_OCTAVES = 40  # Most blocks by powers of 1/2.
_SPARSE = 3  # Masses for each one that is tried.
_TINY = 1e-300  # Replaces 0 in quotients.


@final
@dataclass(frozen=True, slots=True)
class Cuts:
    """The ends of blocks and cells."""

    blocks: list[Fraction]  # of outcomes by falling loss, from 0 to 1
    masses: list[Fraction]  # from 0 to 1
    # For each block, of how many cells after it chords bound A better than tangents.
    close: NDArray[np.intp]
    grid: Grid  # the grid that they bound

    @staticmethod
    def of(base: NeymanPearsonCurve, runs: RunLaw, tail: float, blocks: int, masses: int) -> Cuts:
        """Return approximately so many blocks and masses, for sums down to near the tail."""
        listed = _masses(base, runs, masses)
        x = np.array([float(one) for one in listed])
        few = np.append(x[:-1:_SPARSE], 1.0)
        cuts = _start(base, tail / runs.mean, blocks)
        while cuts.size < blocks:
            trial = _Trial.of(base, runs, few, cuts)
            ratios = trial.ratios(tail)
            middle = 0.5 * (cuts[:-1] + cuts[1:])
            finer = np.insert(cuts, np.arange(1, cuts.size), middle)
            sums, _ = trial.sums(ratios)
            halves, _ = _Trial.of(base, runs, few, finer).sums(ratios)
            parts = halves[:, ::2] + halves[:, 1::2]
            gain = ((sums - parts) / (parts.sum(axis=1) + tail)[:, None]).max(axis=0)
            best = np.argsort(-gain)[: blocks - cuts.size + 1]
            best = np.sort(best[gain[best] > _NEGLIGIBLE])
            if not best.size:
                break
            cuts = np.insert(cuts, best + 1, middle[best])
        exact = sorted({_short(float(one)) for one in cuts} | {Fraction(0), Fraction(1)})
        trial = _Trial.of(base, runs, x, np.array([float(one) for one in exact]))
        _, close = trial.sums(trial.ratios(tail))
        return Cuts(exact, listed, close, trial.grid)


@final
@dataclass(frozen=True, slots=True)
class _Trial:
    """The approximate sum for some cuts."""

    grid: Grid  # the grid that they bound
    width: Reals  # of the blocks
    slope: Reals  # ratios of the outcomes at both ends of the blocks, shape (2, blocks)

    @staticmethod
    def of(base: NeymanPearsonCurve, runs: RunLaw, x: Reals, cuts: Reals) -> _Trial:
        """Return the trial for masses x and cuts."""
        slope = base.ratio[np.stack([base.place(cuts[:-1]), base.before(cuts[1:])])]
        return _Trial(Grid.of(runs, base, x, cuts), np.diff(cuts), slope)

    def sums(self, ratios: Reals) -> tuple[Reals, NDArray[np.intp]]:
        """Return the blocks' parts, shape (t, blocks), and for how many cells chords are best."""
        largest = [self.grid.largest(np.maximum(t * self.slope, _TINY)) for t in ratios.tolist()]
        parts = np.array([0.5 * self.width[:, None] * one.sum(axis=0) for one in largest])
        size = parts.min(axis=2).sum(axis=1)
        total = (parts / np.maximum(size, _TINY)[:, None, None]).sum(axis=0)
        best = np.argmin(total, axis=1)
        close = np.maximum(best - self.grid.first, 0)
        return parts[:, np.arange(best.size), best], close

    def ratios(self, tail: float) -> Reals:
        """Return ratios t from 1 to those at which the sum is somewhat above the tail and at it."""
        ends = [self._end(level * tail) for level in (_LEVEL, 1.0)]
        return np.exp([*np.linspace(0.0, ends[0], _RATIOS), ends[1]])

    def _end(self, level: float) -> float:
        """Return a log t at which the sum is approximately at a level."""

        def above(log_ratio: float) -> bool:
            return bool(self.sums(np.exp([log_ratio]))[0].sum() > level)

        low, high = 0.0, 1.0
        while above(high) and high < _FARTHEST:
            low, high = high, 2.0 * high
        return bisect(above, low, high, rounds=_HALVINGS)[1]


def _start(base: NeymanPearsonCurve, smallest: float, count: int) -> Reals:
    """Return a few blocks by powers of 1/2, and the ends of outcomes at which A bends most."""
    octaves = 0.5 ** np.linspace(1.0, max(-math.log2(smallest), 2.0), min(count // 3, _OCTAVES))
    inside = np.concatenate([octaves, _corners(base, count // 3)])
    return np.unique(np.concatenate([[0.0], inside[(inside > 0.0) & (inside < 1.0)], [1.0]]))


def _masses(base: NeymanPearsonCurve, runs: RunLaw, count: int) -> list[Fraction]:
    """Return masses c at which log phi'(c) and log phi'(A(c)) change evenly, and some corners."""
    small = np.geomspace(_SMALLEST, 1.0, _FINE)
    fine = np.unique(np.concatenate([[0.0], small, 1.0 - small, [1.0]]))
    along = evenly(runs, fine, base.under(fine), _FAINT)
    ends = _corners(base, count // 3)
    chosen = np.interp(np.linspace(along[0], along[-1], count - ends.size), along, fine)
    inside = {_short(float(one)) for one in np.concatenate([chosen, ends])}
    return sorted({one for one in inside if 0 < one < 1} | {Fraction(0), Fraction(1)})


def _corners(base: NeymanPearsonCurve, count: int) -> Reals:
    """Return the ends of outcomes at which A bends most."""
    bends = np.diff(base.ratio) * np.minimum(np.diff(base.k)[1:], np.diff(base.k)[:-1])
    most = min(count, base.ratio.size if base.ratio.size <= _FEW else _SHARP)
    return base.k[1:-1][np.sort(np.argsort(-bends)[:most])]


def _short(mass: float) -> Fraction:
    """Round a mass up to few binary digits, so that it and 1 minus it are floats.

    A corner's cut is then not before the corner: the outcome after the cut is the one after it.
    """
    return short_up(mass, _BITS) if mass < 0.5 else Fraction(math.ceil(mass * 2**50), 2**50)


def exact_curve(pair: FinitePair) -> NeymanPearsonCurve:
    """Return the curve of a finite pair, from the outcomes with mass under P.

    Corners are rounded up: a float is at or beyond one of them exactly if it is at or beyond the
    corner itself, which the checker compares it with.
    """
    listed = sorted((b / a, a, b) for a, b in zip(pair.p, pair.q, strict=True) if a)
    ratio = np.array([float(one) for one, _, _ in listed])
    k, least = _sums(a for _, a, _ in listed), _sums(b for _, _, b in listed)
    return NeymanPearsonCurve(k, least, ratio)


def _sums(masses: Iterable[Fraction]) -> Reals:
    """Return the exact sums of the first masses, from 0 on, rounded up."""
    return np.array([float_up(one) for one in accumulate(masses, initial=Fraction(0))])


_COUNT = 1024  # Ratios of all selections.
# Shares of the checker's work, alone and inside a composition: profiles and the last sum take the
# rest.
_ALONE = limits.MAX_WORK * 11 // 24
_AMONG = limits.MAX_WORK * 9 // 24
_CELLS_A_BLOCK = 2.4  # Cells for each block.
_BLOCKS = 8, 288  # Fewest and most blocks.
_SHORTEST = 1e-3  # Least end of a table, nats.
_UNIT = 2.0**-128  # The checker's unit of rounding.


@final
@dataclass(frozen=True, slots=True)
class BestOfRuns:
    """One direction's sum of (gain - t cost)_+ at ratios t >= 1."""

    blocks: list[Fraction]  # the ends of the blocks of outcomes by falling loss
    masses: list[Fraction]  # the ends of the cells
    # For each block, of how many cells after it chords bound A better than tangents.
    close: list[int]
    turn: Reals  # gain over cost, falling, shape (n,)
    gain: Reals  # sums of the first gains, shape (n + 1,)
    cost: Reals  # of the first costs, shape (n + 1,)
    room: float  # at least what the checker's roundings add

    def delta(self, t: Reals) -> Reals:
        """Return the sum at ratios t >= 1."""
        place = np.searchsorted(-self.turn, -t, side="right")
        return np.asarray(self.gain[place] - t * self.cost[place] + self.room)

    def end(self, tail: float) -> float:
        """Return a log t beyond which the sum falls by a negligible amount."""
        turns = self.turn[np.isfinite(self.turn) & (self.turn > 1.0)]
        if not turns.size:
            return _SHORTEST
        left = self.delta(turns) - self.delta(turns[0])
        return float(np.log(turns[left <= tail].min()))

    def witness(self) -> Json:
        """Return the cuts in the certificate's JSON."""
        listed = {"blocks": self.blocks, "masses": self.masses}
        cuts: dict[str, Json] = {
            name: [show_rational(c) for c in numbers] for name, numbers in listed.items()
        }
        return {**cuts, "close": [*self.close]} if any(self.close) else cuts


def pairs_above_best(
    forward: FinitePair, backward: FinitePair, runs: RunLaw, aim: Aim
) -> tuple[FinitePair, FinitePair, Object]:
    """Return finite pairs above the best of some runs of finite pairs, and their witness."""
    names = {"forward": forward}
    if forward != backward:
        names["backward"] = backward
    work = (_ALONE if aim.epsilon else _AMONG) // (len(names) * aim.selections)
    sums = {name: _best_sum(pair, runs, aim.tail, work) for name, pair in names.items()}
    ahead, behind = sums["forward"], sums.get("backward", sums["forward"])
    finite = pair_of_bounds(
        ahead, behind, aim, one_way=len(sums) == 1, count=_COUNT // aim.selections
    )
    witness: Object = {name: one.witness() for name, one in sums.items()}
    swapped = FinitePair(p=finite.q, q=finite.p) if len(sums) > 1 else finite
    return finite, swapped, {"runs": run_law(runs), **witness}


def _sizes(runs: RunLaw, outcomes: int, work: int) -> tuple[int, int]:
    """Return how many blocks and masses fit into the checker's work."""
    least, size = _BLOCKS
    law = law_work(runs)
    while (
        size > least and limits.blocks_work(size, int(_CELLS_A_BLOCK * size), outcomes, law) > work
    ):
        size -= 1
    return size, int(_CELLS_A_BLOCK * size)


def _best_sum(pair: FinitePair, runs: RunLaw, tail: float, work: int) -> BestOfRuns:
    """Return cuts within the checker's work, and its sum over them."""
    base = exact_curve(pair)
    cuts = Cuts.of(base, runs, tail, *_sizes(runs, len(pair.p), work))
    grid, first = cuts.grid, cuts.grid.first
    value = float(runs.derivative(np.zeros(1))[0])
    gains = np.insert(grid.gains, 0, value, axis=2)
    bend = runs.mean * float(runs.growth(np.ones(1))[0])
    rounding = 4.0 * _UNIT * (1.0 + bend)  # the checker's, in A and in a cost's last unit
    costs = np.insert(grid.costs(cuts.close), 0, value, axis=2)
    costs = np.maximum(costs - rounding, 0.0)
    ends = np.array([float(one) for one in cuts.blocks])
    gain, cost = _terms(gains, costs, first, _shares(base, ends))
    with np.errstate(divide="ignore"):
        turn = gain / cost
    order = np.argsort(-turn)
    gains, costs = (np.insert(np.cumsum(one[order]), 0, 0.0) for one in (gain, cost))
    room = _UNIT * order.size * (1.0 + runs.mean)
    close = cuts.close.tolist()
    return BestOfRuns(cuts.blocks, cuts.masses, close, turn[order], gains, costs, room)


def _terms(
    gains: Reals, costs: Reals, first: NDArray[np.intp], shares: list[list[tuple[Reals, Reals]]]
) -> tuple[Reals, Reals]:
    """Return the gains and costs of all terms with a gain."""
    terms = []
    for end, listed in enumerate(shares):
        for block, (weight, ratio) in enumerate(listed):
            used = np.append(0, np.arange(first[block] + 1, gains.shape[2]))
            gain, cost = _steps(gains[end, block, used], costs[end, block, used])
            scaled = np.outer(weight, gain), np.outer(weight * ratio, cost)
            terms.append(np.stack([one.ravel() for one in scaled]))
    gain, cost = np.concatenate(terms, axis=1)
    return gain[gain > 0.0], cost[gain > 0.0]


def _steps(gains: Reals, costs: Reals) -> Reals:
    """Return gains and costs of the steps along the convex hull, from 0 on, shape (2, n)."""
    order = np.lexsort((gains, costs))
    steps: list[tuple[float, float]] = []
    x = y = 0.0
    for gain, cost in zip(gains[order].tolist(), costs[order].tolist(), strict=True):
        if gain <= x:
            continue
        step = gain - x, cost - y
        x, y = gain, cost
        while steps and step[0] * steps[-1][1] >= steps[-1][0] * step[1]:
            last = steps.pop()
            step = step[0] + last[0], step[1] + last[1]
        steps.append(step)
    return np.array(steps).reshape(-1, 2).T


def _shares(base: NeymanPearsonCurve, cuts: Reals) -> list[list[tuple[Reals, Reals]]]:
    """Return for each end and block the shared masses of its outcomes, and their ratios."""
    middle, width, block, share = base.parts(cuts)
    starts = np.searchsorted(block, np.arange(1, cuts.size - 1))
    scale = base.ratio[base.place(middle)]
    return [
        list(zip(np.split(width * part, starts), np.split(scale, starts), strict=True))
        for part in (1.0 - share, share)
    ]


_POLYGON_CELLS = 1200  # Cells of the polygon. Heuristic.
_SHIFTED = 240  # Points of the base's profile. Heuristic.
_MIXTURE_TAIL = 1e-9  # Share of the mixture outside those points. Heuristic.
_HEIGHT_BITS = 40  # Bits of a corner's height. Heuristic.
_LARGEST_EPSILON = 500.0  # Largest epsilon that is tried. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Polygon:
    """A convex polygon below phi' o tau of one direction, the worst of its mixtures of shifts."""

    a: list[Fraction]  # 1 minus the masses of the corners, falling, exactly
    height: list[Fraction]  # of the corners, exactly
    places: list[int]  # of the known points that the cells use, counted from 1, 0 for none
    base: BaseProfile  # the known bounds
    lengths: Reals  # about, of the pieces between corners
    slopes: Reals  # likewise

    def delta(self, epsilon: float) -> float:
        """Return the mixture of shifts at epsilon."""
        heights = self.base.height(math.exp(epsilon) * self.slopes)
        return float(self.lengths @ heights) * (1 + MARGIN)

    def witness(self) -> Json:
        """Return the polygon in the certificate's JSON."""
        corners: list[Json] = [
            [show_rational(1 - a), show_rational(height)]
            for a, height in zip(self.a, self.height, strict=True)
        ]
        return {"corners": corners, "tangents": list(self.places)}


def prove_by_shifted_mixture(
    base: DominatingPair[Any], runs: RunLaw, point: Point
) -> tuple[Fraction, Fraction, list[Step], Object]:
    """Return the best point near one that the checker's bound proves, facts, and a witness."""
    near = max(_start_epsilon(product, runs, point) for product in (base.forward, base.backward))
    facts, ways = base_facts(base, runs, lambda product: _shifted(product, runs, near))
    polygons = {name: _polygon(one, runs) for name, one in ways.items()}
    epsilon, delta = proved_point(
        lambda at: max(one.delta(at) for one in polygons.values()), point, near
    )
    witness = {name: one.witness() for name, one in polygons.items()}
    return epsilon, delta, facts, {"runs": run_law(runs), **witness}


def _start_epsilon(base: Product, runs: RunLaw, point: Point) -> float:
    """Estimate the epsilon at which the mixture proves the point."""
    if not point.moves or not point.delta:
        return point.epsilon
    shifts, high = selection(base, runs).shifts, max(2.0 * point.epsilon, 1.0)

    def above(epsilon: float) -> bool:
        return bool(shifts.upper(np.array([epsilon]))[0] > point.delta)

    while above(high) and high < _LARGEST_EPSILON:
        high *= 2.0
    return bisect(above, 0.0, high, rounds=40)[1]


def _shifted(base: Product, runs: RunLaw, epsilon: float) -> Reals:
    """Return the logs of ratios at which the mixture uses the base's profile."""
    chosen = selection(base, runs)
    mixture = chosen.shifts
    parts = np.cumsum(mixture.weights * mixture.base.at(epsilon + mixture.shifts))
    ends = np.searchsorted(parts, parts[-1] * np.array([_MIXTURE_TAIL, 1.0 - _MIXTURE_TAIL]))
    first, last = mixture.shifts[np.minimum(ends, parts.size - 1)]
    return epsilon + np.linspace(max(first, -chosen.curve.end - epsilon), last, _SHIFTED)


def _polygon(base: BaseProfile, runs: RunLaw) -> Polygon:
    """Return the highest convex polygon that the checker's tangents allow."""
    exact = base.cells(runs, _POLYGON_CELLS)
    a = np.array([float(one) for one in exact])
    middle = 0.5 * (a[1:] + a[:-1])
    lines = base.lines(middle, 1.0 - middle)
    best = lines.argmax(axis=1)
    centre = lines[np.arange(best.size), best]
    z = np.clip(centre, 0.0, 1.0)
    value = runs.derivative(z)
    tilt = 0.5 * (a[:-1] - a[1:]) / base.ratio[best] * value * runs.growth(z)
    floor = float(runs.derivative(np.zeros(1))[0])  # phi'(0), below phi' whatever tau is
    flat = (centre <= 0.0) | (value - tilt <= floor)
    start, end = (np.where(flat, floor, one) for one in (value - tilt, value + tilt))
    height = np.minimum(np.append(start, end[-1]), np.insert(end, 0, start[0])) * (1 - MARGIN)
    height = np.maximum(np.minimum.accumulate(height[::-1])[::-1], 0.0)
    top = runs.derivative(1.0 - a)
    x, y = np.insert(top, 0, 0.0), np.insert(height, 0, 0.0)
    keep = hull_positions(x, y)
    convex = np.interp(x, x[keep], y[keep])[1:]
    heights = [short_down(float(one), _HEIGHT_BITS) for one in convex]
    lengths, rises = (np.diff(one, prepend=0.0) for one in (top, [float(y) for y in heights]))
    slopes = np.divide(rises, lengths, out=np.zeros_like(rises), where=rises > 0.0)
    places = np.where(flat, 0, best + 1).tolist()
    return Polygon(exact, heights, places, base, lengths, slopes)
