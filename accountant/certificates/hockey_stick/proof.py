"""What every way to prove a bound of one direction's profile provides."""

from __future__ import annotations

from typing import Protocol

from accountant.arithmetic.enclosure import Reals
from accountant.certificates.format.serialize import Object, hockey_stick
from accountant.guarantees.point_lists import Points
from accountant.pairs.product import Product
from proofs.certificate import Step


class Proof(Protocol):
    """A bound of the hockey-stick divergence of one product that the checker can repeat."""

    def log_upper(self, epsilon: Reals) -> Reals:
        """Log of the bound at each epsilon; it never grows with epsilon."""

    def work(self, points: int) -> int:
        """About how many operations so many points take the checker."""

    def fact(self, points: Points) -> Step:
        """The step that concludes that delta is an upper bound at every (epsilon, delta)."""


def fact_step(rule: str, product: Product, points: Points, witness: Object) -> Step:
    """A step about a product, from nothing but its witness."""
    return Step(
        rule=f"hockey-stick/{rule}",
        premises=(),
        witness=witness,
        conclusion=hockey_stick(product, points),
    )
