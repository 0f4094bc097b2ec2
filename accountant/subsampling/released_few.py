"""Compute the profile of a few sampled releases from a fine table of each, without sums over K.

At low sampling rates the loss of one release is nearly always close to 0, and rarely as large as
without a sample. Sums over K have to resolve both scales evenly; tables of a profile need not, and
two of them give the profile of the product (arithmetic/two_tables.py). Tables of samples with few
losses are exact but for rounding (corners.py), and a few more can be multiplied out.
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
from accountant.arithmetic.two_tables import Outcomes, PiecewiseLinear, product_profile
from accountant.bound import Bound
from accountant.engine.profile import infinite_mass, log_ends, max_loss
from accountant.errors import EASIER, NotCertified
from accountant.pairs.atomic import AtomicPair
from accountant.pairs.exact import ExactPair
from accountant.pairs.pair import Pair
from accountant.pairs.product import Product
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from accountant.pairs.symmetry import CommonSupport
from accountant.subsampling.corners import cornered
from accountant.subsampling.subsampled import Direction, SubsampledPair

_MOST = 6  # Most releases. Heuristic.
_MANY = 1 << 15  # Most losses of all pairs but one together. Heuristic.
_MOST_PRODUCTS = 1 << 22  # Most products in a step towards them, to bound memory. Heuristic.
_FAINT = 1e-60  # Mass below which losses of a product are not told apart. Heuristic: it is added.
_FINE = 4096  # Losses of a table on either side of 0. Heuristic: brackets are some 1e-5 wide.
_FINE_OF_TWO = 1024  # The same for a table of two releases. Heuristic: 1e-4 wide, in a second.
_MOST_NESTED = 4  # Most subsampled Gaussians that are answered by tables of two. Heuristic.
_SMALL = 1e-60  # A profile from which losses do not matter. Heuristic: the rest is added.
_FURTHEST = 600.0  # Largest end of a table, nats.
# Loss at which a table's losses turn from even to geometric, in total variations. Heuristic.
_CENTRAL = 0.25
# Shares of the last step at which a table has losses. Heuristic.
_TOWARDS_END = 0.5 ** np.arange(1.0, 21.0)
_FEWER = "these are too many to multiply out; use fewer releases, or a coarser grid"
_LEAST_LEVEL = 1e-40  # Least delta that tables which end at ``_SMALL`` invert. Smaller ones raise.
# Values of e^{mu^2} / q from which sums over K are slow. Heuristic.
_ROUGH, _VERY_ROUGH = 100.0, 1e6
_RARE = 3e3  # Values of all from which three are slower by sums over K than by tables. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFew(CommonSupport, ExactPair):
    """The product of a few pairs with known profiles, known by its profile.

    Attributes:
        pairs: at least two, some perhaps equal; the last one has the largest table.
    """

    pairs: tuple[Pair, ...]

    def swapped(self) -> ReleasedFew:
        """Return the product of the swapped pairs."""
        return ReleasedFew(pairs=tuple(pair.swapped() for pair in self.pairs))

    @property
    def zcdp_bound(self) -> float:
        """Return the sum of the pairs' rho, rounded up."""
        return sum(pair.zcdp_bound for pair in self.pairs) * (1 + 1e-14)

    @property
    def gdp_bound(self) -> float:
        """Return the root of the sum of the squares of the pairs' mu, rounded up."""
        return math.hypot(*(pair.gdp_bound for pair in self.pairs)) * (1 + 1e-14)

    @property
    def is_quick(self) -> bool:
        """Return True: tables of both pairs are cached."""
        return True

    @property
    def end(self) -> float:
        """Return the sum of the losses at which the pairs' tables end."""
        return sum(_end(pair) for pair in self.pairs)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose the sum of the pairs' K.

        For a sample whose K is not known, that of a pair above.
        """
        each = [pair.cgf(s) for pair in self.pairs]
        value, radius = each[0].value, each[0].radius
        for one in each[1:]:
            value, radius = value + one.value, radius + one.radius
        return Enclosure(value, radius)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return sum(pair.work(s) for pair in self.pairs)

    @property
    def max_loss(self) -> float:
        """Return the sum of the pairs' largest losses, rounded up."""
        return sum(_largest(pair) for pair in self.pairs) * (1 + 1e-14)

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' by the sums of the pairs' values."""
        each = np.array([pair.steer(c) for pair in self.pairs]).sum(axis=0)
        return each[0], each[1], each[2]

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by tables of the pairs below and above.

        Statement: replacing a pair of a product by one with a smaller (larger) profile makes the
            product's profile smaller (larger).
        Source: H_t(P x P' | Q x Q') is a mixture of values of the profile of (P', Q'), see
            arithmetic/two_tables.py, and the product does not depend on the order.
        """
        lower, upper = (
            product_profile(_outcomes(self.pairs[:-1], sign), last, epsilon, sign)
            for last, sign in zip(_tables(self.pairs[-1]), (-1.0, 1.0), strict=True)
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
            raise NotCertified(
                f"epsilon of two samples is not resolved at delta = {level.lower:.3g}; {EASIER}"
            )
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


def released_few(product: Product) -> ReleasedFew | None:
    """Return a few releases as one pair known by tables of each, or None if sums over K suit.

    Two may have tables of any size, more have to have few losses.
    Heuristic: the choice is between two valid brackets.
    """
    if not 2 <= sum(factor.count for factor in product.factors) <= _MOST:
        return None
    pairs = [factor.pair for factor in product.factors for _ in range(factor.count)]
    rough = [_roughness(pair) for pair in pairs]
    if min(rough) < _ROUGH and max(rough) < _VERY_ROUGH:
        return None
    if not all(_is_known(pair) for pair in pairs):
        return None
    try:
        sizes = [_tables(pair)[1].loss.size for pair in pairs]
        pairs = [pairs[k] for k in sorted(range(len(pairs)), key=lambda k: sizes[k])]
        for sign in (-1.0, 1.0):
            _outcomes(tuple(pairs[:-1]), sign)
    except NotCertified:  # losses too large for tables, or too many
        return _nested(pairs) if min(rough) >= _RARE else None
    return ReleasedFew(pairs=tuple(pairs))


def _nested(pairs: list[Pair]) -> ReleasedFew | None:
    """Return three or four subsampled Gaussians by tables of two and two of them, else None.

    A table of two is made from the tables of each, as that of any pair with a known profile.
    """
    few = 2 < len(pairs) <= _MOST_NESTED
    if not few or not all(isinstance(pair, SubsampledGaussianPair) for pair in pairs):
        return None
    two, rest = ReleasedFew(pairs=tuple(pairs[:2])), tuple(pairs[2:])
    other = rest[0] if len(rest) == 1 else ReleasedFew(pairs=rest)
    try:
        for pair in (two, other):
            _tables(pair)
    except NotCertified:
        return None
    return ReleasedFew(pairs=(two, other))


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
def _outcomes(pairs: tuple[Pair, ...], sign: float) -> Outcomes:
    """Return the losses and masses of a product below if ``sign`` is -1, else of one above."""
    total, *others = (_tables(pair)[int(sign > 0)].outcomes for pair in pairs)
    for one in others:
        few = total.leading(_FAINT, sign), one.leading(_FAINT, sign)
        if few[0].loss.size * few[1].loss.size > _MOST_PRODUCTS:
            raise NotCertified(f"{few[0].loss.size} x {few[1].loss.size} losses; {_FEWER}")
        total = few[0].times(few[1])
    if others and total.loss.size > _MANY:
        raise NotCertified(f"{total.loss.size} losses of several releases; {_FEWER}")
    return total


@lru_cache(maxsize=32)
def _tables(pair: Pair) -> tuple[PiecewiseLinear, PiecewiseLinear]:
    """Return a finite pair below and one above.

    Their losses are closest where the profile bends most.
    """
    if isinstance(pair, AtomicPair):
        return PiecewiseLinear.of(pair.atoms), PiecewiseLinear.of(pair.atoms)
    exact = pair.above(1) if isinstance(pair, SubsampledPair) and pair.is_exact else None
    if isinstance(exact, AtomicPair):
        return PiecewiseLinear.of(exact.atoms), PiecewiseLinear.of(exact.atoms)
    sides = []
    for one in (pair, pair.swapped()):
        found = one.profile(np.zeros(1))
        if found is None:
            raise AssertionError("only called for pairs with a closed profile")
        corners = one.corners if isinstance(one, SubsampledPair) else None
        if corners is not None:
            loss = cornered(corners, min(_end(one), _FURTHEST))
        else:
            fine = _FINE_OF_TWO if isinstance(one, ReleasedFew) else _FINE
            loss = _losses(_end(one), float(found[1][0]), fine)
        ends = one.profile(loss)
        if ends is None:
            raise AssertionError("it had a profile at 0")
        sides.append(ProfileHalf(loss, *ends))
    return PiecewiseLinear.of(below(*sides)[0]), PiecewiseLinear.of(above(*sides)[0])


def _losses(end: float, total_variation: float, fine: int) -> Reals:
    """Return losses from 0 to the end, even next to 0 and geometric beyond the total variation.

    They get closer next to the end, as the largest loss may have a mass of its own.
    """
    scale = min(max(_CENTRAL * total_variation, 1e-12 * end), end)
    steps = math.asinh(end / scale) / fine
    loss = scale * np.sinh(steps * np.arange(fine + 1.0))
    last = end - loss[-2]
    return np.concatenate([[0.0], loss[1:-1], end - last * _TOWARDS_END, [end]])
