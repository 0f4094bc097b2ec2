"""Compute the profile of two sampled releases from a fine table of each, without sums over K.

At low sampling rates the loss of one release is nearly always close to 0, and rarely as large as
without a sample. Sums over K have to resolve both scales evenly; tables of a profile need not, and
two of them give the profile of the product (arithmetic/two_tables.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import final

import numpy as np

from accountant.arithmetic.convex_profile import ProfileHalf, above, below
from accountant.arithmetic.crossing import invert
from accountant.arithmetic.enclosure import Complexes, Enclosure, Reals, log_down, log_up
from accountant.arithmetic.two_tables import PiecewiseLinear, product_profile
from accountant.bound import Bound
from accountant.engine.profile import infinite_mass, log_ends, max_loss
from accountant.errors import NotCertified
from accountant.pairs.exact import ExactPair
from accountant.pairs.pair import Pair
from accountant.pairs.product import Product
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from accountant.pairs.symmetry import CommonSupport
from accountant.subsampling.subsampled import Direction, SubsampledPair

_FINE = 4096  # Losses of a table on either side of 0. Heuristic: brackets are some 1e-5 wide.
_SMALL = 1e-60  # A profile from which losses do not matter. Heuristic: the rest is added.
_FURTHEST = 600.0  # Largest end of a table, nats.
# Loss at which a table's losses turn from even to geometric, in total variations. Heuristic.
_CENTRAL = 0.25
# Shares of the last step at which a table has losses. Heuristic.
_TOWARDS_END = 0.5 ** np.arange(1.0, 21.0)
_LEAST_LEVEL = 1e-40  # Least delta that tables which end at ``_SMALL`` invert. Smaller ones raise.
# Values of e^{mu^2} / q from which sums over K are slow. Heuristic.
_ROUGH, _VERY_ROUGH = 100.0, 1e6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTwice(CommonSupport, ExactPair):
    """The product of two pairs with closed profiles, known by its profile.

    Attributes:
        first: one of the pairs.
        second: the other, perhaps the same.
    """

    first: Pair
    second: Pair

    def swapped(self) -> ReleasedTwice:
        """Return the product of the swapped pairs."""
        return ReleasedTwice(first=self.first.swapped(), second=self.second.swapped())

    @property
    def zcdp_bound(self) -> float:
        """Return the sum of the pairs' rho, rounded up."""
        return (self.first.zcdp_bound + self.second.zcdp_bound) * (1 + 1e-15)

    @property
    def gdp_bound(self) -> float:
        """Return the root of the sum of the squares of the pairs' mu, rounded up."""
        return math.hypot(self.first.gdp_bound, self.second.gdp_bound) * (1 + 1e-15)

    @property
    def is_quick(self) -> bool:
        """Return True: tables of both pairs are cached."""
        return True

    @property
    def end(self) -> float:
        """Return the sum of the losses at which the pairs' tables end."""
        return _end(self.first) + _end(self.second)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose the sum of the pairs' K.

        For a sample whose K is not known, that of a pair above.
        """
        both = self.first.cgf(s), self.second.cgf(s)
        return Enclosure(both[0].value + both[1].value, both[0].radius + both[1].radius)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return self.first.work(s) + self.second.work(s)

    @property
    def max_loss(self) -> float:
        """Return the sum of the pairs' largest losses, rounded up."""
        return (_largest(self.first) + _largest(self.second)) * (1 + 1e-15)

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' by the sums of the pairs' values."""
        both = self.first.steer(c), self.second.steer(c)
        value, slope, bend = (one + other for one, other in zip(*both, strict=True))
        return value, slope, bend

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by tables of both pairs below and above.

        Statement: replacing either pair of a product by one with a smaller (larger) profile
            makes the product's profile smaller (larger).
        Source: H_t(P x P' | Q x Q') is a mixture of values of the profile of (P', Q'), see
            arithmetic/two_tables.py, and the product does not depend on the order.
        """
        one, two = _tables(self.first), _tables(self.second)
        lower, upper = (
            product_profile(x, y, epsilon, sign)
            for x, y, sign in zip(one, two, (-1.0, 1.0), strict=True)
        )
        return np.maximum(lower, 0.0), np.minimum(upper, 1.0)

    def delta(self, epsilon: float) -> Bound:
        """Bracket delta at one epsilon of either sign."""
        if epsilon < 0:
            other, t = self.swapped().delta(-epsilon), math.exp(epsilon)
            gap = -math.expm1(epsilon)
            low, high = ((gap + t * end) for end in (other.lower, other.upper))
            return Bound(max(low * (1 - 1e-15), 0.0), min(high * (1 + 1e-15), 1.0))
        lower, upper = self.profile(np.array([epsilon]))
        return Bound(float(lower[0]), float(upper[0]))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon at one delta.

        Raises:
            NotCertified: delta is smaller than what the tables resolve.
        """
        level, end = Bound.of(delta), self.end
        if not (level.lower >= _LEAST_LEVEL and self.delta(end).upper <= level.lower):
            raise NotCertified(f"two tables are not inverted at delta = {level.lower:.3g}")
        target = log_down(np.array(level.lower)).item(), log_up(np.array(level.upper)).item()
        ends = partial(log_ends, self, Bound.exactly(0.0))  # no part of delta is set aside
        start = self._guess(level.lower)
        return invert(ends, target, start, 0.1 * start, math.inf)

    def _guess(self, delta: float) -> float:
        """Estimate an epsilon for a delta above 0.

        Heuristic: it only saves steps of the search.
        """
        grid = self.end * np.geomspace(1e-12, 1.0, 97)
        small = np.flatnonzero(self.profile(grid)[1] <= delta)
        return float(grid[small[0]])


def released_twice(product: Product) -> ReleasedTwice | None:
    """Return two releases as one pair known by tables of each, or None if sums over K suit.

    Heuristic: the choice is between two valid brackets.
    """
    if sum(factor.count for factor in product.factors) != 2:
        return None
    pairs = [factor.pair for factor in product.factors for _ in range(factor.count)]
    rough = [_roughness(pair) for pair in pairs]
    if min(rough) < _ROUGH and max(rough) < _VERY_ROUGH:
        return None
    if not all(_is_known(pair) for pair in pairs):
        return None
    try:
        for pair in pairs:
            _tables(pair)
    except NotCertified:  # losses too large for tables
        return None
    return ReleasedTwice(first=pairs[0], second=pairs[1])


def _roughness(pair: Pair) -> float:
    """Return how much harder sums over K are than for pairs without sampling.

    Heuristic.
    """
    if isinstance(pair, SubsampledPair):
        return 0.0 if pair.is_exact else math.inf
    if isinstance(pair, SubsampledGaussianPair):
        return math.exp(min(float(pair.mu_squared), _FURTHEST)) / float(pair.sampling_rate)
    return 0.0


def _is_known(pair: Pair) -> bool:
    """Return whether the pair has a quick profile and no infinite losses."""
    if not pair.is_quick or pair.profile(np.zeros(1)) is None:
        return False
    if isinstance(pair, SubsampledPair):
        sides = pair.base.above(), pair.base.swapped().above()
        return not any(infinite_mass(side).upper for side in sides)
    return not (pair.infinite_mass or pair.swapped().infinite_mass)


def _largest(pair: Pair) -> float:
    """Return an upper bound of the losses.

    For a removal it is log(1 + q (e^l - 1)) for the largest loss l of the base.
    """
    if not isinstance(pair, SubsampledPair):
        return pair.max_loss
    if pair.direction is Direction.ADDITION:
        return pair.end
    base = max_loss(pair.base.above())
    if base > _FURTHEST:
        return base
    return math.log1p(float(pair.sampling_rate) * math.expm1(max(base, 0.0))) * (1 + 1e-12)


@lru_cache(maxsize=256)
def _end(pair: Pair) -> float:
    """Return a loss from which the profile is below ``_SMALL``, or the largest loss."""
    end = 1e-3
    largest = max(_largest(pair), 1e-300)
    while end < min(largest, _FURTHEST):
        found = pair.profile(np.array([end]))
        if found is None or float(found[1][0]) <= _SMALL:
            break
        end *= 1.5
    return min(largest, end)


@lru_cache(maxsize=32)
def _tables(pair: Pair) -> tuple[PiecewiseLinear, PiecewiseLinear]:
    """Return a finite pair below and one above.

    Their losses are closest where the profile bends most.
    """
    sides = []
    for one in (pair, pair.swapped()):
        found = one.profile(np.zeros(1))
        if found is None:
            raise AssertionError("only called for pairs with a closed profile")
        loss = _losses(_end(one), float(found[1][0]))
        ends = one.profile(loss)
        if ends is None:
            raise AssertionError("it had a profile at 0")
        sides.append(ProfileHalf(loss, *ends))
    return PiecewiseLinear.of(below(*sides)[0]), PiecewiseLinear.of(above(*sides)[0])


def _losses(end: float, total_variation: float) -> Reals:
    """Return losses from 0 to the end, even next to 0 and geometric beyond the total variation.

    They get closer next to the end, as the largest loss may have a mass of its own.
    """
    scale = min(max(_CENTRAL * total_variation, 1e-12 * end), end)
    steps = math.asinh(end / scale) / _FINE
    loss = scale * np.sinh(steps * np.arange(_FINE + 1.0))
    last = end - loss[-2]
    return np.concatenate([[0.0], loss[1:-1], end - last * _TOWARDS_END, [end]])
