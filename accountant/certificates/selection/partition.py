"""Choose where outcomes, and the masses below them, are cut for the checker's sum.

Masses lie evenly where phi'(c) and phi'(A(c)) change; blocks are halved if that lowers the sum most
at some ratios t. Heuristic: all constants; poor cuts make a larger bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.selection.base_profile import evenly
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve
from dpproof.proofs.limits import TANGENT_BITS

# A point near 0 for the slope of phi', and the relative rounding. Heuristic: the checker decides.
_NEAR, _SLIP = 1e-9, 1e-6


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """Gains and costs of some blocks; the first axis is a block's beginning and end.

    ``first`` is the first mass at or after each block, ``beside`` the cost there. ``gains`` are
    phi'(x - k), (2, blocks, masses); ``plane`` costs by tangents, (2, 2, blocks, masses - 1), the
    second axis the cell's ends; ``chord`` costs by chords at the cells' ends. Before the first mass
    they are infinite.
    """

    first: NDArray[np.intp]
    gains: Reals
    beside: Reals
    plane: Reals
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
        """Return the least costs, (2, blocks, masses), with chords of ``close`` cells."""
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
        """Return the largest gain less scaled cost at either end, by the cells with chords."""
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
    """Return r^(n-1) for at most n runs, else 0, r the slopes of A's chords from starts to x."""
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
    """The ends of blocks and cells, the cells with chords after each block, and the grid."""

    blocks: list[Fraction]
    masses: list[Fraction]
    close: NDArray[np.intp]
    grid: Grid

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
    """The approximate sum for some cuts: grid, widths of blocks, and ratios at their ends."""

    grid: Grid
    width: Reals
    slope: Reals

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
    """Return masses at which log phi' of c and A(c) change evenly, and few outcomes' ends."""
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
