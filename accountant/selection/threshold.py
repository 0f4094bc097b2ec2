"""Bound the worst acceptance rule of a selection with a threshold, from above and from below.

A rule accepts mass a under P and b under Q. With g(a) = (1 - phi(1 - a))/a, the mean number of runs
made, and t = e^epsilon, Theorem 1 of proofs/theory/threshold.md bounds its divergence by

    min(g(a) H_{t g(b)/g(a)}(P|Q), 1 - phi(1 - a)) + (phi(1 - a) - t phi(1 - b))_+,

which grows with b, so b is the most that mass a allows. Above, [0, 1] is cut into cells of a, each
factor taken at the end where it is larger. That is close where epsilon is not near 0; Theorem 2,
on rectangles of the masses x and r of the best and the worst accepted outcomes, is close up to an
absolute error. Both hold, so the smaller is taken. Below, rules that accept the outcomes of
largest and of lowest loss and refuse those between are evaluated as they are.

g is the mean of phi' over [1 - a, 1], and phi' is convex: it is between phi' at the middle and the
mean of phi' at the ends. That keeps its digits where a is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from accountant.arithmetic.arrays import distinct
from accountant.arithmetic.enclosure import Reals
from accountant.pairs.product import Product
from accountant.run_counts.law import LAW_ERROR, RunLaw
from accountant.selection.finite_base import MERGED, Outcomes, curve, spread
from accountant.selection.piecewise import Corners, corners

# Above the relative error of sums of a few thousand masses that are 1e-14 wrong. Soundness depends
# on it.
_SUM_ERROR = 1e-11
_SHIFT_ERROR = 1e-12  # Above the error of a log of a ratio. Soundness depends on it.
_ULP = 3e-16  # Above the rounding of a number near 1. Soundness depends on it.
_CHANGE = 0.01  # Change of log g over a cell. Heuristic.
_ROUNDS = 24  # Most halvings of cells. Heuristic.
_MOST_CELLS = 6000  # Most cells. Heuristic.
# Numbers of outcomes accepted at the top and at the bottom that are tried. Heuristic.
_TOPS, _BOTTOMS = 160, 60
_EVEN = 160  # Rectangles along one side. Heuristic.
_NEAR = 1e-3  # Divergence below which rectangles are too coarse. Heuristic.
_BLOCK = 1 << 19  # Epsilons times cells evaluated at once, to bound memory. Heuristic.


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """For each rule, or rectangle of rules, the masses of an event and those of no output.

    Attributes:
        p: of the event.
        q: of the event.
        none_p: of no output.
        none_q: of no output.
    """

    p: Reals
    q: Reals
    none_p: Reals
    none_q: Reals

    def lower(self, epsilon: Reals) -> Reals:
        """Return lower ends at real epsilons: values of a convex function of e^epsilon, rounded."""
        return self.largest(epsilon) * (1 - _SUM_ERROR)

    def largest(self, epsilon: Reals) -> Reals:
        """Return the largest divergence, a maximum of convex functions of e^epsilon."""
        return np.concatenate([self._block(part) for part in _parts(epsilon, self.p.size)])

    def _block(self, epsilon: Reals) -> Reals:
        """Return the largest divergence at a few epsilons."""
        t = np.exp(epsilon)[:, None]
        event = np.maximum(self.p - t * self.q, 0.0)
        none = np.maximum(self.none_p - t * self.none_q, 0.0)
        return np.asarray((event + none).max(axis=1))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ceiling:
    """The upper ends: factors for each cell of a, by Theorem 1, and rectangles, by Theorem 2.

    Attributes:
        base: the base's profile from above.
        gain: g(a), at most.
        shift: log g(b)/g(a), at least.
        released: 1 - phi(1 - a), at most.
        none_p: phi(1 - a) at both ends of the cell, at most: shape (2, cells).
        none_q: an affine function below phi(1 - b) at both ends: shape (2, cells).
        rectangles: each with its largest divergence.
    """

    base: Corners
    gain: Reals
    shift: Reals
    released: Reals
    none_p: Reals
    none_q: Reals
    rectangles: Rules

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends of the divergence at epsilons from 0 to 600."""
        parts = _parts(epsilon, self.gain.size)
        by_cells = np.concatenate([self._block(part) for part in parts])
        near = by_cells > _NEAR
        if near.any():
            other = self.rectangles.largest(epsilon[near]) * (1 + _SUM_ERROR)
            by_cells[near] = np.minimum(by_cells[near], other)
        return by_cells

    def _block(self, epsilon: Reals) -> Reals:
        """Return the bound by cells at a few epsilons."""
        event = np.minimum(self.gain * self.base.at(epsilon[:, None] + self.shift), self.released)
        t = np.exp(epsilon)[:, None]
        ends = [p - t * q for p, q in zip(self.none_p, self.none_q, strict=True)]
        none = np.maximum(np.maximum(*ends), 0.0)
        return np.asarray(np.minimum((event + none).max(axis=1) * (1 + _SUM_ERROR), 1.0))


