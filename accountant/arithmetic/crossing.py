"""Bracket the point at which a profile known by brackets crosses a level.

Both ends are proved by single evaluations; everything else is a heuristic search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals, distinct
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified

_STEPS = 60  # Most rounds of the search for a crossing. Heuristic.
_NARROW = 1e-14  # Relative width at which a crossing counts as found. Heuristic.
# Share of a bracket's width by which its upper end may be below the target. Heuristic.
_SHARE = 0.01
# Shares of an interval at which points next to one end are tried. Heuristic.
_BESIDE = np.append(0.5, 16.0 ** -np.arange(1.0, 10.0))
# Multiples of the width at which the first points are tried. Heuristic.
_AROUND = np.array([-1.0, -0.2, -0.02, 0.02, 0.2, 1.0])
_NEARLY = 1e-7  # Relative distance of points after which the next may be the last. Heuristic.
# Relative distances below a point at which lower ends are looked for. Heuristic.
_LADDER = 4.0 ** np.arange(-24, -12)
# Relative widths of a bracket that are tried together. Heuristic.
_COARSER = 16.0 ** np.arange(-12, -3)
# Widths tried next, relative to the narrowest of them that was proved. Heuristic.
_FINER = 2.0 ** np.arange(-3, 0)

X = TypeVar("X", float, Fraction)

# Farthest point that is tried: products with it are floats. Losses are far smaller. Heuristic.
_FARTHEST = 1e200


def bisect(
    exceeds: Callable[[X], bool],
    low: X,
    high: X,
    *,
    rounds: int = 60,
    near: float = 0.0,
    close: float = 0.0,
) -> tuple[X, X]:
    """Halve an interval at whose left end a condition holds, and at whose right end it does not.

    It stops at a width of ``near`` times the right end plus ``close``.
    """
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
        if high - low <= near * high + close:
            break
    return low, high


def bisect_integers(exceeds: Callable[[int], bool], low: int, high: int) -> tuple[int, int]:
    """Halve an interval as ``bisect`` does, until its ends are neighbouring integers."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return low, high


