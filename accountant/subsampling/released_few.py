"""Compute the profile of a few sampled releases from a fine table of each, without sums over K.

At low sampling rates the loss of one release is nearly always close to 0, and rarely as large as
without a sample. Sums over K have to resolve both scales evenly; tables of a profile need not, and
two of them give the profile of the product (arithmetic/two_tables.py). Tables of samples with few
losses are exact but for rounding (corners.py), and a few more can be multiplied out.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.atoms import (
    Outcomes,
    PiecewiseLinear,
    product_profile,
    product_tangents,
)
from dpproof.accountant.arithmetic.convex_profile import ProfileHalf, above, below
from dpproof.accountant.arithmetic.crossing import invert
from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Reals, log_down, log_up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import infinite_mass, log_ends, max_loss
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.finite import AtomicPair
from dpproof.accountant.pairs.pair import CommonSupport, ExactPair, Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.accountant.subsampling.tabulated import cornered

_MOST = 6  # Most releases. Heuristic.
_MANY = 1 << 15  # Most losses of all pairs but one together. Heuristic.
_MOST_PRODUCTS = 1 << 22  # Most products in a step towards them, to bound memory. Heuristic.
_FAINT = 1e-60  # Mass below which losses of a product are not told apart. Heuristic: it is added.
_MOST_NESTED = 4  # Most subsampled Gaussians that are answered by tables of two. Heuristic.
_SMALL = 1e-60  # A profile from which losses do not matter. Heuristic: the rest is added.
_FURTHEST = 600.0  # Largest end of a table, nats.
# Loss at which a table's losses turn from even to geometric, in total variations. Heuristic.
_CENTRAL = 0.25
# Shares of the last step at which a table has losses. Heuristic.
_TOWARDS_END = 0.5 ** np.arange(1.0, 21.0)
_FEW = 2  # Releases whose tables answer without another table. Soundness does not depend on it.
_DISTINCT = 1e-9  # Relative distance of neighbouring losses of a table, at least. Heuristic.
_FOCUSED = 1e-6  # Width of a bracket for which tables are not made again. Heuristic.
_FEWER = "these are too many to multiply out; use fewer releases, or a coarser grid"
_LEAST_LEVEL = 1e-40  # Least delta that tables which end at ``_SMALL`` invert. Smaller ones raise.
# Values of e^{mu^2} / q from which sums over K are slow. Heuristic.
_ROUGH, _VERY_ROUGH = 100.0, 1e6
_RARE = 3e3  # Values of all from which three are slower by sums over K than by tables. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """The number of losses in tables, and where they are densest.

    Heuristic: any grid gives brackets.

    Attributes:
        fine: losses of a table on either side of 0.
        fine_of_two: the same for a table of two releases, each of which costs a sum.
        focus: a loss near which half of them are, or 0.
    """

    fine: int
    fine_of_two: int
    focus: float = 0.0


_EVEN, _DRAFT = Grid(4096, 768), Grid(256, 128)  # For every question, and for a first look at one.
_NESTED = Grid(1280, 448)  # For one question, if there are tables of two.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFew(CommonSupport, ExactPair):
    """The product of a few pairs with known profiles, known by its profile.

    Attributes:
        pairs: at least two, some perhaps equal; the last one has the largest table.
        grid: of their tables.
    """

    pairs: tuple[Pair, ...]
    grid: Grid = _EVEN

    def swapped(self) -> ReleasedFew:
        """Return the product of the swapped pairs."""
        return replace(self, pairs=tuple(pair.swapped() for pair in self.pairs))

    def on(self, grid: Grid) -> ReleasedFew:
        """Return the same product with other tables."""
        pairs = (one.on(grid) if isinstance(one, ReleasedFew) else one for one in self.pairs)
        return ReleasedFew(pairs=tuple(pairs), grid=grid)

    def _focused(self, epsilon: float) -> ReleasedFew:
        """Return the same product with tables for one epsilon."""
        nested = any(isinstance(pair, ReleasedFew) for pair in self.pairs)
        return self.on(replace(_NESTED if nested else _EVEN, focus=epsilon))

    @property
    def zcdp_bound(self) -> float:
        """Return the sum of the pairs' rho, rounded up."""
        return sum(pair.zcdp_bound for pair in self.pairs) * (1 + 1e-14)

    @property
    def gdp_bound(self) -> float:
        """Return the root of the sum of the squares of the pairs' mu, rounded up."""
        return math.hypot(*(pair.gdp_bound for pair in self.pairs)) * (1 + 1e-14)

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

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by tables of the pairs below and above.

        Statement: replacing a pair of a product by one with a smaller (larger) profile makes the
            product's profile smaller (larger).
        Source: H_t(P x P' | Q x Q') is a mixture of values of the profile of (P', Q'), see
            arithmetic/two_tables.py, and the product does not depend on the order.
        """
        lower = product_profile(*self._parts(-1.0), epsilon, -1.0)
        return np.maximum(lower, 0.0), self.above_at(epsilon)

    def above_at(self, epsilon: Reals) -> Reals:
        """Return upper ends of the profile."""
        return np.minimum(product_profile(*self._parts(1.0), epsilon, 1.0), 1.0)

    def half(self, loss: Reals) -> ProfileHalf:
        """Return the profile at losses from 0, with slopes of the tables below."""
        lower, slopes = product_tangents(*self._parts(-1.0), loss)
        return ProfileHalf(loss, lower, self.above_at(loss), slopes=slopes)

    def _parts(self, sign: float) -> tuple[Outcomes, PiecewiseLinear]:
        """Return the outcomes of all but one and the table of that, below if ``sign`` is -1."""
        last = _tables(self.pairs[-1], self.grid)[int(sign > 0)]
        return _outcomes(self.pairs[:-1], sign, self.grid), last

    def delta(self, epsilon: float) -> Bound:
        """Bracket delta at one epsilon of either sign."""
        if epsilon < 0:
            other, t = self.swapped().delta(-epsilon), math.exp(epsilon)
            gap = -math.expm1(epsilon)
            low, high = ((gap + t * end) for end in (other.lower, other.upper))
            return Bound(max(low * (1 - 1e-15), 0.0), min(high * (1 + 1e-15), 1.0))
        point = np.array([epsilon])
        try:
            lower, upper = self._focused(epsilon).profile(point)
        except NotCertified:  # losses too close to each other for rounding
            lower, upper = self.profile(point)
        return Bound(float(lower[0]), float(upper[0]))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon at one delta.

        Raises:
            NotCertified: delta is smaller than what the tables resolve.
        """
        level = Bound.of(delta)
        first = _inverted(self.on(_DRAFT), level)
        if first.relative_width <= _FOCUSED or not first.upper < self.end:
            return first
        with contextlib.suppress(NotCertified):  # as above
            return first.meet(_inverted(self._focused(first.upper), level))
        return first

    def guess(self, delta: float) -> float:
        """Estimate an epsilon for a delta above 0.

        Heuristic: it only saves steps of the search.
        """
        grid = self.end * np.geomspace(1e-12, 1.0, 97)
        small = np.flatnonzero(self.profile(grid)[1] <= delta)
        return float(grid[small[0]])