def _parts(epsilon: Reals, size: int) -> list[Reals]:
    """Return epsilons in parts, to bound memory."""
    return np.array_split(epsilon, max(1, epsilon.size * size // _BLOCK))


@lru_cache(maxsize=32)
def ceiling(base: Product, runs: RunLaw) -> Ceiling:
    """Return upper ends for a base and a law, cached."""
    found = curve(base)
    return ceiling_of(found.above(*found.size, every=MERGED), runs)


@lru_cache(maxsize=32)
def floor(base: Product, runs: RunLaw) -> Rules:
    """Return lower ends for a base and a law, cached."""
    found = curve(base)
    return floor_of(found.below(*found.size), runs)


def ceiling_of(above: Outcomes, runs: RunLaw) -> Ceiling:
    """Return upper ends for a base dominated by ``above``.

    The vertices of the most b that a allows cut the cells.
    """
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
        _rectangles(cells, runs),
    )


def _rectangles(cells: Outcomes, runs: RunLaw) -> Rules:
    """Return rectangles of the mass x of the best outcomes and r of the worst ones.

    Each is between two neighbouring values.
    """
    size = cells.p.size
    top, bottom = (_from_top(cells.p), _from_top(cells.q)), _from_bottom(cells)
    best, worst = _even(*top, runs), _even(*bottom, runs)
    i, j = (one.ravel() for one in np.meshgrid(best[:-1], worst[:-1]))
    far_i, far_j = (one.ravel() for one in np.meshgrid(best[1:], worst[1:]))
    possible = i + j <= size
    i, j, far_i, far_j = i[possible], j[possible], far_i[possible], far_j[possible]

    def left(mass: Reals, sign: float) -> Reals:
        return np.asarray(np.clip(1.0 - mass + sign * _SUM_ERROR, 0.0, 1.0))

    gained, lost = top[0][far_i] + bottom[0][j], top[1][i] + bottom[1][far_j]
    gained, lost = np.minimum(gained, 1.0), np.minimum(lost, 1.0)
    return Rules(
        top[0][far_i] * most_runs(runs, gained, left(gained, -1.0)) * (1 + _SUM_ERROR),
        top[1][i] * least_runs(runs, lost, left(lost, 1.0)) * (1 - _SUM_ERROR),
        _none(runs, left(top[0][i] + bottom[0][j], 1.0), 1.0),
        _none(runs, left(top[1][far_i] + bottom[1][far_j], -1.0), -1.0),
    )


def _even(p: Reals, q: Reals, runs: RunLaw) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return positions at which the probability that some run falls there grows by equal steps."""
    some = -sum((runs.pgf(np.clip(1.0 - mass, 0.0, 1.0)) for mass in (p, q)), np.zeros(p.size))
    at = np.searchsorted(some, np.linspace(some[0], some[-1], _EVEN))
    return distinct(np.concatenate([[0], np.minimum(at, p.size - 1), [p.size - 1]]))


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


def floor_of(below: Outcomes, runs: RunLaw) -> Rules:
    """Return lower ends for a base that dominates ``below``."""
    size = below.p.size
    bottom, top = _from_bottom(below), (_from_top(below.p), _from_top(below.q))
    i, j = (grid.ravel() for grid in np.meshgrid(spread(size, _TOPS), spread(size, _BOTTOMS)))
    i, j = i[i + j <= size], j[i + j <= size]
    masses, lefts, blurs = [], [], []
    for low, high in zip(bottom, top, strict=True):
        masses.append(high[i] + low[j])
        lefts.append(np.maximum(high[size - j] - high[i], 0.0))
        blurs.append(_SUM_ERROR * high[size - j])
    p = top[0][i] * least_runs(runs, masses[0], lefts[0] + blurs[0])
    q = top[1][i] * most_runs(runs, masses[1], np.maximum(lefts[1] - blurs[1], 0.0))
    return Rules(
        p * (1 - _SUM_ERROR),
        q * (1 + _SUM_ERROR),
        _none(runs, np.maximum(lefts[0] - blurs[0], 0.0), -1.0),
        _none(runs, lefts[1] + blurs[1], 1.0),
    )


def most_runs(runs: RunLaw, mass: Reals, left: Reals) -> Reals:
    """Return an upper bound of g(mass), from a mass exact but for rounding.

    ``left`` is a lower bound of 1 - mass.
    """
    low, less = left * (1 - _SUM_ERROR), mass * (1 - _SUM_ERROR)
    high = np.clip(1.0 - less + _ULP, 0.0, 1.0)
    ends = 0.5 * (runs.mean + runs.derivative(high)) * (1 + LAW_ERROR)
    with np.errstate(divide="ignore"):
        direct = (1.0 - runs.pgf(low) * (1 - LAW_ERROR)) / less
    return np.asarray(np.minimum(ends, direct) * (1 + _SUM_ERROR))


def least_runs(runs: RunLaw, mass: Reals, left: Reals) -> Reals:
    """Return a lower bound of g(mass), from a mass exact but for rounding.

    ``left`` is an upper bound of 1 - mass.
    """
    high, more = np.minimum(left * (1 + _SUM_ERROR), 1.0), mass * (1 + _SUM_ERROR)
    middle = runs.derivative(np.clip(1.0 - 0.5 * more - _ULP, 0.0, 1.0)) * (1 - LAW_ERROR)
    direct = (1.0 - runs.pgf(high) * (1 + LAW_ERROR)) / np.maximum(more, 1e-300)
    return np.asarray(np.maximum(middle, direct) * (1 - _SUM_ERROR))


def _none(runs: RunLaw, left: Reals, sign: float) -> Reals:
    """Return phi(1 - mass), rounded up for sign 1, down for sign -1."""
    moved = np.minimum(left * (1 + sign * _SUM_ERROR), 1.0)
    return np.asarray(runs.pgf(moved) * (1 + sign * _SUM_ERROR))


def _from_top(masses: Reals) -> Reals:
    """Return masses of the first outcomes, from none of them to all."""
    return np.concatenate([[0.0], np.cumsum(masses)])


def _from_bottom(cells: Outcomes) -> tuple[Reals, Reals]:
    """Return masses of the outcomes of lowest loss, from none of them to all.

    Q's masses include that of outcomes without mass under P.
    """
    return _from_top(cells.p[::-1]), cells.unseen + _from_top(cells.q[::-1])
