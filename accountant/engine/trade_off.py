"""Compute the power of the best test between P and Q."""

from __future__ import annotations

import contextlib
import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import LEAST_DELTA, Reals, distinct
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.overlap import log_overlap, power_below
from dpproof.accountant.engine.profile import (
    closed_form,
    deltas,
    epsilon,
    epsilon_above,
    has_infinite_loss,
    infinite_mass,
    max_loss,
)
from dpproof.accountant.engine.renyi import gaussian_tails
from dpproof.accountant.engine.saddle_point import find_saddle
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import (
    GaussianPair,
    gaussian_overlap,
    gaussian_profile,
    gaussian_tangent,
)
from dpproof.accountant.pairs.product import Product

_ROW = 17  # Points in a row of a search. Heuristic.
# An epsilon whose exponential is representable as a float. Beyond, no bound is returned.
_LARGEST = 700.0
_CLOSE = 1e-8  # Relative width at which a search ends. Heuristic.
_WIDE = 1e-3  # Relative width from which single deltas are asked, too. Heuristic.
_PLACES_OF_DELTAS = 33  # Of these. Heuristic.
# Distances of the points around a minimum, tried in this order. Heuristic.
_GAPS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e-8)
_PLACES = np.arange(-3.0, 4.0)  # Places of these points, in units of the gap. Heuristic.


def larger_power(forward: Product, backward: Product, rate: float) -> Bound:
    """Return the larger power of two directions.

    The second direction is left out if a bound of its power near a guess shows that it is no
    larger.
    """
    first = true_positive_rate(forward, rate)
    if backward == forward or first.lower >= 1.0:
        return first
    if rate > 0.0 and backward.factors:
        above = _with_known_profiles(backward)[1]
        x, width = _start(above, rate)
        if float(_heights(above, rate, _row(x, width)).min()) <= first.lower:
            return first
    return first.maximum(true_positive_rate(backward, rate))


def true_positive_rate(product: Product, false_positive_rate: float) -> Bound:
    """Bracket the largest P(S) over tests S with Q(S) = rate.

    It is the minimum over t of delta(t) + t rate. Any t gives an upper bound. As h(t) = delta(t) +
    t rate is convex, points around the minimum give a lower one: ``_below_minimum``.
    """
    rate = false_positive_rate
    if rate <= 0.0:
        return Bound(infinite_mass(product.below()).lower, infinite_mass(product.above()).upper)
    below, above = _with_known_profiles(product)
    if rate >= 1.0 or infinite_mass(below).lower >= 1.0:
        return Bound.exactly(1.0)

    if not product.factors:
        return Bound.exactly(rate)
    least = _power_below(product, rate)
    if least >= 1.0 - _CLOSE:
        return Bound(least, 1.0)
    x = best_threshold(product, rate)
    upper = min(float(_heights(above, rate, np.array([x]))[0]), 1.0)
    lower = min(max(rate, least), upper)
    for gap in _GAPS:
        lower = max(lower, min(_below_minimum(below, rate, x, gap), upper))
        if upper - lower <= _CLOSE * upper:
            break
    if upper - lower > _WIDE * upper:
        lower = max(lower, min(_power_by_deltas(below, rate), upper))
    if upper - lower > _WIDE * upper and below not in (above, product):  # far apart
        lower = max(lower, min(true_positive_rate(below, rate).lower, upper))
    return Bound(lower, upper)


def _power_by_deltas(product: Product, rate: float) -> float:
    """Bound the power from below by single deltas, which need not be narrow.

    Proof: some test S has P(S) - t Q(S) = delta(t), t = e^x, so that Q(S) <= (1 - delta(t))/t. If
    that is at most the rate, the power is at least P(S) >= delta(t).
    """
    x = np.linspace(0.0, -math.log(rate), _PLACES_OF_DELTAS)
    lower = deltas(product, x)[0]
    reached = (1.0 - lower) * np.exp(-x) * (1 + 4e-15) <= rate
    return float(np.max(lower, where=reached, initial=0.0))


def _power_below(product: Product, rate: float) -> float:
    """Bound the power from below if K of a product below is known, else by 0.

    A single pair with a profile of its own may know K of one above only.
    """
    alone = closed_form(product)
    if alone is None or isinstance(alone, GaussianPair):
        return power_below(product.below().bundled(), rate)
    return 0.0


