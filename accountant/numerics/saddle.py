"""Where to put the contour: real-axis values of K, and the tilt that suits a question.

Nothing here is trusted: any c > 0 gives a valid contour, a good one gives a narrow bracket.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from accountant.errors import NotCertified
from accountant.numerics.enclosure import UNIT_ROUNDOFF, Complexes, Enclosure, Reals
from accountant.pairs.product import Product

_CHUNK = 1024
LOG_TOLERANCE = -34.0  # truncation and aliasing, relative to delta
_SMALLEST, _LARGEST = 1e-9, 1e9
_CLOSE = 0.05  # in log c
_STRIDE = 1.0
_MOST_STEPS = 60


def total_cgf(product: Product, s: Complexes) -> Enclosure:
    """K of the product: the counts times K of each pair, errors added up."""
    value = np.zeros(s.shape, dtype=complex)
    radius = np.zeros(s.shape)
    size = np.zeros(s.shape)
    ceiling = np.zeros(s.shape)
    for start in range(0, s.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        for factor in product.factors:
            one = factor.pair.cgf(s[part])
            scaled = factor.count * one.value
            value[part] += scaled
            size[part] += np.abs(scaled)
            radius[part] += factor.count * one.radius
            known = np.where(np.isfinite(one.radius), one.radius, 0.0)
            ceiling[part] += scaled.real + factor.count * known
    rounding = (len(product.factors) + 4) * UNIT_ROUNDOFF * size
    lost = np.isinf(radius)
    value = np.where(lost, ceiling + 1e-12 * np.abs(ceiling) + rounding, value)
    return Enclosure(value, radius * (1 + 1e-12) + rounding)


@final
@dataclass(frozen=True, slots=True)
class Saddle:
    """K and its first two derivatives at one real c, with the questions it suits.

    Attributes:
        c: above 0.
        value: K(c).
        epsilon: the epsilon whose saddle point is c, K'(c) - 1/c - 1/(1 + c).
        spread: the second derivative of the exponent, K''(c) + 1/c^2 + 1/(1+c)^2.
        log_delta: the saddle-point estimate of log delta(epsilon).
    """

    c: float
    value: float
    epsilon: float
    spread: float
    log_delta: float

    @staticmethod
    def of(c: float, value: float, slope: float, bend: float) -> Saddle:
        """From K, K' and K'' at c."""
        epsilon = slope - 1 / c - 1 / (1 + c)
        spread = bend + c**-2.0 + (1 + c) ** -2.0
        exponent = value - c * epsilon - math.log(c) - math.log1p(c)
        return Saddle(c, value, epsilon, spread, exponent - 0.5 * math.log(2 * math.pi * spread))


def saddle_at(product: Product, c: float) -> Saddle:
    """The saddle at a real point, from what the pairs say to a few digits."""
    value = slope = bend = 0.0
    for factor in product.factors:
        one = factor.pair.steer(c)
        value += factor.count * one[0]
        slope += factor.count * one[1]
        bend += factor.count * max(one[2], 0.0)
    return Saddle.of(c, value, slope, bend)


def find_saddle(product: Product, excess: Callable[[Saddle], float]) -> Saddle:
    """The saddle where a function that increases in c crosses 0, within about 5 % in c.

    Starts from the Gaussian with the loss variance of the product and goes on by secants in
    log c, kept inside the bracket of the crossing. Where K is out of reach the crossing is
    taken to be below.
    """
    variance = 2.0 * saddle_at(product, 1e-3).value / (1e-3 * 1.001)
    guess = _gaussian_guess(max(variance, 1e-300), excess)
    low, high = (math.log(_SMALLEST), -math.inf), (math.log(_LARGEST), math.inf)
    at, best = math.log(guess), None
    for count in range(_MOST_STEPS):
        try:
            point = saddle_at(product, math.exp(at))
            gap = excess(point)
        except NotCertified:
            if at <= low[0] + _CLOSE and best is None:
                raise
            gap = math.inf
        if math.isfinite(gap) and (best is None or abs(gap) < abs(best[0])):
            best = gap, point
        low, high = ((at, gap), high) if gap < 0 else (low, (at, gap))
        if high[0] - low[0] < _CLOSE:
            break
        at = _next(low, high, at, halve=count % 3 == 2)
    if best is None:
        raise NotCertified("K cannot be computed at any order that suits this question")
    return best[1]


