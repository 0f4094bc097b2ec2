"""Bound the worst acceptance rule of a selection with a threshold, from above and from below.

A rule accepts mass a under P and b under Q. With g(a) = (1 - phi(1 - a))/a, the mean number of runs
made, and t = e^epsilon, Theorem 1 of proofs/theory/threshold.md bounds its divergence by

    min(g(a) H_{t g(b)/g(a)}(P|Q), 1 - phi(1 - a)) + (phi(1 - a) - t phi(1 - b))_+,

which grows with b, so b is the most that mass a allows. Above, [0, 1] is cut into cells of a, each
factor taken at the end where it is larger: that keeps its relative error at the smallest
divergences. Theorem 2 as lines (``threshold_lines.py``) is of second order in its cells. Both hold,
so the smaller is taken. Below, rules that accept the outcomes of largest and of lowest loss and
refuse those between are evaluated as they are.

g is the mean of phi' over [1 - a, 1], and phi' is convex: it is between phi' at the middle and the
mean of phi' at the ends. That keeps its digits where a is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.convex_profile import Positions
from dpproof.accountant.arithmetic.enclosure import Reals, distinct
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import (
    MERGED,
    Corners,
    Outcomes,
    corners,
    curve,
    spread,
)
from dpproof.accountant.selection.threshold_lines import (
    Lines,
    Score,
    least_runs,
    lines_above,
    most_runs,
)

# Above the relative error of sums of a few thousand masses that are 1e-14 wrong. Soundness depends
# on it.
_SUM_ERROR = 1e-11
_SHIFT_ERROR = 1e-12  # Above the error of a log of a ratio. Soundness depends on it.
_CHANGE = 0.01  # Change of log g over a cell. Heuristic.
_ROUNDS = 24  # Most halvings of cells. Heuristic.
_MOST_CELLS = 6000  # Most cells. Heuristic.
# Numbers of outcomes accepted at the top and at the bottom that are tried. Heuristic.
_TOPS, _BOTTOMS = 1000, 400
_RESOLVED = 1e-7  # Divergence, over t, from which lines keep their digits. Heuristic.
_HEAVY = 1e-4  # Mass above which an outcome is cut. Heuristic.
_FEW = 300, 150  # The same where one question is asked. Heuristic.
_BLOCK = 1 << 19  # Epsilons times cells evaluated at once, to bound memory. Heuristic.


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ceiling:
    """The upper ends: by cells of a (Theorem 1), and by rectangles (Theorem 2).

    ``gain`` is at least g(a), ``shift`` at most log g(b)/g(a), ``released`` at least
    1 - phi(1 - a). At both ends of a cell ``none_p`` is at least phi(1 - a), and ``none_q`` affine
    below phi(1 - b).
    """

    base: Corners
    gain: Reals
    shift: Reals
    released: Reals
    none_p: Reals
    none_q: Reals
    lines: Lines

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends at epsilons from 0 to 600; by cells, too, where lines blur."""
        bound = self.lines.upper(epsilon)
        small = np.flatnonzero(bound < _RESOLVED * np.exp(epsilon))
        for part in np.array_split(small, 1 + small.size * self.gain.size // _BLOCK):
            bound[part] = np.minimum(bound[part], self._block(epsilon[part]))
        return bound

    def _block(self, epsilon: Reals) -> Reals:
        """Return the bound by cells at a few epsilons."""
        event = np.minimum(self.gain * self.base.at(epsilon[:, None] + self.shift), self.released)
        t = np.exp(epsilon)[:, None]
        ends = [p - t * q for p, q in zip(self.none_p, self.none_q, strict=True)]
        none = np.maximum(np.maximum(*ends), 0.0)
        return np.asarray(np.minimum((event + none).max(axis=1) * (1 + _SUM_ERROR), 1.0))


@lru_cache(maxsize=32)
def ceiling(base: Product, runs: RunLaw) -> Ceiling:
    """Return upper ends for a base and a law, cached."""
    base_curve = curve(base)
    return ceiling_of(base_curve.above(*base_curve.size, every=MERGED), runs)


@lru_cache(maxsize=32)
def floor(base: Product, runs: RunLaw) -> Lines:
    """Return lower ends for a base and a law, cached."""
    return floor_of(split_below(base), runs)


def split_below(base: Product) -> Outcomes:
    """Return outcomes that the base dominates, heavy ones cut by coins of their own.

    A part of an outcome may be accepted: a score may look at a coin that comes with the output.
    """
    base_curve = curve(base)
    below = base_curve.below(*base_curve.size)
    heavy = np.maximum(below.p, below.q)
    return below.pieces(np.maximum(np.ceil(heavy / _HEAVY), 1).astype(np.intp))


def ceiling_of(above: Outcomes, runs: RunLaw) -> Ceiling:
    """Return upper ends, by cells between vertices of the most b that a allows."""
    cells = above
    for _ in range(_ROUNDS):
        p, q = _from_bottom(cells)
        logs = [np.log(runs.derivative(np.clip(1.0 - 0.5 * mass, 0.0, 1.0))) for mass in (p, q)]
        wide = np.maximum(*(-np.diff(one) for one in logs))[::-1] > _CHANGE
        if not wide.any() or cells.p.size > _MOST_CELLS:
            break
        cells = cells.pieces(np.where(wide, 2, 1))
    p, q = _from_bottom(cells)
    left_p, left_q = _from_top(cells.p)[::-1], _from_top(cells.q)[::-1]
    near, far = slice(None, -1), slice(1, None)
    gain = most_runs(runs, p[near], left_p[near])
    least = least_runs(runs, q[far], left_q[far])
    with np.errstate(divide="ignore"):
        shift = np.log(least) - np.log(gain) - _SHIFT_ERROR
    return Ceiling(
        corners(above),
        gain,
        shift,
        1.0 - _none(runs, left_p[far], -1.0),
        np.stack([_none(runs, left_p[part], 1.0) for part in (near, far)]),
        _affine(runs, cells, left_q[far]),
        lines_above(above, runs),
    )


def _affine(runs: RunLaw, cells: Outcomes, left: Reals) -> Reals:
    """Return tangents of phi at 1 - b of the cells' right ends, at both ends; phi is convex.

    On the last cell both masses not accepted fall to 0 in proportion, and with at most n runs phi(r
    x) is at least r^n phi(x) for r <= 1: there phi(x) - t phi(r x) <= phi(x)(1 - t r^n).
    """
    tangent = _none(runs, left, -1.0)
    slope = runs.derivative(left * (1 - _SUM_ERROR)) * (1 - _SUM_ERROR)
    ahead = tangent + slope * cells.q[::-1] * (1 - _SUM_ERROR)
    if runs.largest is not None and math.isfinite(cells.loss[0]):
        power = math.exp(min(-runs.largest * (float(cells.loss[0]) + _SUM_ERROR), 0.0))
        ahead[-1] = max(ahead[-1], power * float(_none(runs, cells.p[:1], -1.0)[0]))
    return np.stack([ahead, tangent])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Rules that accept some outcomes of largest and some of lowest loss, as they are.

    ``top`` and ``bottom``: masses of the first and of the last outcomes, under P and under Q.
    """

    base: Outcomes
    runs: RunLaw
    top: tuple[Reals, Reals]
    bottom: tuple[Reals, Reals]

    @staticmethod
    def of(below: Outcomes, runs: RunLaw) -> Rules:
        """Return the rules for a base that dominates ``below``."""
        return Rules(below, runs, (_from_top(below.p), _from_top(below.q)), _from_bottom(below))

    def lines(self, i: Positions, j: Positions) -> tuple[Reals, Reals]:
        """Return lines p - t q below divergences, of i first and j last outcomes: (3, n)."""
        runs, size = self.runs, self.base.p.size
        masses, lefts, blurs = [], [], []
        for low, high in zip(self.bottom, self.top, strict=True):
            masses.append(high[i] + low[j])
            lefts.append(np.maximum(high[size - j] - high[i], 0.0))
            blurs.append(_SUM_ERROR * high[size - j])
        p = self.top[0][i] * least_runs(runs, masses[0], lefts[0] + blurs[0])
        q = self.top[1][i] * most_runs(runs, masses[1], np.maximum(lefts[1] - blurs[1], 0.0))
        p, q = p * (1 - _SUM_ERROR), q * (1 + _SUM_ERROR)
        none_p = _none(runs, np.maximum(lefts[0] - blurs[0], 0.0), -1.0)
        none_q = _none(runs, lefts[1] + blurs[1], 1.0)
        return np.stack([p, p + none_p, none_p]), np.stack([q, q + none_q, none_q])

    def best(self, score: Score) -> float:
        """Return the largest score of some lines: of a grid, then of finer ones around the best."""
        size = self.base.p.size
        i, j = (spread(size, count) for count in _FEW)
        while True:
            one, other = (grid.ravel() for grid in np.meshgrid(i, j))
            one, other = one[one + other <= size], other[one + other <= size]
            scores = score(*self.lines(one, other)).max(axis=0)
            best = int(scores.argmax())
            gaps = int(np.diff(i).max(initial=1)), int(np.diff(j).max(initial=1))
            if max(gaps) == 1:
                return float(scores[best])
            i, j = (
                _around(int(place), gap, size)
                for place, gap in zip((one[best], other[best]), gaps, strict=True)
            )


def _around(place: int, gap: int, size: int) -> Positions:
    """Return positions within two gaps of a place, and it."""
    first, last = max(place - 2 * gap, 0), min(place + 2 * gap, size)
    return distinct(np.append(np.arange(first, last + 1, max(gap // 8, 1)), [place, last]))


def floor_of(below: Outcomes, runs: RunLaw) -> Lines:
    """Return lower ends for a base that dominates ``below``."""
    size = below.p.size
    i, j = (grid.ravel() for grid in np.meshgrid(spread(size, _TOPS), spread(size, _BOTTOMS)))
    p, q = Rules.of(below, runs).lines(i[i + j <= size], j[i + j <= size])
    return Lines.of(p.ravel(), q.ravel())


def _none(runs: RunLaw, left: Reals, sign: float) -> Reals:
    """Return phi(1 - mass), rounded up for sign 1, down for sign -1."""
    moved = np.minimum(left * (1 + sign * _SUM_ERROR), 1.0)
    return np.asarray(runs.pgf(moved) * (1 + sign * _SUM_ERROR))


def _from_top(masses: Reals) -> Reals:
    """Return masses of the first outcomes, from none of them to all."""
    return np.concatenate([[0.0], np.cumsum(masses)])


def _from_bottom(cells: Outcomes) -> tuple[Reals, Reals]:
    """Return masses of the outcomes of lowest loss, from none to all; Q's hold what P never has."""
    return _from_top(cells.p[::-1]), cells.unseen + _from_top(cells.q[::-1])
