"""From bounded range to pure differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_BOUNDED_RANGE_PURE: Final = Theorem(
    rule="convert/bounded-range-pure",
    source="Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: bounded_range_to_pure(premises[0]),
    lossless=False,
)


def bounded_range_to_pure(guarantee: BoundedRange[R]) -> PureDP[R]:
    """Bound the loss by the length of its range.

    Statement: P and Q both have total mass 1, so the loss is nowhere above 0 everywhere nor
        below 0 everywhere: the interval [t, t + epsilon] holds 0, and lies in
        [-epsilon, epsilon].
    Assumes: nothing.
    Source: Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3; the statement is its own proof.
    Rounds: nothing.

    Args:
        guarantee: epsilon-bounded-range.

    Returns:
        PureDP(epsilon).
    Laws: loses information: the way back gives 2 epsilon, not epsilon.

    Example:
        >>> bounded_range_to_pure(BoundedRange(epsilon=1)).stated_epsilon
        Fraction(1, 1)
    """
    derivation = applied(
        CONVERT_BOUNDED_RANGE_PURE, f"loss at most the range of {guarantee.describe()}", guarantee
    )
    return PureDP(
        epsilon=guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
