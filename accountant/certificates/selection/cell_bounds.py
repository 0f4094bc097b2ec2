"""Bound gains and costs on a grid of blocks of outcomes and cells of masses, as the checker does.

In proofs/theory/selection.md, Section 7: for every block and cell the gains phi'(x - k) and bounds
of the costs phi'(A(x) - A(k)), by tangents of phi' above lines below A, or by chords of A.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.neyman_pearson import NeymanPearsonCurve

# A point near 0 for the slope of phi', and the relative rounding. Heuristic: the checker decides.
_NEAR, _SLIP = 1e-9, 1e-6


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """Gains and costs of some blocks; the first axis is a block's beginning and end.

    Attributes:
        first: the first mass at or after each block.
        gains: phi'(x - k), shape (2, blocks, masses).
        beside: the cost at the first mass, shape (2, blocks).
        plane: costs by tangents at the beginnings and ends of the cells, shape (2, 2, blocks,
            masses - 1), the second axis the cell's; infinite before the first mass.
        chord: costs by chords at the ends of the cells, shape (2, blocks, masses - 1), likewise.
    """

    first: NDArray[np.intp]
    gains: Reals
    beside: Reals
    plane: Reals
    chord: Reals

    @staticmethod
    def of(runs: RunLaw, base: NeymanPearsonCurve, x: Reals, cuts: Reals) -> Grid:
        """Return the bounds of the blocks between some cuts, for masses x from 0 to 1."""
        known, first = base.under(cuts), np.searchsorted(x, cuts[1:])
        ends = np.array([[cuts[:-1], known[:-1]], [cuts[1:], known[1:]]])
        used = np.arange(x.size - 1) >= first[:, None]
        gains = runs.derivative(np.clip(x - ends[:, 0, :, None], 0.0, 1.0))
        beside = _beside(runs, base, cuts[:-1], x[first] - ends[:, 0])
        plane = np.where(used, _planes(runs, base, x, ends[:, 1]), math.inf)
        share = _chords(runs, x[:-1], base.under(x[:-1]), ends[0])
        chord = np.where(used & (share > 0.0), share * gains[:, :, 1:], math.inf)
        chord = np.where(used & (share <= 0.0), 0.0, chord)
        return Grid(first, gains, beside, plane, chord)

    def costs(self, close: NDArray[np.intp]) -> Reals:
        """Return the least costs of the masses, shape (2, blocks, masses).

        Args:
            close: for each block, of how many cells after it chords bound A.
        """
        cell = np.arange(self.plane.shape[3])
        near = cell < (self.first + close)[:, None]
        start = np.where(near, math.inf, self.plane[:, 0])
        end = np.where(near, self.chord, self.plane[:, 1])
        none = np.full((2, self.first.size, 1), math.inf)
        found = np.minimum(
            np.concatenate([start, none], axis=2), np.concatenate([none, end], axis=2)
        )
        row = np.arange(self.first.size)
        found[:, row, self.first] = np.minimum(found[:, row, self.first], self.beside)
        return np.asarray(found)

    def largest(self, scale: Reals) -> Reals:
        """Return the largest gain less cost at either end, by the number of cells with chords.

        Args:
            scale: of the costs, shape (2, blocks).

        Returns:
            Shape (2, blocks, masses), the last axis up to which cell there are chords.
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
    found = float(runs.derivative(np.zeros(1))[0]) + _bend(runs) * slopes * near
    if runs.largest is None:
        return np.asarray(found)
    share = np.minimum(slopes, 1.0) ** (runs.largest - 1) * (1 - _SLIP)
    other = share * runs.derivative(np.clip(near, 0.0, 1.0))
    return np.where(other[0] > found[0], other, found)


def _bend(runs: RunLaw) -> float:
    """Return a lower bound of phi'' at 0."""
    near = runs.derivative(np.array([0.0, _NEAR]))
    if near[0] > 0.0:
        return float(near[0] * runs.growth(np.zeros(1))[0])
    return float(near[1] / _NEAR) * (1 - _SLIP)


def _planes(runs: RunLaw, base: NeymanPearsonCurve, x: Reals, known: Reals) -> Reals:
    """Return tangents of phi' above the lines of the outcomes in the middle of the cells.

    Args:
        runs: their number.
        base: A.
        x: the ends of the cells.
        known: A at the beginnings and ends of the blocks.
    """
    at = base.place(0.5 * (x[1:] + x[:-1]))
    line = [base.least[at] + base.ratio[at] * (one - base.k[at]) for one in (x[:-1], x[1:])]
    inside = known[:, :, None]
    lowest = runs.derivative(np.zeros(1))[0]
    middle, low = 0.5 * (line[0] + line[1]) - inside.mean(axis=0), line[0] - inside[1]
    plane = _plane(runs, middle, line, inside)
    plane = np.where(plane[1, 0] >= lowest, plane, _plane(runs, low, line, inside))
    start = base.under(x[:-1])
    other = [start, start + base.ratio[base.place(x[:-1])] * np.diff(x)]
    return np.where(plane[1, 0] >= 0.0, plane, _plane(runs, start - inside[1], other, inside))


def _plane(runs: RunLaw, z: Reals, line: Sequence[Reals], inside: Reals) -> Reals:
    """Return the tangent of phi' at z, at both ends of the rows and of the cells."""
    z = np.clip(z, 0.0, 1.0)
    value = runs.derivative(z)
    tilt = value * runs.growth(z)
    return np.array([[value + tilt * (one - known - z) for one in line] for known in inside])


def _chords(runs: RunLaw, x: Reals, least: Reals, starts: Reals) -> Reals:
    """Return r^(n-1) for at most n runs, r the slopes of A's chords from the blocks' starts to x.

    The shape is (blocks, x.size); it returns 0 if the number of runs is unbounded.
    """
    if runs.largest is None:
        return np.zeros((starts.shape[1], x.size))
    rise, run = (one - mine[:, None] for one, mine in ((least, starts[1]), (x, starts[0])))
    slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0.0)
    return np.asarray(np.clip(slope, 0.0, 1.0) ** (runs.largest - 1) * (1 - _SLIP))
