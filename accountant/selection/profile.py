"""Compute the worst-case profile of a selection: ends of delta and of epsilon.

Upper ends are the smaller of the f-divergence bound and the exact worst case from above, lower ends
come from instances. Both are theorems, so the choice affects the width only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals, distinct, up
from dpproof.accountant.bound import Bound
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import MERGED, Curve, Outcomes, curve
from dpproof.accountant.selection.shifted_mixture import Shifts, shifts
from dpproof.accountant.selection.worst_instance import Instance, instance
from dpproof.accountant.selection.worst_order import Terms, worst_case, worst_order_terms

_CHANGE = 0.03  # Change of log w over a cell, less if the base's losses are small. Heuristic.
_CUT = 1e-5  # Share of the answer that a cut tail of the base may add. Heuristic: it is added.
_FEW = 4  # Epsilons up to which each is answered by itself. Heuristic.
# Orders that a table looks for, everywhere and next to 0. Heuristic.
_INSTANCES, _NEAR = 24, 176
# Delta below which the f-divergence bound is close enough for a table. Heuristic.
_NEGLIGIBLE = 1e-12  # Delta down to which a table's orders lie evenly from 0 on. Heuristic.
_STEPS = 12  # Most steps of Newton's method. Heuristic: each end is evaluated.
_ROUND = 256  # Points of the profile are a multiple, so that questions share tables. Heuristic.
_FAINT = 1e-120  # Delta below which no orders are looked for. Heuristic.
_FAR = (1.0, 0.7, 0.4)  # Shares of the largest loss at which an instance is tried. Heuristic.
_BACK = (0.0, 3e-4, 3e-3, 0.03)  # Relative distances below epsilon of the orders tried. Heuristic.
_SHIFTS = 512  # Shifts for many epsilons. Heuristic.
_CERTAIN = 0.05  # Delta from which the worst order is the smaller bound. Heuristic.
_ROUGHLY = 1e-3  # Relative distance of points between which a table may end. Heuristic.
_CLOSE = 1e-4  # Relative distance to delta at which the search for epsilon ends. Heuristic.


@final
@dataclass(frozen=True, eq=False)
class Selection:
    """One direction of the selection from a base.

    Attributes:
        base: dominates the base in this direction.
        runs: the law of the number of runs.
    """

    base: Product
    runs: RunLaw

    @cached_property
    def curve(self) -> Curve:
        """Return the base's profile."""
        return curve(self.base)

    @cached_property
    def shifts(self) -> Shifts:
        """Return the f-divergence bound."""
        return shifts(self.curve.above(*self.curve.size, every=MERGED), self.runs, self.change)

    @cached_property
    def few_shifts(self) -> Shifts:
        """Return the same with fewer shifts, for many epsilons."""
        return self.shifts.merged(_SHIFTS)

    @cached_property
    def change(self) -> float:
        """Return the change of log w over a cell.

        Its square adds to epsilon, so it follows the base's losses. Heuristic.
        """
        return min(_CHANGE, 0.1 * math.sqrt(self.curve.end))

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return lower and upper ends of delta at epsilons at or above 0, in any order."""
        if epsilon.size <= _FEW:
            best = [_upper(self, one) for one in epsilon.tolist()]
            low = [_order(self, one).lower(np.array([one])) for one in epsilon.tolist()]
            return np.minimum(np.array(low).ravel(), best), np.array(best)
        order = np.argsort(epsilon)
        lower, upper = np.empty(epsilon.shape), np.empty(epsilon.shape)
        x, high = epsilon[order], self.upper(epsilon[order])
        found = self.lower(x, x[_spread(x, high, _FAINT, _INSTANCES)])
        lower[order], upper[order] = np.minimum(found, high), high
        return lower, upper

    @cached_property
    def terms(self) -> Terms:
        """Return the worst case from above, which serves all epsilons."""
        return worst_order_terms(self.curve.above(*self.curve.size, every=MERGED), self.runs)

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends at many epsilons at or above 0, in any order.

        The f-divergence bound is the smaller one where delta is next to rounding, and of many runs
        where it is next to what the last cell of the worst order adds.
        """
        bound = self.terms.upper(epsilon)
        small = bound < _CERTAIN
        if small.any():
            bound[small] = np.minimum(bound[small], self.few_shifts.upper(epsilon[small]))
        return bound

    def reach(self, delta: float) -> float:
        """Return an epsilon near the least at which the upper end is at most delta, or +inf.

        Heuristic.
        """

        def exceeds(one: float) -> bool:
            return float(self.upper(np.array([one]))[0]) > delta

        high = self._where_shifts_reach(delta, math.inf)
        return _bisect(exceeds, high, _ROUGHLY)[1] if 0.0 < high < math.inf else high

    def lower(self, epsilon: Reals, designs: Reals) -> Reals:
        """Return the largest lower end of the orders that are worst at some epsilons at or above 0.

        Every order bounds delta from below at any real epsilons. The result is a maximum of convex
        functions of e^epsilon, so itself convex.
        """
        low = np.zeros(epsilon.shape)
        for one in designs:
            low = np.maximum(low, _order(self, float(one)).lower(epsilon))
        return low

    def designs(self, top: float) -> Reals:
        """Return epsilons up to ``top`` whose worst orders serve a whole table.

        Heuristic.
        """
        grid = np.linspace(0.0, top, 400)
        high = self.upper(grid)
        end = min(max(int((high >= _NEGLIGIBLE).sum()), 1), grid.size - 1)
        near = np.linspace(0.0, grid[end], _NEAR)
        return np.concatenate([near, grid[_spread(grid, high, _FAINT, _INSTANCES)]])

    def rough(self, epsilon: float) -> float:
        """Return the f-divergence bound at one epsilon."""
        return float(self.shifts.upper(np.array([epsilon]))[0])

    def ignored(self, epsilon: float, rough: float) -> tuple[float, float]:
        """Return a loss and an upper bound of what outcomes of lower loss add to delta."""
        shift, weight = self.shifts.ignored(_CUT * 1e-2 * rough)
        return epsilon + shift, weight

    def part(self, rough: float) -> tuple[int, int]:
        """Return how many grid points on either side matter if delta is approximately ``rough``."""
        tail = _CUT * rough / max(self.runs.mean, 1.0)
        steepest = max(float(self.runs.growth(np.ones(1))[0]), 1.0)
        sides = (self.curve.forward, tail), (self.curve.backward, _CUT / steepest)
        right, left = (int(np.searchsorted(-one.upper, -least)) + 1 for one, least in sides)
        return right, left

    def epsilon(self, delta: Bound, top: float) -> Bound:
        """Bracket the smallest epsilon >= 0 at which delta(epsilon) is at most delta in (0, 1).

        Args:
            delta: above the infinite mass, else the upper end is infinite.
            top: an upper bound of the losses of the selection, possibly +inf.
        """
        start = self._where_shifts_reach(delta.lower, top)
        if start == 0.0:
            return Bound.exactly(0.0)
        if math.isinf(start):
            far = self.curve.end
            tried = [self._where_instance_exceeds(delta.upper, far * part) for part in _FAR]
            return Bound(max(tried), math.inf)
        upper = self._where_upper_reaches(delta.lower, start)
        return Bound(min(self._where_instance_exceeds(delta.upper, upper), upper), upper)

    def _where_shifts_reach(self, delta: float, top: float) -> float:
        """Return an epsilon at which the f-divergence bound is at most delta, or +inf."""

        def exceeds(one: float) -> bool:
            return float(self.shifts.upper(np.array([one]))[0]) > delta

        finite = self.shifts.shifts[np.isfinite(self.shifts.shifts)]
        high = max(self.curve.end - float(finite.min(initial=0.0)), 0.0) + 1.0
        high = min(high, top)
        if exceeds(high):
            return high if high == top else math.inf
        return _bisect(exceeds, high)[1]

    def _where_upper_reaches(self, delta: float, start: float) -> float:
        """Return an epsilon at which the upper end is at most delta, close to the least such.

        Newton's method on log delta, kept between an epsilon that is too small and one that
        is large enough, until the upper end is within ``_CLOSE`` of delta, relative.
        """
        low, high, point = 0.0, start, start
        slope = self._slope(start)
        previous: tuple[float, float] | None = None
        for _ in range(_STEPS):
            height = _upper(self, point)
            gap = math.log(max(height, 1e-300) / delta)
            low, high = (point, high) if height > delta else (low, point)
            if -_CLOSE <= gap <= 0.0 or high == 0.0:
                break
            if previous is not None and previous[0] != point and previous[1] != gap:
                slope = max((previous[1] - gap) / (point - previous[0]), 0.1 * slope)
            previous = point, gap
            point = max(point + (gap + 0.5 * _CLOSE) / slope, 0.0)
            if not low <= point < high:
                point = 0.5 * (low + high)
        return high

    def _slope(self, epsilon: float) -> float:
        """Estimate how fast log delta falls there.

        Heuristic.
        """
        step = 1e-4 * epsilon
        near = self.shifts.upper(np.array([epsilon - step, epsilon]))
        if not near[1] > 0.0:
            return 1.0 / step
        return max(float(np.log(near[0] / near[1])) / step, 1e-3 / epsilon)

    def _where_instance_exceeds(self, delta: float, epsilon: float) -> float:
        """Return an epsilon at which an instance's delta exceeds delta, or 0.

        It is at most the given epsilon.
        """
        best = 0.0
        for back in _BACK:  # where delta is nearly flat at 0 the order has to be another's
            order = _order(self, epsilon * (1.0 - back))

            def exceeds(one: float, order: Instance = order) -> bool:
                return float(order.lower(np.array([one]))[0]) > delta

            best = max(best, epsilon if exceeds(epsilon) else _bisect(exceeds, epsilon)[0])
            if best >= epsilon * (1.0 - _BACK[1]):
                break
        return best


