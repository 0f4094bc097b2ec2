"""Compute the power of the best test between P and Q."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.overlap import power_below
from dpproof.accountant.engine.profile import (
    closed_form,
    deltas,
    infinite_mass,
)
from dpproof.accountant.engine.saddle_point import find_saddle
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Product

_ROW = 17  # Points in a row of a search. Heuristic.
# An epsilon whose exponential is representable as a float. Beyond, no bound is returned.
_LARGEST = 700.0
_CLOSE = 1e-8  # Relative width at which a search ends. Heuristic.
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
    return Bound(lower, upper)


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
    left = find_saddle(
        product.swapped(),
        lambda one: log_rest - np.log1p(one.c) - one.log_delta,
    )
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
