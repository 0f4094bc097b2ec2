"""Two sampled releases: their profile from a fine table of each, without any sum over K.

At low sampling rates the loss of one release is nearly 0 nearly always, and now and then
as large as without a sample. Sums over K have to resolve both scales evenly; tables of a profile
need not, and two of them give the profile of the product (arithmetic/two_tables.py).
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
from accountant.pairs.pair import Exponentials, Lattice, Pair, Smoothness
from accountant.pairs.product import Product
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from accountant.subsampling.subsampled import Direction, SubsampledPair

_FINE = 4096  # losses of a table on either side of 0: heuristic, brackets are some 1e-5 wide
_SMALL = 1e-60  # a profile from which losses do not matter: heuristic, the rest is added
_FURTHEST = 600.0  # nats
_CENTRAL = 0.25  # where a table's losses turn from even to geometric, in total variations
_TOWARDS_END = 0.5 ** np.arange(1.0, 21.0)  # shares of the last step: heuristic
_LEAST_LEVEL = 1e-40  # of delta, that tables which end at ``_SMALL`` invert
_ROUGH, _VERY_ROUGH = 100.0, 1e6  # e^{mu^2} / q from which sums over K are slow: heuristic


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTwice(Pair):
    """The product of two pairs with closed profiles, by its profile.

    Attributes:
        first: one of the pairs.
        second: the other, perhaps the same.
    """

    first: Pair
    second: Pair

    def swapped(self) -> ReleasedTwice:
        """Both swapped."""
        return ReleasedTwice(first=self.first.swapped(), second=self.second.swapped())

    @property
    def zcdp_bound(self) -> float:
        """The sum of the pairs' own."""
        return (self.first.zcdp_bound + self.second.zcdp_bound) * (1 + 1e-15)

    @property
    def gdp_bound(self) -> float:
        """The root of the sum of the squares of the pairs' own."""
        return math.hypot(self.first.gdp_bound, self.second.gdp_bound) * (1 + 1e-15)

    @property
    def is_quick(self) -> bool:
        """Tables of both pairs are kept."""
        return True

    @property
    def end(self) -> float:
        """The sum of the losses at which the pairs' tables end."""
        return _end(self.first) + _end(self.second)

    def above(self, count: int) -> ReleasedTwice:
        """Itself: its profile is what it is asked for."""
        return self

    def below(self, count: int) -> ReleasedTwice:
        """Itself: its profile is what it is asked for."""
        return self

    def cgf(self, s: Complexes) -> Enclosure:
        """The sum of the pairs' own; of a sample whose K is not known, that of a pair above."""
        both = self.first.cgf(s), self.second.cgf(s)
        return Enclosure(both[0].value + both[1].value, both[0].radius + both[1].radius)

    def work(self, s: complex) -> int:
        """Terms in K."""
        return self.first.work(s) + self.second.work(s)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """None is needed beside the profile."""
        return Smoothness()

    def lattice(self, c: float) -> Lattice | None:
        """None is needed beside the profile."""
        return None

    def exponentials(self) -> Exponentials | None:
        """None is needed beside the profile."""
        return None

    @property
    def infinite_mass(self) -> float:
        """None: neither pair has infinite losses."""
        return 0.0

    @property
    def max_loss(self) -> float:
        """The sum of the pairs' own."""
        return (_largest(self.first) + _largest(self.second)) * (1 + 1e-15)

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Sums of the pairs' own."""
        both = self.first.steer(c), self.second.steer(c)
        value, slope, bend = (one + other for one, other in zip(*both, strict=True))
        return value, slope, bend

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """From tables of both pairs below and above.

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
        """Delta, asked directly."""
        if epsilon < 0:
            other, t = self.swapped().delta(-epsilon), math.exp(epsilon)
            gap = -math.expm1(epsilon)
            low, high = ((gap + t * end) for end in (other.lower, other.upper))
            return Bound(max(low * (1 - 1e-15), 0.0), min(high * (1 + 1e-15), 1.0))
        lower, upper = self.profile(np.array([epsilon]))
        return Bound(float(lower[0]), float(upper[0]))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Epsilon, asked directly.

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
        """A rough epsilon for a delta above 0: it only saves steps of the search."""
        grid = self.end * np.geomspace(1e-12, 1.0, 97)
        small = np.flatnonzero(self.profile(grid)[1] <= delta)
        return float(grid[small[0]])


def released_twice(product: Product) -> ReleasedTwice | None:
    """Two releases whose profile is to be had from tables of each; None if sums over K suit.

    Heuristic: which of two valid brackets is made.
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
    if isinstance(pair, SubsampledPair):
        return 0.0 if pair.is_exact else math.inf
    if isinstance(pair, SubsampledGaussianPair):
        return math.exp(min(float(pair.mu_squared), _FURTHEST)) / float(pair.sampling_rate)
    return 0.0


def _is_known(pair: Pair) -> bool:
    """Whether the pair has a quick profile and no infinite losses."""
    if not pair.is_quick or pair.profile(np.zeros(1)) is None:
        return False
    if isinstance(pair, SubsampledPair):
        sides = pair.base.above(), pair.base.swapped().above()
        return not any(infinite_mass(side).upper for side in sides)
    return not (pair.infinite_mass or pair.swapped().infinite_mass)


def _largest(pair: Pair) -> float:
    """An upper bound of the losses; of a removal log(1 + q (e^l - 1)) for those of the base."""
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
    """A loss from which the profile is below ``_SMALL``, or the largest there is."""
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
    """A finite pair below and one above, whose losses are closest where the profile bends most."""
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
    """Losses from 0 to the end, even next to 0 and geometric beyond the total variation.

    Closer and closer next to the end: the largest loss may have a mass of its own.
    """
    scale = min(max(_CENTRAL * total_variation, 1e-12 * end), end)
    steps = math.asinh(end / scale) / _FINE
    loss = scale * np.sinh(steps * np.arange(_FINE + 1.0))
    last = end - loss[-2]
    return np.concatenate([[0.0], loss[1:-1], end - last * _TOWARDS_END, [end]])
