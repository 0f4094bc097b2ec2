"""Prove a bound beyond the largest loss, where only the infinite loss counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from accountant.arithmetic.enclosure import Reals
from accountant.certificates.hockey_stick.proof import fact_step
from accountant.engine.profile import infinite_mass, max_loss
from accountant.guarantees.point_lists import Points
from accountant.pairs.product import Product
from proofs.certificate import Step


@final
@dataclass(frozen=True, slots=True)
class LargestLoss:
    """A proof that delta is the infinite mass from the largest loss on."""

    product: Product

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the infinite mass, and 0 before the largest loss."""
        with np.errstate(divide="ignore"):
            outside = np.log(infinite_mass(self.product).upper)
        return np.where(epsilon >= max(max_loss(self.product), 0.0), outside, 0.0)

    def work(self, points: int) -> int:
        """Return the number of comparisons."""
        return points

    def fact(self, points: Points) -> Step:
        """Return the step, which needs no witness."""
        return fact_step("bounded", self.product, points, {})
