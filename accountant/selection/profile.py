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
from dpproof.accountant.arithmetic.enclosure import LEAST_DELTA, Reals, down, up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import delta_of_rare_losses
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import FARTHEST, LAW_ERROR, FixedRuns, RunLaw
from dpproof.accountant.selection.finite_base import MERGED, Curve, NeymanPearsonCurve, curve
from dpproof.accountant.selection.shifted_mixture import Shifts, shifts
from dpproof.accountant.selection.worst_instance import Instance, concave, instance, near_worst
from dpproof.accountant.selection.worst_order import MUCH, Lines, Terms

_CHANGE = 0.03  # Change of log w over a cell, less if the base's losses are small. Heuristic.
_COARSE = 128, 192  # Blocks and masses of lines that are refined. Heuristic.
_LOOSE = 0.5  # Share of the upper end below which a lower end is looked for elsewhere. Heuristic.
_FEW = 4  # Epsilons up to which each is answered by itself. Heuristic.
# Orders whose tests a table evaluates, and those that it looks for. Heuristic.
_TESTS, _ORDERS, _DENSER, _EVEN = 640, 64, 1.5, 2.0
_JUMPING = 160  # The same next to outcomes of much mass. Heuristic.
_NEGLIGIBLE = 1e-12  # Delta down to which a table's orders lie evenly from 0 on. Heuristic.
_STEPS = 12  # Most steps of Newton's method. Heuristic: each end is evaluated.
_FAINT = 1e-120  # Delta below which no orders are looked for. Heuristic.
_FAR = (1.0, 0.7, 0.4)  # Shares of the largest loss at which an instance is tried. Heuristic.
# Relative distances below epsilon of the orders tried. Heuristic.
_BACK = (0.0, 3e-4, 3e-3, 0.03, 0.3)
_PLACES = (0.0, 0.12, 0.3, 0.65)  # Shares of a table for which lines are made. Heuristic.
_SHARED = 0.02  # Relative distance of epsilons that share lines. Heuristic.
# Blocks and cells of the lines for one epsilon beyond rough ones, more where wide. Heuristic.
_MOST, _NARROW, _HELPED = (110, 170, 230), 8e-5, 0.9
_CHORDS = 2048  # Epsilons up to ``near`` between which upper ends are chords. Heuristic.
_MORE = 448, 374  # Blocks and cells of a table's lines beyond the coarse ones. Heuristic.
_SHIFTS = 256  # Shifts for many epsilons. Heuristic.
_CERTAIN = 0.05  # Delta from which the worst order is the smaller bound. Heuristic.
_ROUGHLY = 1e-3  # Relative distance of points between which a table may end. Heuristic.
_CLOSE = 1e-4  # Relative distance to delta at which the search for epsilon ends. Heuristic.
_START = 1e-6  # Relative distance of points between which that search starts. Heuristic.
_NEARBY = 0.03  # The same of its start by coarse lines. Heuristic.


