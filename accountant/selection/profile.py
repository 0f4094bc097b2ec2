"""The worst-case profile of a selection: ends of delta at epsilons, and of epsilon at a delta.

Upper ends are the smaller of the f-divergence bound and the exact worst case from above, lower
ends come from instances. Both are exact theorems; which is smaller decides nothing but the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from accountant.arithmetic.arrays import distinct
from accountant.arithmetic.enclosure import Reals, up
from accountant.bound import Bound
from accountant.pairs.product import Product
from accountant.run_counts.law import RunLaw
from accountant.selection.finite_base import MERGED, Curve, Outcomes, curve
from accountant.selection.shifted_mixture import Shifts, shifts
from accountant.selection.worst_instance import Instance, instance
from accountant.selection.worst_order import worst_case
from accountant.selection.worst_order_terms import Terms, worst_order_terms

_CHANGE = 0.04  # of log w over a cell, and less where the base's losses are small
_CUT = 1e-5  # of the answer: what a cut tail of the base may add
_FEW = 4
_INSTANCES, _NEAR = 24, 72  # orders that a table looks for: everywhere, and where delta is
_NEGLIGIBLE = 1e-12  # at least so much
_STEPS = 12
_ROUND = 256  # points of the base's profile, so that questions share tables
_FAINT = 1e-120
_FAR = (1.0, 0.7, 0.4)
_BACK = (0.0, 3e-4, 3e-3, 0.03)
_CLOSE = 1e-4  # of delta, where the search for epsilon ends


@final
@dataclass(frozen=True, eq=False)
class Selection:
    """One direction of a base, selected from.

    Attributes:
        base: dominates the base in this direction.
        runs: the law of the number of runs.
    """

    base: Product
    runs: RunLaw

    @cached_property
    def curve(self) -> Curve:
        """The base's profile."""
        return curve(self.base)

    @cached_property
    def shifts(self) -> Shifts:
        """The f-divergence bound."""
        return shifts(self.curve.above(*self.curve.size, every=MERGED), self.runs, self.change)

    @cached_property
    def change(self) -> float:
        """Of log w over a cell: its square adds to epsilon, so it follows the base's losses."""
        return min(_CHANGE, 0.1 * math.sqrt(self.curve.end))

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Lower and upper ends of delta at epsilons at or above 0, in any order."""
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
        """The worst case from above, at all epsilons at once."""
        return worst_order_terms(self.curve.above(*self.curve.size), self.runs)

    def upper(self, epsilon: Reals) -> Reals:
        """Upper ends at many epsilons at or above 0, in any order."""
        return np.minimum(self.shifts.upper(epsilon), self.terms.upper(epsilon))

    def lower(self, epsilon: Reals, designs: Reals) -> Reals:
        """The largest lower end of the orders that are worst at some epsilons at or above 0.

        Every order bounds delta from below everywhere. Any real epsilons; a maximum of convex
        functions of e^epsilon, so itself one.
        """
        low = np.zeros(epsilon.shape)
        for one in designs:
            low = np.maximum(low, _order(self, float(one)).lower(epsilon))
        return low

    def designs(self, top: float) -> Reals:
        """Epsilons up to ``top`` at which to look for worst orders that serve a whole table."""
        grid = np.linspace(0.0, top, 400)
        high = self.upper(grid)
        end = min(max(int((high >= _NEGLIGIBLE).sum()), 1), grid.size - 1)
        near = np.linspace(0.0, grid[end], _NEAR)
        return np.concatenate([near, grid[_spread(grid, high, _FAINT, _INSTANCES)]])

    def rough(self, epsilon: float) -> float:
        """The f-divergence bound at one epsilon."""
        return float(self.shifts.upper(np.array([epsilon]))[0])

    def ignored(self, epsilon: float, rough: float) -> tuple[float, float]:
        """A loss, and what outcomes of lower loss can add to delta at most."""
        shift, weight = self.shifts.ignored(_CUT * 1e-2 * rough)
        return epsilon + shift, weight

    def part(self, rough: float) -> tuple[int, int]:
        """How much of the base's grid matters where delta is about ``rough``, on either side."""
        tail = _CUT * rough / max(self.runs.mean, 1.0)
        steepest = max(float(self.runs.growth(np.ones(1))[0]), 1.0)
        sides = (self.curve.forward, tail), (self.curve.backward, _CUT / steepest)
        right, left = (int(np.searchsorted(-one.upper, -least)) + 1 for one, least in sides)
        return right, left

    def epsilon(self, delta: Bound, top: float) -> Bound:
        """The smallest epsilon >= 0 at which delta(epsilon) is at most delta in (0, 1).

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
        """The f-divergence bound's epsilon, rounded up to where it is evaluated."""

        def exceeds(one: float) -> bool:
            return float(self.shifts.upper(np.array([one]))[0]) > delta

        finite = self.shifts.shifts[np.isfinite(self.shifts.shifts)]
        high = max(self.curve.end - float(finite.min(initial=0.0)), 0.0) + 1.0
        high = min(high, top)
        if exceeds(high):
            return high if high == top else math.inf
        return _bisect(exceeds, high)[1]

    def _where_upper_reaches(self, delta: float, start: float) -> float:
        """An epsilon at which the upper end is at most delta, close to the smallest such.

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
        """About how fast log delta falls there; only a guess."""
        step = 1e-4 * epsilon
        near = self.shifts.upper(np.array([epsilon - step, epsilon]))
        if not near[1] > 0.0:
            return 1.0 / step
        return max(float(np.log(near[0] / near[1])) / step, 1e-3 / epsilon)

    def _where_instance_exceeds(self, delta: float, epsilon: float) -> float:
        """An epsilon up to the given one at which an instance's delta exceeds delta, else 0."""
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
    """The selection, kept, as its tables serve every question."""
    return Selection(base, runs)


