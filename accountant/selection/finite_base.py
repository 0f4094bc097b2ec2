"""The base of a selection as finitely many outcomes, in the order of their loss.

A base is known by its profile, so it is replaced by a finite pair that dominates it (for upper
ends) and by one that it dominates (for lower ends), both from the profile's ends on one grid.
Heuristic: the grid, and so all constants here.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic import convex_profile
from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.convex_profile import Positions, ProfileHalf
from dpproof.accountant.arithmetic.enclosure import Reals, distinct
from dpproof.accountant.engine.lattice import common_lattice
from dpproof.accountant.engine.profile import (
    closed_form,
    deltas,
    epsilon_above,
    infinite_mass,
    max_loss,
)
from dpproof.accountant.engine.saddle_point import around
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.product import Product

# Parts of the grid: the mass at which each ends, its points, and the width of log delta above which
# a contour is aimed. What lies further out adds less to an answer.
_PARTS = ((1e-12, 3000, 1e-5), (1e-16, 400, 1e-4), (1e-22, 250, 1e-2), (1e-130, 250, 0.3))
_FAINT = 1e-17  # Mass below which an estimate of where it lies is enough. Heuristic.
MERGED = 2  # Points of the profile for an outcome of a pair above. Heuristic.
_FULL = 1600  # Points up to which each is taken: those of a lattice alternate. Heuristic.
# Masses tried instead if the engine cannot resolve a tail so far out.
_NEARER = (1e-80, 1e-50, 1e-35, 1e-25, 1e-20, 1e-15)
_SHORT = 1e-6  # Relative length of the last cell, and of a part of the grid that is left out.
_NEXT = 1.5  # Grid steps between neighbours that are close. Heuristic.
_GATHERED = 3  # Most close neighbours that are taken together. Heuristic.
_ABOVE = 1.001  # Factor above the infinite mass at which the profile counts as constant.
# Rows of points that are asked for the end of a profile, and points of each. Heuristic.
_ROWS, _ROW = 9, 33
_APART = 1e-9  # Least relative distance of grid points.
_FARTHEST = 600.0  # Largest loss, so that e^loss is representable as a float. Exceeding it raises.


@final
@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes of masses p and q by falling loss, and Q's mass ``unseen`` where P has none.

    The first may have no mass under Q, and a loss of +inf.
    """

    p: Reals
    q: Reals
    loss: Reals
    unseen: float

    def pieces(self, counts: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Outcomes:
        """Return the outcomes, each cut into equal parts by coins independent of the data."""
        return Outcomes(
            np.repeat(self.p / counts, counts),
            np.repeat(self.q / counts, counts),
            np.repeat(self.loss, counts),
            self.unseen,
        )

    def gathered(self, apart: float) -> Outcomes:
        """Return the outcomes, a few closer than ``apart`` as one, which is post-processing.

        So few of them, with none beside, are what a grid makes of one loss between its points.
        """
        with np.errstate(invalid="ignore"):
            far = np.append(True, ~(-np.diff(self.loss) <= apart))
        size = np.diff(np.append(np.flatnonzero(far), far.size))
        at = np.flatnonzero(far | np.repeat(size > _GATHERED, size))
        p, q = (np.add.reduceat(one, at) for one in (self.p, self.q))
        alone = np.diff(np.append(at, far.size)) == 1
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.where(alone | (p == 0.0) | (q == 0.0), self.loss[at], np.log(p / q))
        return Outcomes(p, q, loss, self.unseen)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The ends of a profile on a grid at and above epsilon = 0, in both directions."""

    forward: ProfileHalf
    backward: ProfileHalf

    def above(self, right: int, left: int, *, every: int = 1) -> Outcomes:
        """Return a pair that dominates, of losses among the first points of either side."""
        sides = _first(self.forward, right, every), _first(self.backward, left, every)
        return _sorted(convex_profile.above(*sides)[0])

    def below(self, right: int, left: int) -> Outcomes:
        """Return a dominated pair, with losses among the first few points on either side."""
        sides = _first(self.forward, right), _first(self.backward, left)
        apart = _NEXT * max(float(one.loss[1]) for one in sides)
        return _sorted(convex_profile.below(*sides)[0]).gathered(apart)

    @property
    def size(self) -> tuple[int, int]:
        """Return the number of points on the right and on the left."""
        return self.forward.loss.size, self.backward.loss.size

    @property
    def end(self) -> float:
        """Return the largest loss of the grid."""
        return float(self.forward.loss[-1])


def _first(side: ProfileHalf, count: int, every: int = 1) -> ProfileHalf:
    """Return the first points of a side, at least two."""
    count = min(max(count, 2), side.loss.size)
    every = every if count > _FULL else 1
    at = distinct(np.append(np.arange(0, count, every), [count - 2, count - 1]))
    return ProfileHalf(side.loss[at], side.lower[at], side.upper[at], side.rest)


def _sorted(atoms: Atoms) -> Outcomes:
    """Return the outcomes of a pair by falling loss."""
    with np.errstate(under="ignore"):
        p, q = np.exp(atoms.log_p[::-1]), np.exp((atoms.log_p - atoms.loss)[::-1])
    loss = atoms.loss[::-1]
    if atoms.infinite_mass > 0.0:
        p, q = np.insert(p, 0, atoms.infinite_mass), np.insert(q, 0, 0.0)
        loss = np.insert(loss, 0, math.inf)
    return Outcomes(p, q, loss, atoms.missing_mass)


def curve(product: Product) -> Curve:
    """Return the profile on a grid, dense where its mass is; the rest is negligible."""
    return Curve(_side(product), _side(product.swapped()))


@lru_cache(maxsize=64)
def _side(product: Product) -> ProfileHalf:
    """Return one side of the profile on its grid."""
    ends = [_reach(product, mass) for mass, _, _ in _PARTS]
    parts: list[tuple[Reals, Reals, Reals]] = []
    start = 0.0
    for place, (_, count, wide) in enumerate(_PARTS):
        rest = max(ends[place:])
        end = rest if rest <= ends[place] * (1 + _SHORT) else ends[place]
        if end <= start * (1 + _SHORT):
            continue
        # A table drops the cell next to a corner, so the one next to the largest loss is short.
        grid = _corner_grid(product, start, end, count)
        loss = distinct(np.append(grid, (1.0 - _SHORT) * end))
        loss = loss[np.append(np.diff(loss) > _APART * end, True)]
        loss = loss[loss > start] if parts else loss
        parts.append((loss, *deltas(product, loss, wide)))
        start = end
    loss, lower, upper = (np.concatenate(each) for each in zip(*parts, strict=True))
    lower, upper = np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)
    return ProfileHalf(loss, lower, upper, infinite_mass(product.below()).lower)


def _corner_grid(product: Product, start: float, end: float, count: int) -> Reals:
    """Return losses between two ends, on a lattice's points and midway if those are few.

    Between its points a profile is linear in e^epsilon, and two points on a line extend it.
    """
    lattice = common_lattice(product, 0.0)
    if lattice is None or 4.0 * (end - start) > count * lattice.span:
        return np.linspace(start, end, count)
    first = math.floor((start - lattice.offset) / lattice.span) + 1
    many = max(math.floor((end - lattice.offset) / lattice.span) - first + 1, 0)
    inside = lattice.offset + lattice.span * (first + np.arange(many))
    ends = distinct(np.concatenate([[start], inside[(start < inside) & (inside < end)], [end]]))
    return np.sort(np.concatenate([ends, 0.5 * (ends[1:] + ends[:-1])]))


def _reach(product: Product, delta: float) -> float:
    """Return a loss beyond which the profile is at most delta, or constant.

    Where the engine resolves no tail so far out it is nearer: what is beyond counts as infinite.
    """
    top = max_loss(product)
    mass = infinite_mass(product.above())
    end = math.inf
    for tail in (delta, *(one for one in _NEARER if one > delta)):
        least = max(tail, mass.upper * (_ABOVE if mass.upper > tail else 1e3))
        with contextlib.suppress(NotCertified):
            far = _estimate(product, least) or epsilon_above(product, least) if least < 1.0 else 0.0
            end = min(far, max(top, 0.0))
            break
    if not end <= _FARTHEST:
        raise NotCertified(
            f"selection needs the base's losses up to {end:g}, at most {_FARTHEST:g} can be "
            "resolved; use more noise, or compose the runs instead of selecting"
        )
    return max(_sharpened(product, end, delta), 1e-8)


def _estimate(product: Product, delta: float) -> float | None:
    """Estimate where the profile falls to a negligible delta by the saddle; None if it is not."""
    above = product.above().bundled()
    if delta > _FAINT or closed_form(above) or infinite_mass(above).upper > 0.0:
        return None
    target = math.log(delta)
    _, epsilon, height = around(above, lambda one: target - one.log_delta)
    return epsilon if abs(height - target) < 1.0 and epsilon > 0.0 else None


def _sharpened(product: Product, end: float, delta: float) -> float:
    """Return where the profile falls to delta, from a number above it that a table rounds up.

    A largest loss with a mass is a corner: next to it, not at it, a table below would lose much.
    """
    alone = closed_form(product)
    if alone is None or not alone.is_quick or alone.profile(np.zeros(1)) is None:
        return end

    low, high = 0.0, end
    if deltas(product, np.array([end]))[1][0] > delta:
        return end
    for _ in range(_ROWS):
        row = np.linspace(low, high, _ROW)
        over = np.flatnonzero(deltas(product, row[1:-1])[1] > delta)
        place = 2 + int(over[-1]) if over.size else 1  # the least point after all above delta
        low, high = float(row[place - 1]), float(row[place])
    return high


def spread(last: int, count: int) -> Positions:
    """Return so many integers from 0 to the last, evenly spaced, or all of them."""
    return distinct(np.linspace(0, last, count).astype(np.intp))


@final
@dataclass(frozen=True, slots=True, eq=False)
class NeymanPearsonCurve:
    """The least mass A(k) under Q of an event of mass k under P, at corners, and its slopes."""

    k: Reals
    least: Reals
    ratio: Reals

    @staticmethod
    def of(outcomes: Outcomes) -> NeymanPearsonCurve:
        """Return the curve of a pair."""
        with np.errstate(under="ignore"):
            ratio = np.maximum.accumulate(np.exp(-outcomes.loss) * (1 - 1e-15))
        p, q = (np.concatenate([[0.0], np.cumsum(one)]) for one in (outcomes.p, outcomes.q))
        return NeymanPearsonCurve(p, q, ratio)

    def under(self, k: Reals) -> Reals:
        """Return A(k)."""
        return np.interp(k, self.k, self.least)

    def place(self, k: Reals) -> NDArray[np.intp]:
        """Return the positions of the outcomes after some masses."""
        index = np.searchsorted(self.k, k, side="right") - 1
        return np.clip(index, 0, self.ratio.size - 1)

    def before(self, k: Reals) -> NDArray[np.intp]:
        """Return the positions of the outcomes before some masses above 0."""
        return np.clip(np.searchsorted(self.k, k) - 1, 0, self.ratio.size - 1)

    def parts(self, cuts: Reals) -> tuple[Reals, Reals, NDArray[np.intp], Reals]:
        """Return the parts of outcomes between cuts: middles, widths, blocks, shares passed."""
        every = np.union1d(np.clip(self.k, 0.0, 1.0), cuts)
        middle, width = 0.5 * (every[1:] + every[:-1]), np.diff(every)
        block = np.clip(np.searchsorted(cuts, middle) - 1, 0, cuts.size - 2)
        share = np.clip((middle - cuts[block]) / np.diff(cuts)[block], 0.0, 1.0)
        return middle, width, block, share


@final
@dataclass(frozen=True, slots=True, eq=False)
class Corners:
    """Upper ends of a pair's profile at increasing losses, none where all losses are +inf."""

    loss: Reals
    height: Reals

    def at(self, x: Reals) -> Reals:
        """Return the profile at any real epsilons, of any shape."""
        if not self.loss.size:
            return np.ones(x.shape)  # nothing but losses of +inf
        at = np.clip(np.searchsorted(self.loss, x, side="right"), 1, self.loss.size - 1)
        left, right = self.loss[at - 1], self.loss[at]
        inside = np.clip(x, left, right)
        share = np.expm1(inside - left) / np.expm1(right - left)
        middle = self.height[at - 1] + (self.height[at] - self.height[at - 1]) * share
        first = 1.0 - (1.0 - self.height[0]) * np.exp(np.minimum(x - self.loss[0], 0.0))
        return np.where(x < self.loss[0], first, middle)


def corners(above: Outcomes) -> Corners:
    """Return the corners of the outcomes' profile, rounded up: sums of positive terms."""
    finite = np.isfinite(above.loss)
    loss = above.loss[finite][::-1]
    rest = float(above.p[~finite].sum())
    tail = np.cumsum(above.q[finite])[:-1][::-1]  # Q's mass above each loss but the last
    with np.errstate(under="ignore"):
        rise = np.exp(loss[:-1]) * np.expm1(np.diff(loss)) * tail
    if not loss.size:
        return Corners(loss, loss)
    height = np.concatenate([np.cumsum(rise[::-1])[::-1], [0.0]]) + rest
    # One corner more, so that there are two even for a single loss; equal losses are one corner.
    loss, height = np.append(loss, loss[-1:] + 1.0), np.append(height, rest)
    new = np.append(True, np.diff(loss) > 0.0)
    return Corners(loss[new], np.minimum(height[new] * (1 + 1e-11), 1.0))
