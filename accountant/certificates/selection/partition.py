"""Choose where outcomes, and the masses below them, are cut for the checker's sum.

Masses lie evenly where phi'(c) and phi'(A(c)) change; blocks are halved if that lowers the sum most
at some ratios t. Heuristic: all constants; poor cuts make a larger bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.selection.base_profile import evenly
from dpproof.accountant.certificates.selection.cell_bounds import Grid
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.neyman_pearson import NeymanPearsonCurve

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
    """The ends of blocks and cells.

    Attributes:
        blocks: of outcomes by falling loss, from 0 to 1.
        masses: from 0 to 1.
        close: for each block, of how many cells after it chords bound A better than tangents.
        grid: what they bound.
    """

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
    """The approximate sum for some cuts.

    Attributes:
        grid: what they bound.
        width: of the blocks.
        slope: ratios of the outcomes at both ends of the blocks, shape (2, blocks).
    """

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
    """Return masses at which the logs of phi' change evenly, and few outcomes' ends.

    These are log phi'(c) and log phi'(A(c)).
    """
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