@lru_cache(maxsize=4096)
def _upper(one: Selection, epsilon: float) -> float:
    """The upper end of delta at one epsilon."""
    rough = one.rough(epsilon)
    least, ignored = one.ignored(epsilon, rough)
    above = one.curve.above(*one.part(rough), every=MERGED)
    found = worst_case(above, one.runs, epsilon, least, one.change) + ignored
    return min(rough, up(found))


@lru_cache(maxsize=512)
def _order(one: Selection, epsilon: float) -> Instance:
    """The order that is worst at one epsilon."""
    rough = one.rough(epsilon)
    least, _ = one.ignored(epsilon, rough)
    right, left = (-(-count // _ROUND) * _ROUND for count in one.part(rough))
    return instance(_below(one, right, left), one.runs, epsilon, least, one.change)


@lru_cache(maxsize=32)
def _below(one: Selection, right: int, left: int) -> Outcomes:
    """The base from below, by so many points of its profile on either side."""
    return one.curve.below(right, left)


def _bisect(exceeds: Callable[[float], bool], high: float) -> tuple[float, float]:
    """Two close points, the function true at the left one (or that is 0) and not at the right."""
    low = 0.0
    if not exceeds(low):
        return 0.0, 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exceeds(middle) else (low, middle)
        if high - low <= 1e-12 * high:
            break
    return low, high


def _spread(
    epsilon: Reals, high: Reals, least: float, count: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Positions where delta is at least ``least``, spread in epsilon and in log delta."""
    usable = np.flatnonzero(high >= least)
    if usable.size <= count:
        return usable
    x, logs = epsilon[usable] - epsilon[usable[0]], np.log(high[usable[0]] / high[usable])
    along = x / max(x[-1], 1e-300) + logs / max(logs[-1], 1e-300)
    at = np.searchsorted(along, np.linspace(0.0, along[-1], count))
    return distinct(usable[np.clip(at, 0, usable.size - 1)])
