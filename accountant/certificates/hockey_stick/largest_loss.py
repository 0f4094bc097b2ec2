"""Prove a bound beyond the largest loss, where only the infinite loss counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.hockey_stick.proof import fact_step
from dpproof.accountant.engine.profile import infinite_mass, max_loss
from dpproof.accountant.guarantees.point_lists import Points
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.proofs.certificate import Step


def largest_loss(product: Product) -> float:
    """Return the largest finite loss as the checker knows it, infinite where it knows none.

    A table of a sample ends where hardly any mass is left, also if the base has no largest loss.
    """
    for factor in product.factors:
        pair = factor.pair
        if isinstance(pair, SubsampledPair):
            ends = math.isfinite(max_loss(pair.base)) or pair.direction is Direction.ADDITION
            if not ends or infinite_mass(pair.base).upper > 0.0:
                return math.inf
    return max_loss(product)


@final
@dataclass(frozen=True, slots=True)
class LargestLoss:
    """A proof that delta is the infinite mass from the largest loss on."""

    product: Product

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the infinite mass, and 0 before the largest loss."""
        with np.errstate(divide="ignore"):
            outside = np.log(infinite_mass(self.product).upper)
        return np.where(epsilon >= max(largest_loss(self.product), 0.0), outside, 0.0)

    def work(self, points: int) -> int:
        """Return the number of comparisons."""
        return points

    def fact(self, points: Points) -> Step:
        """Return the step, which needs no witness."""
        return fact_step("bounded", self.product, points, {})
