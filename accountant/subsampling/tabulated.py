"""Pairs known only by their profile, answered through two finite pairs, one above, one below."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.convex_profile import (
    Positions,
    ProfileHalf,
    above,
    below,
    gaps,
    required_reach,
)
from dpproof.accountant.arithmetic.crossing import invert
from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Reals, log_down, log_up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.lattice import common_lattice
from dpproof.accountant.engine.profile import log_ends
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.finite import AtomicPair, LatticePair, ListedPair
from dpproof.accountant.pairs.pair import Lattice, Pair, Smoothness
from dpproof.accountant.pairs.product import Product

MOST = 1 << 10  # Corners above which evenly spaced grids are as good. Heuristic.
# Shares of the last cell left at its points: a height next to one that is 0 for all that rounding
# tells is lowered to 0. Heuristic.
_TOWARDS_END = 0.5 ** np.arange(1.0, 33.0)


def base_corners(base: Product, end: float) -> Reals | None:
    """Return the losses of one release above 0 and up to ``end``, or None if they are many.

    They are those of one release with finitely many outcomes, or the places of a lattice.
    """
    if len(base.factors) != 1 or base.factors[0].count != 1:
        return None  # its profile has too few digits next to its largest loss
    pair = base.factors[0].pair
    if isinstance(pair, AtomicPair):
        loss = np.unique(pair.atoms.loss)
        return (
            np.asarray(loss[loss > 0]) if loss.max(initial=0.0) > 0 and loss.size <= MOST else None
        )
    lattice = common_lattice(base, 0.0)
    if lattice is None or not end / lattice.span < MOST:
        return None
    first = np.floor(-lattice.offset / lattice.span) + 1.0
    count = int(max(np.ceil((end - lattice.offset) / lattice.span) - first + 1.0, 0.0))
    loss = lattice.offset + lattice.span * (first + np.arange(count))
    return np.asarray(loss[loss > 1e-12 * lattice.span])


def cornered(corners: Reals, end: float) -> Reals:
    """Return a grid from 0 past ``end`` through the corners, with a point inside every cell.

    A profile is linear in e^loss on each cell, which the chords beside a cell then show.
    """
    inner = corners[(corners > 0) & (corners < end * (1 - 1e-9))]
    knots = np.concatenate([[0.0], inner, [end]])
    knots = knots[np.append(True, np.diff(knots) > 1e-12 * knots[-1])]
    middles = knots[:-1] + np.log1p(0.5 * np.expm1(np.diff(knots)))
    ahead = (knots[1:] - np.diff(knots) * _TOWARDS_END[:, None])[:, -2:].ravel()
    return np.unique(np.concatenate([knots, middles, ahead, [knots[-1] * 1.25]]))


_FINE = 1 << 8  # Grid points per typical loss, and per doubling of the loss beyond. Heuristic.
_COARSEST = 2.0**-7  # Largest step of a grid, nats. Heuristic.
# Runs up to which the sum of losses may have to be resolved over its whole range, always, and as
# long as its standard deviation is below some nats. Heuristic.
_FEW, _NOT_MANY, _SPREAD = 1 << 6, 1 << 12, 0.01
_VERY_FEW = 12  # Corners that finite sums multiply out. Heuristic.
_REPEATED = 64  # Runs from which sums of losses on no lattice are smooth. Heuristic.
_ROUNDS = 12  # Most refinements of a grid. Heuristic.
# Gap between profile and chord, relative to the profile, up to which a cell is not halved.
# Heuristic.
_BENT = 1e-4
_NEGLIGIBLE = 1e-14  # Profile below which cells are not refined. Heuristic.
_RESOLVED = 1 << 15  # Grid points over the whole range of the loss. Heuristic.
# Above the relative rounding of lower ends that are convex. Soundness depends on it.
_ROUNDING = 1e-11
_SHORTEST = 8  # Grid points on the shorter side. Heuristic.


class TabulatedPair(Pair, ABC):
    """A pair whose K has no closed form, but whose profile is known in both directions.

    ``above`` and ``below`` are finite pairs on a lattice, with every corner of their profiles
    computed from rigorous ends of the profile (arithmetic/convex_profile.py); K is that of the one
    above.
    """

    __slots__ = ()

    @abstractmethod
    def swapped(self) -> TabulatedPair:
        """Return the pair (Q, P)."""

    @abstractmethod
    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return rigorous lower and upper ends of the hockey-stick divergence at epsilon >= 0."""

    @property
    @abstractmethod
    def end(self) -> float:
        """Return a loss above 0 beyond which the profile is constant or negligible, nats."""

    @property
    def rest(self) -> float:
        """Return a lower bound of the infinite mass: 0, unless a pair knows better."""
        return 0.0

    def delta(self, epsilon: float) -> Bound:
        """Bracket delta of one pair at a real epsilon by the profile."""
        lower, upper = self.profile(np.array([epsilon]))
        return Bound(max(float(lower[0]), 0.0), min(float(upper[0]), 1.0))

    # Whether the profile costs no more than its tables, so that one pair needs none.
    is_quick: ClassVar[bool] = False
    # Whether rare losses are so large that sums resolve their whole range, always.
    is_wide: ClassVar[bool] = False
    # Whether the lower ends are values of one convex function of e^epsilon that joins both sides:
    # then it is a profile itself, and the width of the bracket costs nothing more.
    lower_is_convex: ClassVar[bool] = False
    # Least delta at which the profile is inverted. Smaller ones raise.
    least_level: ClassVar[float] = 1e-30

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon of one pair by its profile.

        Raises:
            NotCertified: delta is too small, or not reached where the profile has digits.
        """
        level, end = Bound.of(delta), self.end
        if not (level.lower >= self.least_level and self.delta(end).upper <= level.lower):
            raise NotCertified(
                f"epsilon of one sample is not resolved at delta = {level.lower:.3g}; {EASIER}"
            )
        return self.inverted(level, 0.1 * end, 0.1 * end)

    def inverted(self, level: Bound, start: float, width: float, top: float = math.inf) -> Bound:
        """Bracket epsilon at a delta above 0, near a guess."""
        target = log_down(np.array(level.lower)).item(), log_up(np.array(level.upper)).item()
        every = Bound.exactly(0.0)  # no part of delta is set aside
        return invert(partial(log_ends, self, every), target, start, width, top)

    @property
    def finer(self) -> int:
        """Return how many times as fine its tables are. Heuristic."""
        return 1

    @property
    def corners(self) -> Reals | None:
        """Return the losses above 0 at which the profile may have corners, or None.

        Heuristic: a grid through them, if they are few, describes the pair exactly.
        """
        return None

    @property
    def leads(self) -> bool:
        """Return whether tables are made for this pair.

        Otherwise those of the swapped pair are swapped.
        """
        return True

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K of the pair above."""
        return self.above(1).cgf(s)

    @property
    def infinite_mass(self) -> float:
        """Return the infinite mass of the pair above."""
        return self.above(1).infinite_mass

    @property
    def max_loss(self) -> float:
        """Return the largest loss of the pair above."""
        return self.above(1).max_loss

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s) of the pair above."""
        return self.above(1).work(s)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return the smoothness of the pair above."""
        return self.above(1).smoothness(c, moment)

    def lattice(self, c: float) -> Lattice | None:
        """Return the lattice of the pair above."""
        return self.above(1).lattice(c)

    def log_moment_above(self, s: Reals, table: Pair | None) -> Reals:
        """Bound log E_P[e^{sL}] from above at real s > 0: by a table above the pair, or by +inf."""
        if table is None:
            return np.full(s.shape, math.inf)
        return self.log_moment_by_table(s, table)

    def log_moment_by_table(self, s: Reals, table: Pair, level: float = 0.0) -> Reals:
        """Bound log E_P[e^{sL}] as the checker does, by a table above the pair and ``tail``.

        Up to the table's end the bound uses the last value of its profile, beyond it ``tail``:
        proofs/theory/sampled.md, section 6.

        Args:
            s: shape (n,).
            table: a finite pair that dominates this one, perhaps with infinite losses.
            level: what its profile ends at, if that is above its infinite mass.
        """
        cgf = table.cgf(s + 0j)
        body, level = cgf.value.real + cgf.radius, max(level, table.infinite_mass)
        if level == 0.0:
            return body
        end, beyond = self.tail(s, max(table.max_loss, 0.0))
        rest = np.logaddexp(math.log(level) + np.log1p(s) + s * end, beyond + s * end)
        rest += _ROUNDING * (1.0 + np.abs(rest) + s * (1.0 + end))
        return np.asarray(np.logaddexp(body, rest))

    def tail(self, s: Reals, end: float) -> tuple[float, Reals]:
        """Return an end T, no loss before e^T the one given, and logs of what losses beyond add.

        That is s(s+1) times the integral of t^{s-1} H_t over t > e^T, over e^{sT}.
        """
        return end, np.full(s.shape, math.inf)

    def above(self, count: int) -> Pair:
        """Return a finite pair that dominates this one."""
        return _pairs(self, count)[0]

    def below(self, count: int) -> Pair:
        """Return a finite pair that this one dominates."""
        return _pairs(self, count)[1]


