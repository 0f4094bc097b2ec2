"""A product of pairs released together on one random sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import final

from accountant.numerics.enclosure import Reals
from accountant.numerics.profile import deltas, epsilon, infinite_mass, max_loss
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.pair import Pair
from accountant.pairs.product import Product
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from accountant.pairs.subsampled_profile import (
    addition_profile,
    log_unsampled,
    removal_profile,
    replacement_profile,
)
from accountant.pairs.tabulated import TabulatedPair

_TINY = 1e-115


class Direction(Enum):
    """What the sample does to (P, Q); see pairs/subsampled_profile.py for the theorems."""

    REMOVAL = "removal"
    ADDITION = "addition"
    REPLACEMENT = "replacement"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledPair(TabulatedPair):
    """The pair whose profile follows from that of ``base`` by a subsampling theorem.

    Attributes:
        base: the releases that share the sample, in this direction.
        sampling_rate: exact, in (0, 1).
        direction: which theorem.
    """

    base: Product
    sampling_rate: Fraction
    direction: Direction

    def swapped(self) -> SubsampledPair:
        """The other direction with the base swapped; replacement is its own swap."""
        if self.direction is Direction.REPLACEMENT:
            return self
        other = Direction.ADDITION if self.direction is Direction.REMOVAL else Direction.REMOVAL
        return SubsampledPair(
            base=self.base.swapped(), sampling_rate=self.sampling_rate, direction=other
        )

    @property
    def zcdp_bound(self) -> float:
        """Sum over the base: Rényi divergences are quasi-convex, mixing with Q only helps."""
        return sum(f.count * f.pair.zcdp_bound for f in self.base.factors) * (1 + 1e-14)

    @property
    def gdp_bound(self) -> float:
        """Root of the sum of squares over the base: forgetting the sample is post-processing."""
        squares = sum(f.count * f.pair.gdp_bound**2 for f in self.base.factors)
        return math.sqrt(squares) * (1 + 1e-14)

    @property
    def leads(self) -> bool:
        """Unless it is an addition, whose swapped pair is a removal."""
        return self.direction is not Direction.ADDITION

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """By the theorem, from the base's profile."""
        through = {
            Direction.REMOVAL: removal_profile,
            Direction.ADDITION: addition_profile,
            Direction.REPLACEMENT: replacement_profile,
        }[self.direction]
        return through(lambda x: deltas(self.base, x), self.sampling_rate, epsilon)

    @property
    def end(self) -> float:
        """Through the theorem, from where the base's profile is below 1e-115 or constant."""
        rate = float(self.sampling_rate)
        if self.direction is Direction.ADDITION:
            return -log_unsampled(self.sampling_rate) * (1 + 1e-12)
        base = min(epsilon(self.base, _TINY).upper, max(max_loss(self.base), 0.0))
        if math.isinf(base):
            base = min(max(max_loss(self.base), 0.0), 60.0)
        grown = math.log1p(rate * math.expm1(base)) if base < 600 else base + math.log(rate)
        return max(grown * (1 + 1e-12), 1e-300)

    @property
    def rest(self) -> float:
        """The sampling rate times that of the base; none for addition."""
        if self.direction is Direction.ADDITION:
            return 0.0
        return float(self.sampling_rate) * infinite_mass(self.base.below()).lower * (1 - 1e-12)


def tabulated(pair: Pair) -> Pair:
    """The pair itself, except that a subsampled Gaussian is to be answered from a table."""
    if not isinstance(pair, SubsampledGaussianPair):
        return pair
    return SubsampledPair(
        base=Product.of(GaussianPair(mu_squared=pair.mu_squared)),
        sampling_rate=pair.sampling_rate,
        direction=Direction.REMOVAL if pair.removal else Direction.ADDITION,
    )
