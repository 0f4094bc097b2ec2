"""A product of pairs released together on one random sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from accountant.numerics import hull
from accountant.numerics.enclosure import Complexes, Enclosure, Reals
from accountant.numerics.profile import deltas, epsilon, max_loss
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.ladder import LadderPair
from accountant.pairs.pair import Exponentials, Lattice, Pair, Smoothness
from accountant.pairs.product import Product
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from accountant.pairs.subsampled_profile import (
    addition_profile,
    removal_profile,
    replacement_profile,
)

_TINY = 1e-115
_FINE = 1 << 8  # grid points per typical loss, and per doubling of the loss beyond
_COARSEST = 2.0**-7
_FEW = 64


class Direction(Enum):
    """What the sample does to (P, Q); see pairs/subsampled_profile.py for the theorems."""

    REMOVAL = "removal"
    ADDITION = "addition"
    REPLACEMENT = "replacement"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledPair(Pair):
    """The pair whose profile follows from that of ``base`` by a subsampling theorem.

    Its K has no closed form: ``above`` and ``below`` are finite pairs on a lattice, with
    every corner of their profiles computed from rigorous ends of the base's profile.

    Attributes:
        base: the releases that share the sample, in this direction.
        sampling_rate: exact, in (0, 1).
        direction: which theorem.
    """

    base: Product
    sampling_rate: Fraction
    direction: Direction

    def cgf(self, s: Complexes) -> Enclosure:
        """K of the pair above."""
        return self.above(1).cgf(s)

    def swapped(self) -> SubsampledPair:
        """The other direction with the base swapped; replacement is its own swap."""
        if self.direction is Direction.REPLACEMENT:
            return self
        other = Direction.ADDITION if self.direction is Direction.REMOVAL else Direction.REMOVAL
        return SubsampledPair(
            base=self.base.swapped(), sampling_rate=self.sampling_rate, direction=other
        )

    @property
    def infinite_mass(self) -> float:
        """Of the pair above."""
        return self.above(1).infinite_mass

    @property
    def max_loss(self) -> float:
        """Of the pair above."""
        return self.above(1).max_loss

    @property
    def zcdp_bound(self) -> float:
        """Sum over the base: Rényi divergences are quasi-convex, mixing with Q only helps."""
        return sum(f.count * f.pair.zcdp_bound for f in self.base.factors) * (1 + 1e-14)

    @property
    def work(self) -> int:
        """Of the pair above."""
        return self.above(1).work

    @property
    def gdp_bound(self) -> float:
        """Root of the sum of squares over the base: forgetting the sample is post-processing."""
        squares = sum(f.count * f.pair.gdp_bound**2 for f in self.base.factors)
        return math.sqrt(squares) * (1 + 1e-14)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """By the theorem, from the base's profile."""
        through = {
            Direction.REMOVAL: removal_profile,
            Direction.ADDITION: addition_profile,
            Direction.REPLACEMENT: replacement_profile,
        }[self.direction]
        return through(lambda x: deltas(self.base, x), float(self.sampling_rate), epsilon)

    def smoothness(self, c: float) -> Smoothness:
        """Of the pair above."""
        return self.above(1).smoothness(c)

    def lattice(self, c: float) -> Lattice | None:
        """Of the pair above."""
        return self.above(1).lattice(c)

    def exponentials(self) -> Exponentials | None:
        """None is known."""
        return None

    def above(self, count: int) -> Pair:
        """A finite pair that dominates this one."""
        return _tables(self, few=count <= _FEW)[0]

    def below(self, count: int) -> Pair:
        """A finite pair that this one dominates."""
        return _tables(self, few=count <= _FEW)[1]


@lru_cache(maxsize=64)
def _tables(pair: SubsampledPair, *, few: bool) -> tuple[LadderPair, LadderPair]:
    """Both finite pairs, on multiples of one span."""
    grid, span = _grid(pair, few=few)
    loss = grid * span
    lower, upper = pair.profile(loss)
    made = []
    for atoms, position in (hull.above(loss, upper), hull.below(loss, lower, upper)):
        made.append(LadderPair(atoms, grid[position], span))
    return made[0], made[1]


def _grid(pair: SubsampledPair, *, few: bool) -> tuple[Reals, float]:
    """Whole numbers whose multiples of the span are dense near 0 and sparser outwards.

    The typical loss is twice the total variation distance; the ends are where the profile,
    or its distance from 1 - t, is negligible.
    """
    total_variation = float(pair.profile(np.zeros(1))[1][0])
    span = 2.0 ** math.floor(math.log2(max(total_variation, 1e-12) / _FINE))
    right, left = _end(pair), _end(pair.swapped())
    if few:  # no central limit to resolve, and short sums of losses have wide spectra
        span = max(span, 2.0 ** math.floor(math.log2(min(right, 8.0) / (1 << 15))))
    sides = []
    for end in (right, left):
        reach = math.ceil(end / span) + 1
        strides = np.array([0.0])
        step, at = 1.0, 0.0
        while at < reach:
            count = min(math.ceil((reach - at) / step), 2 * _FINE)
            strides = np.append(strides, at + step * np.arange(1, count + 1))
            at = float(strides[-1])
            if 2 * step * span <= max(_COARSEST, span):
                step *= 2
        sides.append(strides)
    return np.unique(np.concatenate([-sides[1], sides[0]])), span


def _end(pair: SubsampledPair) -> float:
    """A loss beyond which the profile is below 1e-115, or constant."""
    rate = float(pair.sampling_rate)
    base = min(epsilon(pair.base, _TINY).upper, max(max_loss(pair.base), 0.0))
    if math.isinf(base):
        base = min(max(max_loss(pair.base), 0.0), 60.0)
    if pair.direction is Direction.ADDITION:
        return -math.log1p(-rate) * (1 + 1e-12)
    return math.log1p(rate * math.expm1(min(base, 600.0))) if base < 600 else base + math.log(rate)


def tabulated(pair: Pair) -> Pair:
    """The pair itself, except that a subsampled Gaussian is to be answered from a table."""
    if not isinstance(pair, SubsampledGaussianPair):
        return pair
    return SubsampledPair(
        base=Product.of(GaussianPair(mu_squared=pair.mu_squared)),
        sampling_rate=pair.sampling_rate,
        direction=Direction.REMOVAL if pair.removal else Direction.ADDITION,
    )
