"""Bound K beside a contour: the distance of its nodes, and the aliases that they leave.

The estimates at a saddle decide the distance; ``real_bounds``, ``along``, ``chernoff`` and
``Aliases`` are rigorous, and a contour relies on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.arrays import distinct
from dpproof.accountant.arithmetic.enclosure import (
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
    joined,
    rounded_short,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.each_factor import cgfs, cgfs_along, steers
from dpproof.accountant.engine.saddle_point import CHUNK, Saddle, sum_cgf, total_cgf
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.product import Product

_LONGEST = 1e100  # Largest distance of aliases that is used. Larger ones raise.
# Relative and absolute error allowed in an estimate of K. Heuristic: ``build`` verifies the
# estimate.
_ROOM, _LEAST_ROOM = 1e-3, 1e-12


@final
@dataclass(frozen=True, slots=True)
class RealBounds:
    """Bounds of K on the real axis, where M is real.

    Attributes:
        points: shape (n,), increasing: 0, those of a saddle and its c.
        upper: shape (n,), upper bounds of K there (K(0) <= 0).
        moments: bounds of K(c) of each factor's pair.
    """

    points: Reals
    upper: Reals
    moments: tuple[Bound, ...]

    def at(self, c: float) -> float:
        """Return the upper bound of K at one of the points."""
        return float(self.upper[self.points == c][0])


def real_bounds(product: Product, saddle: Saddle) -> RealBounds:
    """Bound K at the points of a saddle."""
    c = rounded_short(saddle.c)
    points = distinct(np.array([*saddle.points, c]))
    each = cgfs(product, points + 0j)
    total = sum_cgf(product, each, points.shape)
    at = int(np.searchsorted(points, c))
    return RealBounds(
        np.append(0.0, points),
        np.append(0.0, total.value.real + total.radius).astype(float),
        tuple(_real(one, at) for one in each),
    )


def along(product: Product, saddle: Saddle, s: Complexes) -> tuple[Enclosure, RealBounds]:
    """Enclose K on a line that starts at the saddle's c, and bound it at the saddle's points."""
    points, line = np.array(saddle.points), s[:CHUNK]
    each = cgfs_along(product, points, line)
    total, after = sum_cgf(product, each, (points.size + line.size,)), points.size
    places = np.concatenate([[0.0], points, s.real[:1]])
    upper = np.append(0.0, (total.value.real + total.radius)[: after + 1]).astype(float)
    order = np.argsort(places)
    known = RealBounds(places[order], upper[order], tuple(_real(one, after) for one in each))
    found = Enclosure(total.value[after:], total.radius[after:])
    if s.size > CHUNK:
        found = joined([found, total_cgf(product, s[CHUNK:])])
    return found, known


def expected(product: Product, saddle: Saddle) -> RealBounds:
    """Estimate what ``real_bounds`` will return.

    Heuristic: used to choose a contour, and verified afterwards. The ends of the moments leave room
    for a few wrong digits.
    """
    c, factors = rounded_short(saddle.c), product.factors
    known = sorted([(0.0, 0.0), *zip(saddle.points, saddle.values, strict=True), (c, saddle.value)])
    points, upper = (np.array(one) for one in zip(*known, strict=True))
    if len(factors) == 1:
        moments = [saddle.value / factors[0].count]
    else:
        moments = [float(one[0][0]) for one in steers(product, np.array([c]))]
    room = [_ROOM * abs(one) + _LEAST_ROOM for one in moments]
    around = (Bound(one - more, one + more) for one, more in zip(moments, room, strict=True))
    return RealBounds(points, upper, tuple(around))


def _real(found: Enclosure, at: int) -> Bound:
    """Return the bracket of the real part of one value."""
    value, radius = found.value.real[at], found.radius[at]
    return Bound(float(value - radius), float(value + radius))


def chernoff(c: Reals, upper: Reals, epsilon: float | Reals) -> Reals:
    """Return Chernoff's bounds of log delta(epsilon) from upper bounds of K(c), rounded up."""
    entropy = np.log1p(c) + c * np.log1p(1 / c)
    size = np.abs(upper) + c * np.abs(epsilon) + entropy
    return np.asarray(upper - c * epsilon - entropy + 16 * UNIT_ROUNDOFF * size)


def alias_step(saddle: Saddle, known: RealBounds) -> float:
    """Return the largest step whose aliases are negligible against the estimate of delta.

    Raises:
        NotCertified: it would vanish, next to the largest loss or where K is known no further.
    """
    c = rounded_short(saddle.c)
    with np.errstate(invalid="ignore"):  # infinities of losses beyond 1e60, refused below
        needed = known.upper - known.points * saddle.epsilon
        needed -= saddle.log_delta + saddle.log_tolerance
    if np.isnan(needed).any():
        raise NotCertified(
            f"the moment of order {1 + c:.6g} of the privacy loss, which this answer is computed "
            f"from, is not representable as a float; {EASIER}"
        )
    gap = np.abs(known.points - c)
    period = 0.0
    for side in (known.points < c, known.points > c):
        each = np.maximum(needed[side], 4.0) / gap[side]
        period = max(period, float(each.min(initial=math.inf)))
    if not period < _LONGEST:
        raise NotCertified(
            "the answer lies so near the largest privacy loss that sums over losses are not "
            f"representable as floats (order {1 + c:.6g}); {EASIER}"
        )
    return rounded_short(2 * math.pi / period)


@final
@dataclass(frozen=True, slots=True)
class Aliases:
    """A bound of the sum over m != 0 of delta(eps + m R) e^{c m R}, at every eps.

    Chernoff: delta(x) <= M(c') e^{-c' x}; a point c' < c serves m < 0, c' > c serves m > 0,
    each a geometric series with ratio e^{-|c - c'| R}.

    Attributes:
        places: for each side, shape (m,), points c' other than c.
        heights: for each side, shape (m,), logs of the bounds at eps = 0.
    """

    places: tuple[Reals, Reals]
    heights: tuple[Reals, Reals]

    @staticmethod
    def of(known: Reals, c: float, period: float) -> Aliases:
        """Return the bound from points c' and upper bounds of K there, shape (m, 2).

        The distance R is rounded down.
        """
        sides = known[known[:, 0] < c], known[known[:, 0] > c]
        gaps = [np.abs(side[:, 0] - c) * period for side in sides]
        lower, upper = (
            side[:, 1] + 1e-12 * np.abs(side[:, 1]) - gap - np.log(-np.expm1(-gap))
            for side, gap in zip(sides, gaps, strict=True)
        )
        return Aliases((sides[0][:, 0], sides[1][:, 0]), (lower, upper))

    def log_excess(self, epsilon: Reals) -> Reals:
        """Return the log of the bound at each epsilon, shape (n,)."""
        lower, upper = (
            (height - np.multiply.outer(epsilon, place)).min(axis=1, initial=np.inf)
            for place, height in zip(self.places, self.heights, strict=True)
        )
        return np.asarray(np.logaddexp(lower, upper))