@final
@dataclass(frozen=True, eq=False)
class Selection:
    """One direction of the selection from a base, by a law of the number of runs."""

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
        """Return the change of log w over a cell, which follows the base's losses."""
        return min(_CHANGE, 0.1 * math.sqrt(self.curve.end))

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return lower and upper ends of delta at epsilons at or above 0, in any order."""
        if epsilon.size <= _FEW:
            best = [_upper(self, one, closely=True) for one in epsilon.tolist()]
            orders = [_order(self, one, closely=True) for one in epsilon.tolist()]
            low = [float(one.lower(epsilon[[at]])[0]) for at, one in enumerate(orders)]
            for at in np.flatnonzero(np.array(low) < _LOOSE * np.array(best)):
                low[at] = max(low[at], self._largest_first(float(epsilon[at])))
            return np.minimum(low, best), np.array(best)
        order = np.argsort(epsilon)
        lower, upper = np.empty(epsilon.shape), np.empty(epsilon.shape)
        x, high = epsilon[order], self.upper(epsilon[order])
        powers = (self.tests(x) if x.size <= _TESTS else self.table_tests).lower(x)
        lower[order], upper[order] = np.minimum(powers, high), high
        return lower, upper

    def _largest_first(self, epsilon: float) -> float:
        """Return the lower end of the order in which losses above epsilon come first.

        Statement: with m = phi'(1), delta of the base and p >= P(L > epsilon), it has at least
            m delta - p (m - phi'(1 - p)).
        Proof: proofs/theory/selection.md, section 9.
        """
        side = self.curve.forward
        near = side.loss < epsilon
        single = delta_of_rare_losses(self.base, epsilon, Bound(0.0, 1.0)).lower
        if single == 0.0 or not near.any():
            return 0.0
        likely = side.upper[near] / -np.expm1(side.loss[near] - epsilon) * (1 + 1e-14)
        p = min(float(likely.min()), 1.0)
        least = float(self.runs.derivative(np.array([down(1.0 - p)]))[0]) * (1 - 4 * LAW_ERROR)
        most = self.runs.mean * (1 + 4 * LAW_ERROR)
        return max((least * single - p * (most - least)) * (1 - 1e-14), 0.0)

    @cached_property
    def above(self) -> NeymanPearsonCurve:
        """Return a pair that dominates the base."""
        return NeymanPearsonCurve.of(self.curve.above(*self.curve.size))

    @cached_property
    def below(self) -> NeymanPearsonCurve:
        """Return a pair that the base dominates."""
        return NeymanPearsonCurve.of(self.curve.below(*self.curve.size))

    @cached_property
    def coarse(self) -> Lines:
        """Return lines from which finer ones are made for one epsilon, and orders for many."""
        return Lines.of(self.above, self.runs, blocks=_COARSE[0], masses=_COARSE[1])

    @cached_property
    def terms(self) -> Terms:
        """Return the worst case from above, which serves all epsilons."""
        places = self._along(np.array(_PLACES)).tolist()
        grid = self._evenly(_CHORDS)
        if isinstance(self.runs, FixedRuns):  # phi' spans more magnitudes than coarse lines tell
            return Lines.of(self.above, self.runs).terms(grid)
        return self.coarse.refined(*places, more=_MORE).terms(grid)

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends at many epsilons at or above 0, in any order.

        Shifts give the smaller one where delta is next to rounding, or to what the last cell adds.
        """
        bound = self.terms.upper(epsilon)
        small = bound < _CERTAIN
        if small.any():
            bound[small] = np.minimum(bound[small], self.few_shifts.upper(epsilon[small]))
        return bound

    def reach(self, delta: float) -> float:
        """Return an epsilon near the least at which the upper end is at most delta, or +inf."""
        low = np.flatnonzero(self.terms.height <= delta)
        found = math.log(self.terms.t[low[0]]) if low.size else math.inf
        return min(found, self._where_shifts_reach(delta, math.inf, _ROUGHLY))

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Return about where delta becomes negligible, and where nothing is left to tell."""
        near, far = (
            self._where_shifts_reach(one, math.inf, _ROUGHLY) for one in (_NEGLIGIBLE, _FAINT)
        )
        far = far if math.isfinite(far) else 2.0 * self.curve.end + 20.0
        return min(near, far), far

    @cached_property
    def orders(self) -> tuple[Reals, list[tuple[Reals, Reals, Reals]]]:
        """Return epsilons, most of them where delta is large, and the worst orders there."""
        near = self.ends[0] * np.linspace(0.0, 1.0, _ORDERS) ** _DENSER
        known = np.union1d(near, np.linspace(*self.ends, _ORDERS // 2))
        return known, [self.coarse.order(float(one)) for one in known]

    def tests(self, epsilons: Reals) -> Instance:
        """Return tests of the orders that are worst at increasing epsilons at or above 0.

        Next to outcomes of much mass x jumps, so that some orders are made by themselves, too.
        """
        each = [near_worst(self.below, self.runs, epsilons, *self.orders)]
        if np.diff(self.below.k).max() > MUCH:
            some = np.linspace(0, epsilons.size - 1, min(epsilons.size, _JUMPING)).astype(np.intp)
            each += [_rough_order(self, float(one)) for one in epsilons[some]]
        return concave(
            *(np.concatenate(part) for part in zip(*((one.p, one.q) for one in each), strict=True))
        )

    @cached_property
    def table_tests(self) -> Instance:
        """Return tests that serve a whole table, most of them where delta is large."""
        return self.tests(self._evenly(_TESTS))

    def _evenly(self, count: int) -> Reals:
        """Return about so many epsilons for a table, some of them where delta is negligible."""
        near = self._along(np.linspace(0.0, 1.0, count))
        return np.union1d(near, np.linspace(*self.ends, count // 4))

    def _along(self, shares: Reals) -> Reals:
        """Return epsilons where delta counts, by shares of the root of -log delta, and of epsilon.

        Between neighbours a tangent or a chord loses as much as log delta changes, squared.
        """
        known, end = self.orders[0], max(self.ends[0], 1e-300)
        known = known[known <= end]
        low = np.maximum(self.tests(known).lower(known), LEAST_DELTA)
        along = np.sqrt(1.0 + np.log(max(float(low[0]), LEAST_DELTA) / low))
        along = np.maximum.accumulate(along + _EVEN * known / end)
        return np.asarray(np.interp(along[0] + shares * (along[-1] - along[0]), along, known))

    def power(self, epsilon: float, rate: float, *, closely: bool = False) -> tuple[float, float]:
        """Return ``Instance.power`` of the order that is worst at an epsilon, swapped below 0."""
        at = abs(epsilon)
        one = _order(self, at, closely=True) if closely else _rough_order(self, at)
        return one.power(rate) if epsilon >= 0.0 else one.swapped_power(rate)

    def rough(self, epsilon: float) -> float:
        """Return the f-divergence bound at one epsilon."""
        return float(self.shifts.upper(np.array([epsilon]))[0])

    def epsilon(self, delta: Bound, top: float) -> Bound:
        """Bracket the smallest epsilon >= 0 at which delta(epsilon) is at most delta in (0, 1).

        Infinite from above unless delta exceeds the infinite mass; no loss exceeds ``top``.
        """
        start = self._where_shifts_reach(delta.lower, top)
        if start == 0.0:
            return Bound.exactly(0.0)
        least = float(self.runs.derivative(np.zeros(1))[0])
        if math.isinf(start) or not least > 0.0:  # the shifts are far off
            high = min(start, FARTHEST)
            if high == start or self.coarse.delta(high) <= delta.lower:
                start = self._where_reaches(self.coarse.delta, delta.lower, high, _NEARBY)
        if math.isinf(start):
            far = self.curve.end
            tried = [self._where_instance_exceeds(delta.upper, far * part) for part in _FAR]
            return Bound(max(tried), math.inf)
        upper = self._where_reaches(lambda one: _upper(self, one), delta.lower, start, _CLOSE)
        return Bound(min(self._where_instance_exceeds(delta.upper, upper), upper), upper)

    def _where_shifts_reach(self, delta: float, top: float, near: float = _START) -> float:
        """Return an epsilon at which the f-divergence bound is at most delta, or +inf."""

        def exceeds(one: float) -> bool:
            return float(self.shifts.upper(np.array([one]))[0]) > delta

        finite = self.shifts.shifts[np.isfinite(self.shifts.shifts)]
        high = max(self.curve.end - float(finite.min(initial=0.0)), 0.0) + 1.0
        high = min(high, top)
        if exceeds(high):
            return high if high == top else math.inf
        return _bisect(exceeds, high, near)[1]

    def _where_reaches(
        self, bound: Callable[[float], float], delta: float, start: float, close: float
    ) -> float:
        """Return an epsilon, or the start, at which a bound is at most delta, near the least such.

        Newton's method on log delta, kept between points on either side, until it is ``close``.
        """
        low, high, point = 0.0, start, start
        slope = self._slope(start)
        previous: tuple[float, float] | None = None
        for _ in range(_STEPS):
            height = bound(point)
            gap = math.log(max(height, 1e-300) / delta)
            low, high = (point, high) if height > delta else (low, point)
            if -close <= gap <= 0.0 or high == 0.0:
                break
            if previous is not None and previous[0] != point:
                slope = max((previous[1] - gap) / (point - previous[0]), 0.1 * slope)
            previous = point, gap
            point = max(point + (gap + 0.5 * close) / slope, 0.0)
            if not low <= point < high:
                point = 0.5 * (low + high)
        return high

    def _slope(self, epsilon: float) -> float:
        """Estimate how fast log delta falls there."""
        step = 1e-4 * epsilon
        near = self.shifts.upper(np.array([epsilon - step, epsilon]))
        if not near[1] > 0.0:
            return 1.0 / step
        return max(float(np.log(near[0] / near[1])) / step, 1e-3 / epsilon)

    def _where_instance_exceeds(self, delta: float, epsilon: float) -> float:
        """Return an epsilon up to the one given where an instance exceeds delta, or 0."""
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


@lru_cache(maxsize=8)  # 30 MB each
def _finer(one: Selection, epsilon: float, *, closely: bool) -> Lines:
    """Return lines that bound delta, closely at one epsilon: more if that narrows it."""

    def width(lines: Lines) -> float:
        upper = min(one.rough(epsilon), lines.delta(epsilon))
        below = instance(one.below, one.runs, lines.order(epsilon))
        return 1.0 - float(below.lower(np.array([epsilon]))[0]) / max(upper, LEAST_DELTA)

    lines, before = one.coarse.refined(epsilon), math.inf
    for more in _MOST if closely else _MOST[:1]:
        lines = lines.refined(epsilon, more=more)
        now = width(lines) if closely else 0.0
        if not _NARROW < now < _HELPED * before:
            break
        before = now
    return lines


def _near(one: Selection, epsilon: float, *, closely: bool) -> Lines:
    """Return lines made for an epsilon near one, which its neighbours share."""
    place = round(math.log(min(max(epsilon, 1e-300), FARTHEST)) / _SHARED)
    return _finer(one, math.exp(_SHARED * place) if epsilon > 0.0 else 0.0, closely=closely)


def _upper(one: Selection, epsilon: float, *, closely: bool = False) -> float:
    """Return the upper end of delta at one epsilon."""
    return min(one.rough(epsilon), up(_near(one, epsilon, closely=closely).delta(epsilon)))


@lru_cache(maxsize=512)
def _order(one: Selection, epsilon: float, *, closely: bool = False) -> Instance:
    """Return the instance whose order is worst at one epsilon."""
    return instance(one.below, one.runs, _near(one, epsilon, closely=closely).order(epsilon))


@lru_cache(maxsize=512)
def _rough_order(one: Selection, epsilon: float) -> Instance:
    """Return an instance whose order is nearly worst at an epsilon at or above 0."""
    return instance(one.below, one.runs, one.coarse.order(epsilon))


def _bisect(
    exceeds: Callable[[float], bool], high: float, near: float = 1e-12
) -> tuple[float, float]:
    """Return close points, the function true at the left one, or that 0, and false at the right."""
    return bisect(exceeds, 0.0, high, near=near) if exceeds(0.0) else (0.0, 0.0)
