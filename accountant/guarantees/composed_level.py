"""The part of the product of its parts' pairs that some composition attains."""

from __future__ import annotations

from collections.abc import Sequence

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.ranges.pair import has_worst_case
from dpproof.accountant.relation import R


def composed_level(
    parts: Sequence[DominatingPair[R]], forward: Product, backward: Product
) -> Attained:
    """Return what some composition attains of the products of its parts' pairs.

    Statement: mechanisms of one bounded range, each of which may have any two losses so far
        apart, attain each point of the recursion's profile, if later ones look at earlier outputs.
    Source: proofs/theory/bounded_range.md, Theorem 1.

    Args:
        parts: what is composed.
        forward: the product for one direction.
        backward: the one for the other.
    """
    telling = [one.attained for one in parts if one.forward.factors or one.backward.factors]
    if has_worst_case(forward) and has_worst_case(backward):
        return Attained.POINTS.of_premises(telling, pointwise=True)
    return Attained.WHOLE.of_premises(telling, pointwise=len(telling) == 1)