def _inverted(pair: ReleasedFew, level: Bound) -> Bound:
    """Bracket epsilon by tables on the grid."""
    end = pair.end
    if not (level.lower >= _LEAST_LEVEL and pair.above_at(np.array([end]))[0] <= level.lower):
        raise NotCertified(
            f"epsilon of two samples is not resolved at delta = {level.lower:.3g}; {EASIER}"
        )
    target = log_down(np.array(level.lower)).item(), log_up(np.array(level.upper)).item()
    ends = partial(log_ends, pair, Bound.exactly(0.0))  # no part of delta is set aside
    start = pair.guess(level.lower)
    return invert(ends, target, start, 0.1 * start, math.inf)


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
    gaussian = all(isinstance(pair, SubsampledGaussianPair) for pair in pairs)
    if gaussian and len(pairs) > _FEW:
        return _nested(pairs) if len(pairs) <= _MOST_NESTED and min(rough) >= _RARE else None
    try:
        sizes = [_tables(pair, _EVEN)[1].loss.size for pair in pairs]
        pairs = [pairs[k] for k in sorted(range(len(pairs)), key=lambda k: sizes[k])]
        for sign in (-1.0, 1.0):
            _outcomes(tuple(pairs[:-1]), sign, _EVEN)
    except NotCertified:  # losses too large for tables, or too many
        return _nested(pairs) if _FEW < len(pairs) <= _MOST_NESTED else None
    return ReleasedFew(pairs=tuple(pairs))