def _with_known_profiles(product: Product) -> tuple[Product, Product]:
    """Return products below and above whose profiles are known.

    Both are the product itself if it has a closed profile.
    """
    alone = closed_form(product)
    if alone is not None and alone.is_quick and alone.profile(np.zeros(1)) is not None:
        return product, product
    return product.below().bundled(), product.above().bundled()


def best_threshold(product: Product, false_positive_rate: float) -> float:
    """Estimate the loss beyond which the best test at a rate rejects.

    Heuristic.
    """
    above, rate = _with_known_profiles(product)[1], false_positive_rate
    return _minimise(lambda x: _heights(above, rate, x), *_start(above, rate))


def _heights(product: Product, rate: float, x: Reals) -> Reals:
    """Bound delta(t) + t rate, t = e^x, from above, for a product whose K is exact."""
    with np.errstate(over="ignore"):
        return np.asarray((deltas(product, x)[1] + np.exp(x) * rate) * (1 + 2e-15))


def _start(product: Product, rate: float) -> tuple[float, float]:
    """Estimate the epsilon with Q(L > epsilon) = rate, and the scale around it.

    Heuristic: tails are those of the saddle-point estimate, delta = P(L > eps) / (c + 1) and P(L >
    eps) = e^eps Q(L > eps) (c + 1) / c near the saddle c; below 0 those of the swapped pair.
    """
    log_rate = math.log(rate)
    right = find_saddle(product, lambda one: log_rate - np.log(one.c) - one.log_delta + one.epsilon)
    if right.epsilon > 0.0:
        return right.epsilon, _width(right.c)
    log_rest = math.log1p(-rate)
    left = find_saddle(product.swapped(), lambda one: log_rest - np.log1p(one.c) - one.log_delta)
    return min(-left.epsilon, 0.0), _width(left.c)


def _width(c: float) -> float:
    """Return 1 / c, limited at both ends: the scale may be that of a single atom.

    Heuristic.
    """
    return min(max(1.0 / c, 1e-2), 50.0)


def _minimise(heights: Callable[[Reals], Reals], x: float, width: float) -> float:
    """Estimate where a convex function is least, by ever finer rows of points.

    Heuristic.
    """
    for _ in range(60):
        points = _row(x, width)
        best = int(np.argmin(heights(points)))
        x = float(points[best])
        if 0 < best < _ROW - 1:
            width *= 2 / (_ROW - 1)
            if width < 1e-8 * max(1.0, abs(x)):
                break
        else:
            width = min(2 * width, 50.0)
    return x


def _row(x: float, width: float) -> Reals:
    """Return evenly spaced points around x."""
    return np.linspace(x - width, x + width, _ROW)


def _below_minimum(product: Product, rate: float, x: float, gap: float) -> float:
    """Bound the minimum of h from below by points around x; -inf if they do not enclose it.

    Statement: let h be convex, and known at increasing points. If its first chord falls and its
        last one rises, h is at least its first (last) value before (after) the points; on a cell
        it is at least the line through the two points up to its left end and the line through the
        two points from its right end on, if there are two.
    Rounds: a line through (a, h_a) and (b, h_b), continued beyond b by a share r of b - a, is at
        (1 + r) h_b - r h_a, which falls with h_a and grows with h_b.
    """
    points = x + gap * _PLACES
    if points[-1] > _LARGEST:
        return -math.inf
    t = np.exp(points)
    width = t[:-1] * np.expm1(np.diff(points))
    low, high = deltas(product, points)
    low, high = low + t * rate * (1 - 2e-15), high + t * rate * (1 + 2e-15)
    if not (high[1] <= low[0] and high[-2] <= low[-1]):
        return -math.inf
    least = min(float(low[0]), float(low[-1]))
    for cell in range(width.size):
        least = min(least, _lowest(low, high, width, cell))
    return least * (1 - 1e-14)


def _lowest(low: Reals, high: Reals, width: Reals, cell: int) -> float:
    """Return a lower bound, on a cell, of the larger of the lines through its neighbours.

    Statement: the larger of two lines is at least any mixture of them, which is least at an end.
    """
    left, right = float(low[cell]), float(low[cell + 1])
    after = before = -math.inf
    if cell > 0:
        share = width[cell] / width[cell - 1]
        after = float((1 + share) * low[cell] - share * high[cell - 1])
    if cell + 2 < low.size:
        share = width[cell] / width[cell + 1]
        before = float((1 + share) * low[cell + 1] - share * high[cell + 2])
    best = max(min(left, after), min(before, right))
    fall, rise = left - after, right - before
    if 0.0 < fall < math.inf and 0.0 < rise < math.inf:  # the mixture that is level
        share = rise / (fall + rise)
        ends = (share * left + (1 - share) * before, share * after + (1 - share) * right)
        best = max(best, min(ends))
    return best


