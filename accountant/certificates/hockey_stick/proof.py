"""The interface of every proof of a bound of one direction's profile."""

from __future__ import annotations

from typing import Protocol

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import Object, hockey_stick
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.pairs.product import Product
from dpproof.proofs.core.certificate import Step


class Proof(Protocol):
    """A bound of the hockey-stick divergence of one product that the checker can repeat."""

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the bound at each epsilon; it never grows with epsilon."""

    def work(self, points: int) -> int:
        """Return approximately how many operations so many points take the checker."""

    def fact(self, points: Points) -> Step:
        """Return the step that concludes that delta is an upper bound at every (epsilon, delta)."""


def fact_step(rule: str, product: Product, points: Points, witness: Object) -> Step:
    """Return a step about a product that has no premises, only its witness."""
    return Step(
        rule=f"hockey-stick/{rule}",
        premises=(),
        witness=witness,
        conclusion=hockey_stick(product, points),
    )