def _nested(pairs: list[Pair]) -> ReleasedFew | None:
    """Return three or four subsampled Gaussians by tables of two and two of them, else None.

    A table of two is made from the tables of each, as that of any pair with a known profile.
    """
    two, rest = ReleasedFew(pairs=tuple(pairs[:_FEW])), tuple(pairs[_FEW:])
    other = rest[0] if len(rest) == 1 else ReleasedFew(pairs=rest)
    few = ReleasedFew(pairs=(two, other))
    with contextlib.suppress(NotCertified):  # losses too large for tables
        for pair in few.on(_DRAFT).pairs:
            _tables(pair, _DRAFT)
        return few
    return None


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
        ends = pair.profile(np.array([end]))
        if ends is None or float(ends[1][0]) <= _SMALL:
            break
        end *= 1.5
    return min(largest, end)


@lru_cache(maxsize=32)
def _outcomes(pairs: tuple[Pair, ...], sign: float, grid: Grid) -> Outcomes:
    """Return the losses and masses of a product below if ``sign`` is -1, else of one above."""
    total, *others = (_tables(pair, grid)[int(sign > 0)].outcomes for pair in pairs)
    for one in others:
        few = total.leading(_FAINT, sign), one.leading(_FAINT, sign)
        if few[0].loss.size * few[1].loss.size > _MOST_PRODUCTS:
            raise NotCertified(f"{few[0].loss.size} x {few[1].loss.size} losses; {_FEWER}")
        total = few[0].times(few[1])
    if others and total.loss.size > _MANY:
        raise NotCertified(f"{total.loss.size} losses of several releases; {_FEWER}")
    return total


@lru_cache(maxsize=32)
def _tables(pair: Pair, grid: Grid) -> tuple[PiecewiseLinear, PiecewiseLinear]:
    """Return a finite pair below and one above.

    Their losses are closest where the profile bends most.
    """
    if isinstance(pair, AtomicPair):
        return PiecewiseLinear.of(pair.atoms), PiecewiseLinear.of(pair.atoms)
    exact = pair.above(1) if isinstance(pair, SubsampledPair) and pair.is_exact else None
    if isinstance(exact, AtomicPair):
        return PiecewiseLinear.of(exact.atoms), PiecewiseLinear.of(exact.atoms)
    sides = [_half(one, grid) for one in (pair, pair.swapped())]
    return PiecewiseLinear.of(below(*sides)[0]), PiecewiseLinear.of(above(*sides)[0])


def _half(pair: Pair, grid: Grid) -> ProfileHalf:
    """Return one half of a profile at losses that suit it, with slopes if they are known."""
    corners = pair.corners if isinstance(pair, SubsampledPair) else None
    if corners is not None:
        loss = cornered(corners, min(_end(pair), _FURTHEST))
    else:
        variation = float(_known_profile(pair, np.zeros(1))[1][0])
        loss = _losses(_end(pair), variation, grid, two=isinstance(pair, ReleasedFew))
    if isinstance(pair, ReleasedFew):
        return pair.half(loss)
    slopes = pair.beyond(loss) if isinstance(pair, SubsampledGaussianPair) else None
    return ProfileHalf(loss, *_known_profile(pair, loss), slopes=slopes)


def _known_profile(pair: Pair, loss: Reals) -> tuple[Reals, Reals]:
    """Return both ends of a closed profile."""
    ends = pair.profile(loss)
    if ends is None:
        raise AssertionError("only called for pairs with a closed profile")
    return ends


def _losses(end: float, total_variation: float, grid: Grid, *, two: bool) -> Reals:
    """Return losses from 0 to the end, even next to 0 and geometric beyond the total variation.

    They get closer next to the end, as the largest loss may have a mass of its own. Half of them
    are around the focus in the same way: what the other pairs lose is a total variation or so.
    """
    fine = grid.fine_of_two if two else grid.fine
    focused = 0.0 < grid.focus < end
    scale = min(max(_CENTRAL * total_variation, 1e-12 * end), end)
    count = fine // 2 if focused else fine
    loss = scale * np.sinh(math.asinh(end / scale) / count * np.arange(count + 1.0))
    last = end - loss[-2]
    loss = np.concatenate([[0.0], loss[1:-1], end - last * _TOWARDS_END, [end]])
    if not focused:
        return loss
    ends = np.arcsinh(np.array([-grid.focus, end - grid.focus]) / scale)
    near = grid.focus + scale * np.sinh(np.linspace(ends[0], ends[1], fine - count + 2)[1:-1])
    loss = np.sort(np.concatenate([loss, near]))
    apart = np.diff(loss) > _DISTINCT * loss[1:]
    return np.asarray(loss[np.append(apart, True)])