def _next(low: tuple[float, float], high: tuple[float, float], at: float, *, halve: bool) -> float:
    """Where to look next: near the secant's root, so that the bracket becomes close around it.

    At times in the middle, as secants of a bent function creep; with one end only, a stride on.
    """
    width = high[0] - low[0]
    if math.isfinite(low[1]) and math.isfinite(high[1]):
        if halve or width < 2 * _CLOSE:
            return low[0] + 0.5 * width
        root = low[0] + width * low[1] / (low[1] - high[1])
        return min(max(root, low[0] + 0.9 * _CLOSE), high[0] - 0.9 * _CLOSE)
    step = _STRIDE if math.isfinite(low[1]) else -_STRIDE
    return at + step if width > 2 * _STRIDE else low[0] + 0.5 * width


def _gaussian_guess(variance: float, excess: Callable[[Saddle], float]) -> float:
    """The answer for a Gaussian product of this loss variance, by bisection in log c."""
    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    for _ in range(16):
        middle = 0.5 * (low + high)
        c = math.exp(middle)
        point = Saddle.of(c, 0.5 * variance * c * (c + 1), variance * (c + 0.5), variance)
        if excess(point) < 0:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


def short(value: float) -> float:
    """Keep 20 significant bits, so that sums and small multiples are exact."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * (1 << 20)) / (1 << 20), exponent)


def real_bounds(product: Product, c: float, saddle: Saddle) -> tuple[Reals, Reals]:
    """Points around c, c itself and 0, and upper bounds of K there (K(0) <= 0)."""
    offsets = np.geomspace(0.02, 8.0, 6) / math.sqrt(saddle.spread)
    below = c - offsets
    points = np.concatenate([below[below > 0], [c], np.unique(c + np.minimum(offsets, c))])
    cgf = total_cgf(product, points + 0j)
    upper = cgf.value.real + cgf.radius
    return np.concatenate([[0.0], points]), np.concatenate([[0.0], upper])


def alias_step(c: float, saddle: Saddle, points: Reals, upper: Reals) -> float:
    """The largest step whose aliases are negligible against the estimate of delta."""
    needed = upper - points * saddle.epsilon - saddle.log_delta - LOG_TOLERANCE
    gap = np.abs(points - c)
    period = 0.0
    for side in (points < c, points > c):
        period = max(period, float(np.min(np.maximum(needed[side], 4.0) / gap[side])))
    return short(2 * math.pi / period)


def log_alias_excess(aliases: Reals, c: float, period: float, epsilon: Reals) -> Reals:
    """Log of a bound of sum over m != 0 of delta(eps + m R) e^{c m R}.

    Chernoff: delta(x) <= M(c') e^{-c' x}; a point c' < c serves m < 0, c' > c serves m > 0,
    each a geometric series with ratio e^{-|c - c'| R}.

    Args:
        aliases: shape (m, 2), points c' other than c and upper bounds of K(c').
        c: abscissa of the contour.
        period: R, rounded down.
        epsilon: shape (n,).
    """
    total = np.full(epsilon.shape, -np.inf)
    for below in (True, False):
        side = aliases[(aliases[:, 0] < c) == below]
        gap = np.abs(side[:, 0] - c) * period
        each = side[:, 1] - np.multiply.outer(epsilon, side[:, 0])
        each = each - gap - np.log(-np.expm1(-gap)) + 1e-12 * np.abs(side[:, 1])
        total = np.logaddexp(total, each.min(axis=1))
    return total