_GRID = 32  # Points of either part of the first grid. Heuristic.
_MOST = 4000  # Most points of a refined grid. Heuristic.
_ROUNDS = 12  # Most rounds of a search. Heuristic.
_NEAR_END = 0.98  # Share of a rough end from which the end is looked for. Heuristic.
_CHECKS = 4  # Most grids on which one mu is checked. Heuristic.
_STEPS = 44  # Candidates for mu above the guess, each twice as far. Heuristic.
_NARROW = 18  # Step at which mu is close enough, 2**-22 above the guess. Heuristic.
_SAME = 1e-12  # Relative width of a bracket from the tails that is not narrowed. Heuristic.
_FAR = 1e100  # An epsilon at which delta is as small as it gets. Heuristic.
# Shares of the end, below which delta is above the smallest one. Heuristic.
_SHORT = 1.0 - np.geomspace(1e-9, 0.1, 9)
_HALVINGS = 10  # Bisections of log mu before Newton's steps. Heuristic: the result is checked.
_NEWTON = 6  # Newton's steps. Heuristic: the result is checked.
_VAGUE = 0.99  # Delta from which what is left to 1 is computed too. Heuristic.
_LIKELY = 8  # Points of the last grid at which mu's lower end is taken. Heuristic.
_LEAST_SPARE = -1e-3  # Log of what is left to 1 that mu = e^-40 exceeds. Soundness depends on it.
_BISECTIONS = 60  # Of log mu, for what is left to 1. Heuristic: the result is checked.


@final
@dataclass(frozen=True, slots=True)
class _Known:
    """Upper ends of a profile on a grid, and logs of lower ends of what is left to 1.

    Attributes:
        grid: shape (n,), increasing from 0, nats.
        high: shape (n,), at or above delta.
        spare: shape (n,), at or below log(1 - delta), -inf where it is not computed.
    """

    grid: Reals
    high: Reals
    spare: Reals

    @staticmethod
    def of(product: Product, grid: Reals, start: float = 0.0) -> _Known:
        """Evaluate the profile of a product whose K is exact; before the start take delta for 1."""
        high, spare = np.ones(grid.shape), np.full(grid.shape, -np.inf)
        asked = grid >= start
        high[asked] = deltas(product, grid[asked])[1]
        vague = high > _VAGUE
        if vague.any():
            spare[vague] = log_overlap(product, grid[vague])[0]
        return _Known(grid, high, spare)

    def refined(self, product: Product, cells: NDArray[np.bool_]) -> _Known:
        """Evaluate the profile again, at seven more points in some of the cells.

        Of all points, as the same contours serve them, but delta only where it is not vague.
        """
        left, right = self.grid[:-1][cells], self.grid[1:][cells]
        new = np.concatenate([left + (right - left) * k / 8 for k in range(1, 8)])
        start = float(self.grid[np.isfinite(self.spare)].max(initial=0.0))
        return _Known.of(product, np.sort(np.concatenate([self.grid, new])), start)

    def covered(self, mu: float) -> NDArray[np.bool_]:
        """Return for each cell whether mu-GDP's tangent covers the chord.

        What is left to 1 is concave where the profile is convex, so that its chord has to be at or
        above the tangent.
        """
        grid = self.grid
        middle, ends = 0.5 * (grid[:-1] + grid[1:]), np.stack([grid[:-1], grid[1:]])
        line = gaussian_tangent(mu, middle, ends)
        inside = (self.high[:-1] <= line[0]) & (self.high[1:] <= line[1])  # nan is not covered
        if np.isfinite(self.spare).any():
            line = gaussian_overlap(mu, middle, ends)[1]
            inside |= (self.spare[:-1] >= line[0]) & (self.spare[1:] >= line[1])
        return np.asarray(inside)

    def guess(self) -> Reals:
        """Return a mu for every point, near the smallest that covers it."""
        mu, vague = _mu_at(self.grid, self.high), np.isfinite(self.spare)
        if vague.any():
            mu[vague] = _mu_sharing(self.grid[vague], self.spare[vague])
        return mu