@lru_cache(maxsize=32)
def selection(base: Product, runs: RunLaw) -> Selection:
    """Return the selection, cached, as its tables serve every question."""
    return Selection(base, runs)


@lru_cache(maxsize=4096)
def _upper(one: Selection, epsilon: float) -> float:
    """Return the upper end of delta at one epsilon."""
    rough = one.rough(epsilon)
    least, ignored = one.ignored(epsilon, rough)
    above = one.curve.above(*one.part(rough), every=MERGED)
    bound = worst_case(above, one.runs, epsilon, least, one.change) + ignored
    return min(rough, up(bound))


@lru_cache(maxsize=512)
def _order(one: Selection, epsilon: float) -> Instance:
    """Return the instance whose order is worst at one epsilon."""
    rough = one.rough(epsilon)
    least, _ = one.ignored(epsilon, rough)
    right, left = (-(-count // _ROUND) * _ROUND for count in one.part(rough))
    return instance(_below(one, right, left), one.runs, epsilon, least, one.change)


@lru_cache(maxsize=32)
def _below(one: Selection, right: int, left: int) -> Outcomes:
    """Return the base from below, by so many points of its profile on either side."""
    return one.curve.below(right, left)


def _bisect(
    exceeds: Callable[[float], bool], high: float, near: float = 1e-12
) -> tuple[float, float]:
    """Return two close points, at the left of which the function is true and at the right not.

    The left one may be 0 instead.
    """
    return bisect(exceeds, 0.0, high, near=near) if exceeds(0.0) else (0.0, 0.0)


def _spread(
    epsilon: Reals, high: Reals, least: float, count: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return positions at which delta is at least ``least``, spread in epsilon and in log delta."""
    usable = np.flatnonzero(high >= least)
    if usable.size <= count:
        return usable
    x, logs = epsilon[usable] - epsilon[usable[0]], np.log(high[usable[0]] / high[usable])
    along = x / max(x[-1], 1e-300) + logs / max(logs[-1], 1e-300)
    at = np.searchsorted(along, np.linspace(0.0, along[-1], count))
    return distinct(usable[np.clip(at, 0, usable.size - 1)])
