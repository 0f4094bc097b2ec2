"""The best test between P and Q: its power, and the smallest mu of Gaussian DP."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from accountant.bound import Bound
from accountant.numerics.enclosure import Reals
from accountant.numerics.profile import deltas, epsilon, infinite_mass, max_loss
from accountant.numerics.saddle import find_saddle
from accountant.pairs.gaussian import gaussian_profile, gaussian_tangent
from accountant.pairs.product import Product

_GRID = 32
_MOST = 4000


def true_positive_rate(product: Product, false_positive_rate: float) -> Bound:
    """Largest P(S) over tests S with Q(S) = rate: the minimum over t of delta(t) + t rate.

    Any t gives an upper bound. As h(t) = delta(t) + t rate is convex, three points around the
    minimum give a lower one: between two of them h lies above the line through the others.
    """
    rate = false_positive_rate
    if rate <= 0.0:
        return Bound(infinite_mass(product.below()).lower, infinite_mass(product.above()).upper)
    if rate >= 1.0 or infinite_mass(product.below()).lower >= 1.0:
        return Bound.exactly(1.0)

    if not product.factors:
        return Bound.exactly(rate)

    def heights(x: Reals) -> Reals:
        return deltas(product, x)[1] + np.exp(x) * rate

    x = _minimise(heights, *_start(product, rate))
    upper = min(float(heights(np.array([x]))[0]) * (1 + 1e-15), 1.0)
    for gap in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        lower = _below_minimum(product, rate, x, gap)
        if lower is not None:
            return Bound(max(min(lower, upper), rate), upper)
    return Bound(rate, upper)


def _start(product: Product, rate: float) -> tuple[float, float]:
    """A guess of the epsilon with Q(L > epsilon) = rate, and of the scale around it.

    Tails as the saddle-point estimate has them: delta = P(L > eps) / (c + 1) and
    P(L > eps) = e^eps Q(L > eps) (c + 1) / c near the saddle c; below 0 in the swapped pair.
    """
    log_rate = math.log(rate)
    right = find_saddle(
        product.above(), lambda one: log_rate - np.log(one.c) - one.log_delta + one.epsilon
    )
    if right.epsilon > 0.0:
        return right.epsilon, 1.0 / right.c
    log_rest = math.log1p(-rate)
    left = find_saddle(
        product.swapped().above(),
        lambda one: log_rest - np.log1p(one.c) - one.log_delta,
    )
    return min(-left.epsilon, 0.0), 1.0 / left.c


def _minimise(heights: Callable[[Reals], Reals], x: float, width: float) -> float:
    """Where a convex function is least, by ever finer rows of points; only a guess."""
    width = min(max(width, 1e-2), 50.0)  # the scale may be that of a single atom
    for _ in range(60):
        points = np.linspace(x - width, x + width, 9)
        best = int(np.argmin(heights(points)))
        x = float(points[best])
        if 0 < best < 8:
            if width < 1e-8 * max(1.0, abs(x)):
                break
            width /= 4
        else:
            width = min(2 * width, 50.0)
    return x


def _below_minimum(product: Product, rate: float, x: float, gap: float) -> float | None:
    """Lower bound of the minimum of h from three points, None if they do not enclose it."""
    points = [x - gap, x, x + gap]
    t = [math.exp(point) for point in points]
    found = deltas(product, np.array(points))
    low = [b + one * rate for b, one in zip(found[0].tolist(), t, strict=True)]
    high = [b + one * rate for b, one in zip(found[1].tolist(), t, strict=True)]
    if high[1] > low[0] or high[1] > low[2]:
        return None
    from_right = low[1] - (high[2] - low[1]) / (t[2] - t[1]) * (t[1] - t[0])
    from_left = low[1] - (high[0] - low[1]) / (t[1] - t[0]) * (t[2] - t[1])
    return float(min(low[1], from_right, from_left) * (1 - 1e-14))


def smallest_mu(product: Product, smallest_delta: float = 0.0) -> Bound:
    """Smallest mu with delta(eps) <= max(delta_mu(eps), smallest_delta) for all eps >= 0.

    With smallest_delta = 0 this is Gaussian DP of one direction. Where losses are unbounded
    the supremum may sit at eps = inf; then the root of the sum of the pairs' own squared
    bounds (``gdp_bound``) is the upper end. Otherwise the curves are compared on a grid: on a
    cell, delta is below its chord in t = e^eps (convexity) and delta_mu above its tangent at
    the middle, so it is enough that the chord's ends are below that tangent.
    """
    if infinite_mass(product.below()).lower > smallest_delta:
        return Bound.exactly(math.inf)
    squares = sum(f.count * f.pair.gdp_bound**2 for f in product.factors)
    general = math.sqrt(squares) * (1 + 1e-14)
    end = epsilon(product, max(smallest_delta, 1e-300)).upper
    bounded = math.isfinite(max_loss(product)) and infinite_mass(product.above()).upper == 0.0
    if smallest_delta == 0.0 and bounded:
        end = max_loss(product)
    if end <= 0.0:
        return Bound.exactly(0.0)
    endless = math.isinf(end)  # a table keeps some infinite mass
    if endless:
        end = epsilon(product, 2 * infinite_mass(product.above()).upper).upper
    end = max(end, 1e-12)
    grid = np.union1d(np.linspace(0.0, end, _GRID), np.geomspace(end * 1e-4, end, _GRID))
    low, high = deltas(product, grid)
    best = float(_mu_at(grid, low).max())
    if endless or (smallest_delta == 0.0 and not bounded):
        return Bound(min(best, general), general)
    verified = _verified(product, grid, high, best, general)
    return Bound(min(best, verified), verified)


def _verified(product: Product, grid: Reals, high: Reals, best: float, general: float) -> float:
    """The smallest mu above ``best`` for which every cell passes, refining the worst cells."""
    previous = math.inf
    for _ in range(12):
        for step in range(2, 44):
            mu = best * (1 + 2.0 ** (-40 + step))
            if mu >= general:
                return general
            fails = ~_covered(grid, high, mu)
            if not fails.any():
                break
        if step <= 18 or grid.size > _MOST or mu >= previous:
            return min(mu, previous)
        previous = mu
        fails = ~_covered(grid, high, best * (1 + 2.0 ** (-42 + step)))
        left, right = grid[:-1][fails], grid[1:][fails]
        new = np.sort(np.concatenate([left + (right - left) * k / 8 for k in range(1, 8)]))
        places = np.searchsorted(grid, new)
        grid = np.insert(grid, places, new)
        high = np.insert(high, places, deltas(product, new)[1])
    return previous


def _covered(grid: Reals, high: Reals, mu: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether mu-GDP's tangent covers the chord, cell by cell."""
    middle = 0.5 * (grid[:-1] + grid[1:])
    left, right = (gaussian_tangent(mu, middle, end) for end in (grid[:-1], grid[1:]))
    return (high[:-1] <= left) & (high[1:] <= right)  # nan compares as not covered


def _mu_at(grid: Reals, value: Reals) -> Reals:
    """A mu whose profile is at most the value at each point, by bisection on log mu."""
    low, high = np.full(grid.shape, -40.0), np.full(grid.shape, 12.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = gaussian_profile(np.exp(middle), grid)[1] > value
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return np.where(value > 0, np.exp(low), 0.0)