def larger_mu(forward: Product, backward: Product, smallest_delta: float) -> Bound:
    """Return the larger of both directions' smallest mu.

    The second direction is left out if a proof shows that the first one's upper end covers it.
    """
    if smallest_delta == 0.0:
        for one, other in ((forward, backward), (backward, forward)):
            whole = _by_tails(one)
            if whole is not None and _general(other) <= _general(one):
                return whole
    first = smallest_mu(forward, smallest_delta)
    if backward == forward or _certainly_covered(backward, first.upper, smallest_delta):
        return first
    return first.maximum(smallest_mu(backward, smallest_delta))


def _certainly_covered(product: Product, mu: float, smallest_delta: float) -> bool:
    """Return whether a proof shows delta(eps) <= max(delta_mu(eps), smallest_delta).

    From the epsilon at which delta_mu is at most the smallest delta it is enough that delta is.
    Cells that fail are refined, unless an end of one is above delta_mu.
    """
    if not (0.0 < mu < math.inf and smallest_delta >= LEAST_DELTA):
        return False
    end = epsilon(Product.of(GaussianPair(mu_squared=Fraction(mu) ** 2)), smallest_delta).upper
    above = product.above().bundled()
    cells = _Known.of(above, _grid(end))
    for _ in range(_CHECKS):
        fails = cells.high > np.append(gaussian_profile(mu, cells.grid[:-1])[0], smallest_delta)
        if (fails & ~np.isfinite(cells.spare)).any():
            return False
        fails = ~cells.covered(mu)
        if not fails.any():
            return True
        cells = cells.refined(above, fails)
    return False


def _general(product: Product) -> float:
    """Return the mu of a product from its pairs' own."""
    return math.sqrt(product.added(lambda pair: pair.gdp_bound**2)) * (1 + 1e-14)


def _by_tails(product: Product) -> Bound | None:
    """Bracket the smallest mu over all deltas if the pairs' own are needed in the tails."""
    least, general = math.sqrt(gaussian_tails(product)) * (1 - 1e-14), _general(product)
    return Bound(least, general) if general <= least * (1 + _SAME) else None


def smallest_mu(product: Product, smallest_delta: float = 0.0) -> Bound:
    """Bracket the smallest mu with delta(eps) <= max(delta_mu(eps), smallest_delta) for eps >= 0.

    With smallest_delta = 0 this is Gaussian DP of one direction. If losses are unbounded the
    supremum may be at eps = inf; then the root of the sum of the pairs' own squared bounds
    (``gdp_bound``) is the upper end. Otherwise the curves are compared on a grid: on a cell, delta
    is below its chord in t = e^eps (convexity) and delta_mu above its tangent at the middle, so it
    is enough that the chord's ends are below that tangent.
    """
    endless_loss = infinite_mass(product.below()).lower > smallest_delta
    if endless_loss or (smallest_delta == 0.0 and has_infinite_loss(product.below())):
        return Bound.exactly(math.inf)
    by_tails = _by_tails(product) if smallest_delta == 0.0 else None
    if by_tails is not None:
        return by_tails
    general = _general(product)
    above, below = product.above().bundled(), product.below().bundled()
    mass, top = infinite_mass(above).upper, max_loss(above)
    needed, all_of_it = max(smallest_delta, LEAST_DELTA), smallest_delta < LEAST_DELTA
    endless = mass >= needed  # a table keeps some infinite mass
    bounded = math.isfinite(top) and mass == 0.0
    end, proved = top, True
    if not (all_of_it and bounded):
        end, proved = _provable_end(above, 2 * mass if endless else needed)
    if end <= 0.0 and proved:
        return Bound.exactly(0.0)
    grid = _grid(end)
    cells = _Known.of(above, grid)
    guess = cells.guess()
    verified = general
    if proved and not endless and not (all_of_it and not bounded):
        verified, cells = _verified(above, cells, float(guess.max()), general)
    likely = cells.grid[np.argsort(cells.guess())[-_LIKELY:]]
    best = _mu_below(below, np.append(likely, end * _SHORT), smallest_delta)
    if smallest_delta == 0.0:
        best = max(best, math.sqrt(gaussian_tails(product)) * (1 - 1e-14))
    if best < (1 - _WIDE) * verified and below not in (above, product):  # far apart
        best = max(best, smallest_mu(below, smallest_delta).lower)
    return Bound(min(best, verified), verified)