def _pairs(pair: TabulatedPair, count: int) -> tuple[Pair, Pair]:
    """Return both finite pairs: through the corners, or on a lattice.

    Heuristic: sums over K resolve losses on no lattice if they are very few, come once among
    others, or many add up.
    """
    if not pair.leads:
        high, low = _pairs(pair.swapped(), count)
        return high.swapped(), low.swapped()
    corners = pair.corners
    if corners is not None and (corners.size <= _VERY_FEW or count == 1 or count >= _REPEATED):
        pairs = _through_corners(pair)
        if pairs is not None:
            return pairs
    few = count <= _FEW or (count <= _NOT_MANY and math.sqrt(count) * _variation(pair) < _SPREAD)
    return _tables(pair, few=few or pair.is_wide)


def _variation(pair: TabulatedPair) -> float:
    """Return the total variation distance of a pair, rounded up."""
    return float(pair.profile(np.zeros(1))[1][0])


@lru_cache(maxsize=64)
def _through_corners(pair: TabulatedPair) -> tuple[Pair, Pair] | None:
    """Return both finite pairs at the corners of both directions, or None if they are many."""
    sides = []
    for one in (pair, pair.swapped()):
        corners = one.corners
        if corners is None:
            return None
        grid = cornered(corners, one.end)
        sides.append(ProfileHalf(grid, *one.profile(grid), one.rest))
    return ListedPair(above(*sides)[0]), ListedPair(below(*sides)[0])