def least_count(suffices: Callable[[int], bool], most: int) -> int | None:
    """Return a number up to ``most`` that suffices while the one before does not, or None."""
    high = 1
    while not suffices(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    return bisect_integers(lambda number: not suffices(number), high // 2, high)[1]


def invert(
    brackets: Callable[[Reals], tuple[Reals, Reals]],
    target: tuple[float, float],
    start: float,
    width: float,
    top: float,
) -> Bound:
    """Bracket the smallest epsilon in [0, top] at which delta reaches the target.

    A point at which the upper bound of log delta is at most the target is an upper end, one at
    which the lower bound is at least the target a lower end, whatever lies between. A bound that is
    nan proves nothing. The target is a log, rounded down (for the upper end) and up.
    """
    best = 0.0

    def to_upper(points: Reals) -> Reals:
        nonlocal best
        queried = points
        if points[-1] - points[0] <= _NEARLY * points[-1]:  # the end is near: lower ends as well
            queried = np.concatenate([points, points[-1] * (1.0 - _LADDER)])
        low, high = brackets(queried)
        best = max(best, float(queried[_rises(low, target[1]) > 0].max(initial=0.0)))
        low, high = low[: points.size], high[: points.size]
        gap = np.where(np.isnan(high), np.inf, high) - target[0]
        width = np.subtract(high, low, out=np.zeros(gap.shape), where=np.isfinite(low))
        near = (gap <= 0) & (gap >= -_SHARE * width)
        return np.where(near, 0.0, gap)

    def to_lower(points: Reals) -> Reals:
        return _rises(brackets(points)[0], target[1])

    _, right = _crossing(to_upper, start, width, top)
    if right - best <= _LADDER[-1] * right:
        return Bound(min(best, right), right)
    left, scale = 0.0, max(right, 1e-3 * width)
    for shares in (_COARSER, _FINER):
        below = np.array([x for x in right - scale * shares if x > left])
        beyond = below[to_lower(below) > 0] if below.size else below
        if not beyond.size:
            break
        left = float(beyond[0])
        scale = right - left
    if left > 0.0:
        return Bound(left, right)
    near = min(right, start + 1e3 * width)
    left, _ = _crossing(to_lower, near, 1e-6 * (near + width), top)
    return Bound(min(left, right), right)


Brackets = Callable[[Reals, NDArray[np.intp]], tuple[Reals, Reals]]
# Distances from a crossing at which ends are looked for, in units of what blurs it. Heuristic.
_NEAR = np.array([-64.0, -8.0, -1.0, 1.0, 8.0, 64.0])
_CLOSE = 0.25  # Share of a bracket's width from the target at which a search ends. Heuristic.
_BLURRED = 1.5  # What blurs a crossing, in units of a bracket's width over the slope. Heuristic.


def crossings(
    brackets: Brackets,
    target: tuple[Reals, Reals],
    start: Reals,
    slope: Reals,
    *,
    rough: Brackets | None = None,
) -> tuple[Reals, Reals]:
    """Bracket where each of p falling functions reaches its target, as ``invert`` does for one.

    The target is its log, rounded down (for the upper end) and up. ``rough`` brackets, if cheaper,
    lead the search; infinite ones end it. Both ends have shape (p,); nan where one is not proved.
    """
    x, steep = start.copy(), slope.copy()
    left, right = np.zeros(x.shape), np.full(x.shape, np.inf)
    last, above = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    active = np.arange(x.size)
    for _ in range(_STEPS):
        here = x[active]
        low, high = (one[:, 0] for one in (rough or brackets)(here[:, None], active))
        gap = high - target[0][active]
        blur = np.where(np.isfinite(low) & np.isfinite(high), high - low, 0.0)
        left[active] = np.where(gap > 0.0, here, left[active])
        right[active] = np.where(gap > 0.0, right[active], here)
        secant = (above[active] - gap) / (here - last[active])
        steep[active] = np.where(secant > 0.1 * slope[active], secant, steep[active])
        last[active], above[active] = here, gap
        there = here + gap / steep[active]
        inside = (there > left[active]) & (there < right[active])
        middle = np.where(np.isinf(right[active]), 2.0 * here, 0.5 * (left + right)[active])
        there = np.where(inside, there, middle)
        x[active] = np.where(np.abs(gap) <= _CLOSE * blur, here, there)
        active = active[(np.abs(x[active] - here) > _NARROW * here) & np.isfinite(gap)]
        if not active.size:
            break
    every = np.arange(x.size)
    low, high = (one[:, 0] for one in brackets(x[:, None], every))
    width = np.where(np.isfinite(low) & np.isfinite(high), high - low, 0.0)
    tried = x[:, None] + (_BLURRED * width / slope + 2.0**-50 * x)[:, None] * _NEAR
    low, high = brackets(np.maximum(tried, 0.0), every)
    lower = np.where((low >= target[1][:, None]) & (tried > 0.0), tried, -np.inf).max(axis=1)
    upper = np.where((high <= target[0][:, None]) & (tried > 0.0), tried, np.inf).min(axis=1)
    proved = np.isfinite(lower) & np.isfinite(upper)
    return np.where(proved, lower, np.nan), np.where(proved, upper, np.nan)


def _rises(low: Reals, target: float) -> Reals:
    """Return by how much lower ends exceed the target, rounded down; -inf if the end is nan."""
    return np.nextafter(np.where(np.isnan(low), -np.inf, low) - target, -np.inf)


def _crossing(
    gap: Callable[[Reals], Reals], start: float, width: float, top: float
) -> tuple[float, float]:
    """Return close points with gap > 0 at the left (or the left is 0) and gap <= 0 at the right.

    Heuristic: the caller proves its ends by the values at them. Past ``top`` the gap counts as
    negative; where it is 0 the search ends. First several points around the start, with steps of
    growing length where they do not straddle the crossing; then inverse interpolation through the
    points nearest to it, with two companions as far away as its error is guessed to be, so that
    both ends move; where only one does, with points at all distances from it.
    """
    points = distinct(np.clip(start + width * _AROUND, 0.0, top))
    values = gap(points)
    rising = int((values > 0).sum())
    if 0 < rising < points.size and (values[:rising] > 0).all():
        low, high = float(points[rising - 1]), float(points[rising])
    else:
        low, high, at_low, at_high = _straddle(gap, min(start, top), width, top)
        points, values = np.array([low, high]), np.array([at_low, at_high])
    for _ in range(_STEPS):
        size = high - low
        if size <= _NARROW * high or low >= top * (1 - 1e-15) or (values == 0.0).any():
            break
        estimate, error = _inverse(points, values)
        if not low < estimate < high:
            estimate, error = 0.5 * (low + high), 0.25 * size
        error = min(max(2.0 * error, 2 * math.ulp(estimate)), 0.25 * size)
        new: Reals = estimate + error * np.array([-1.0, 0.0, 1.0])
        before = low, high
        for _ in range(2):
            new = distinct(np.clip(new, low, high))
            gaps = gap(new)
            points, values = np.append(points, new), np.append(values, gaps)
            low = float(new[gaps > 0].max(initial=low))
            high = float(new[(gaps <= 0) & (new > low)].min(initial=high))
            if (before[0] < low and high < before[1]) or (gaps == 0.0).any():
                break
            size = high - low  # all on one side: the crossing is close to them
            new = low + size * _BESIDE if before[0] < low else high - size * _BESIDE
    close = points[values == 0.0]
    return low, float(close.min()) if close.size else high


def _inverse(points: Reals, values: Reals) -> tuple[float, float]:
    """Estimate by inverse interpolation where falling values cross 0, and the estimate's error.

    Heuristic: Neville's scheme through the four values nearest to 0, against that through three.
    """
    nearest = np.argsort(np.abs(values))
    places: dict[float, float] = {}
    for value, point in zip(values[nearest].tolist(), points[nearest].tolist(), strict=True):
        places.setdefault(value, point)
    y, x = list(places)[:4], list(places.values())[:4]
    if len(x) < 2 or not math.isfinite(sum(y)):
        return math.nan, 0.0
    last = x[0]
    for level in range(1, len(x)):
        last = x[0]
        for i in range(len(x) - level):
            x[i] = (y[i + level] * x[i] - y[i] * x[i + 1]) / (y[i + level] - y[i])
    return x[0], abs(x[0] - last)


def _straddle(
    gap: Callable[[Reals], Reals], start: float, width: float, top: float
) -> tuple[float, float, float, float]:
    """Return two points around the sign change and the gaps there; the ends are 0 and ``top``."""
    at = float(gap(np.array([start]))[0])
    right = at > 0
    here, step = start, width
    while True:
        there = min(here + step, top) if right else max(here - step, 0.0)
        if right and top < math.inf and (there == top or there > _FARTHEST):
            return here, top, at, -math.inf
        if there > _FARTHEST:
            raise NotCertified(
                f"delta is not proved to be at most its target at any epsilon up to {_FARTHEST:g}; "
                "use more noise, or ask for delta at an epsilon"
            )
        beyond = float(gap(np.array([there]))[0])
        if right and beyond <= 0:
            return here, there, at, beyond
        if not right and (beyond > 0 or there == 0.0):
            return (there, here, beyond, at) if beyond > 0 else (0.0, 0.0, 0.0, 0.0)
        here, at, step = there, beyond, 2.5 * step