def _mu_below(product: Product, places: Reals, smallest_delta: float) -> float:
    """Return a mu that is needed for the profile at some places above the smallest delta."""
    low = deltas(product, places)[0]
    best = float(_mu_at(places, np.where(low > smallest_delta, low, 0.0)).max())
    vague = low > max(_VAGUE, smallest_delta)
    if vague.any():
        spare = log_overlap(product, places[vague])[1]
        best = max(best, float(_mu_sharing(places[vague], spare).max()))
    return best


def _mu_sharing(grid: Reals, spare: Reals) -> Reals:
    """Return a mu whose log(1 - delta) is above the one given at each point, and hardly more."""
    low, high = np.full(grid.shape, -40.0), np.full(grid.shape, 12.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        above = gaussian_overlap(np.exp(middle), grid, grid)[0] > spare
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(spare < _LEAST_SPARE, np.exp(low) * (1 - 1e-14), 0.0)


def _end(product: Product, smallest_delta: float) -> float:
    """Return an epsilon at which delta is at most the smallest one, close to the least such."""
    with contextlib.suppress(NotCertified):
        right = epsilon_above(product, smallest_delta)
        left = right * _NEAR_END
        for _ in range(_ROUNDS):
            points = np.linspace(left, right, _ROW)
            over = np.flatnonzero(deltas(product, points)[1] > smallest_delta)
            first = int(over[-1]) + 1 if over.size else 0
            if first == _ROW:
                break
            if first == 0 and left > 0.0:
                left = max(2 * left - right, 0.0)
            elif first == 0 or right - left < _CLOSE * right:
                return float(points[first])
            else:
                left, right = float(points[first - 1]), float(points[first])
    return epsilon(product, smallest_delta).upper


def _provable_end(product: Product, smallest_delta: float) -> tuple[float, bool]:
    """Return an end by a proof, and whether it is one of the smallest delta or of a larger one."""
    with contextlib.suppress(NotCertified):
        return _end(product, smallest_delta), True
    floor = float(deltas(product, np.array([_FAR]))[1][0])  # a table's roundings hold delta up
    return _end(product, 2 * floor), False


def _grid(end: float) -> Reals:
    """Return points from 0 to the end, evenly spaced and finer next to 0."""
    end = max(end, 1e-12)
    parts = np.linspace(0.0, end, _GRID), np.geomspace(end * 1e-4, end, _GRID)
    return distinct(np.concatenate(parts))


def _verified(product: Product, cells: _Known, best: float, general: float) -> tuple[float, _Known]:
    """Return the smallest mu above ``best`` for which every cell passes, and what was asked.

    The worst cells are refined, which shows a better ``best``.
    """
    proved = general

    def more(step: int) -> float:
        return best * (1 + 2.0 ** (step - 40))

    for _ in range(_ROUNDS):
        steps = range(_STEPS)
        first = bisect_left(steps, 1, key=lambda step: int(cells.covered(more(step)).all()))
        if first < _STEPS:
            proved = min(proved, more(first))
        if first <= _NARROW or cells.grid.size > _MOST or more(_NARROW) >= proved:
            break
        fails = ~cells.covered(more(first - 4))
        cells = cells.refined(product, fails)
        best = max(best, float(cells.guess().max()))
    return proved, cells


def _mu_at(grid: Reals, value: Reals) -> Reals:
    """Return a mu whose profile is at most the value at each point, and hardly less.

    It is found by bisection on log mu, then by Newton's steps for log delta in log mu.
    """
    low, high = np.full(grid.shape, -40.0), np.full(grid.shape, 12.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        above = gaussian_profile(np.exp(middle), grid)[1] > value
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    at = 0.5 * (low + high)
    with np.errstate(all="ignore"):  # what is not finite is left where it is
        for _ in range(_NEWTON):
            mu = np.exp(at)
            heights = gaussian_profile(mu, grid)[1]
            slope = mu * np.exp(-0.5 * (grid / mu - 0.5 * mu) ** 2) / math.sqrt(2 * math.pi)
            step = np.log(value / heights) * heights / slope
            at = np.clip(np.where(np.isfinite(step), at + step, at), low, high)
    mu = np.exp(at) * (1 - 1e-12)
    mu = np.where(gaussian_profile(mu, grid)[1] <= value, mu, np.exp(low))
    return np.where(value > 0, mu, 0.0)