@lru_cache(maxsize=64)
def _tables(pair: TabulatedPair, *, few: bool) -> tuple[LatticePair, LatticePair]:
    """Return both finite pairs, on multiples of one span."""
    other = pair.swapped()
    ends = pair.end, other.end
    required_reach(max(ends))
    fine, resolved = _FINE * pair.finer, _RESOLVED * pair.finer**2
    span = 2.0 ** math.floor(math.log2(max(_variation(pair), 1e-12) / fine))
    if few:  # no central limit to resolve, and short sums of losses have wide spectra
        coarse = min(max(ends) / resolved, 8.0 / resolved, min(ends) / _SHORTEST)
        span = max(span, 2.0 ** math.floor(math.log2(coarse)))
    sides, under, grids = [], [], []
    for one, end in zip((pair, other), ends, strict=True):
        grid, lower, upper = _refined(one, stretched(end, span, fine), span)
        sides.append(ProfileHalf(grid * span, lower, upper, one.rest))
        rounded = (
            (lower * (1 - _ROUNDING), lower * (1 + _ROUNDING)) if one.lower_is_convex else None
        )
        under.append(ProfileHalf(grid * span, *rounded, one.rest) if rounded else sides[-1])
        grids.append(grid)
    return as_lattice_pair(above(*sides), grids, span), as_lattice_pair(below(*under), grids, span)


def as_lattice_pair(table: tuple[Atoms, Positions], grids: list[Reals], span: float) -> LatticePair:
    """Return the pair of a hull whose sides were taken at multiples of the span.

    Args:
        table: what ``convex_profile.above`` or ``below`` returned.
        grids: the integers of the forward and of the backward side.
        span: nats.
    """
    atoms, position = table
    right, left = (grid[np.minimum(np.abs(position), grid.size - 1)] for grid in grids)
    return LatticePair(atoms, np.where(position > 0, right, -left), span)


def _refined(pair: TabulatedPair, grid: Reals, span: float) -> tuple[Reals, Reals, Reals]:
    """Return the grid, halved while the profile bends too much in a cell, and both ends."""
    lower, upper = pair.profile(grid * span)
    for _ in range(_ROUNDS):
        bent = gaps(grid * span, lower) > _BENT / pair.finer**2 * np.maximum(lower[1:], _NEGLIGIBLE)
        wide = np.flatnonzero(bent & (np.diff(grid) > 1.0))
        if not wide.size:
            break
        middle = np.floor(0.5 * (grid[wide] + grid[wide + 1]))
        ends = pair.profile(middle * span)
        grid = np.insert(grid, wide + 1, middle)
        lower = np.insert(lower, wide + 1, ends[0])
        upper = np.insert(upper, wide + 1, ends[1])
    return grid, lower, upper


def stretched(end: float, span: float, fine: int) -> Reals:
    """Return integers from 0 to past end / span.

    The first 2 fine of them have step 1, every further 2 fine a step twice as large.
    """
    reach = math.ceil(end / span) + 1
    strides = [np.array([0.0])]
    step, at = 1.0, 0.0
    while at < reach:
        count = min(math.ceil((reach - at) / step), 2 * fine)
        strides.append(at + step * np.arange(1, count + 1))
        at = float(strides[-1][-1])
        if 2 * step * span <= max(_COARSEST, span):
            step *= 2
    return np.concatenate(strides)
