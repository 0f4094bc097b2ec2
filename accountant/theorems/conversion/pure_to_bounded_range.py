"""From pure differential privacy to bounded range."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_PURE_BOUNDED_RANGE: Final = Theorem(
    rule="convert/pure-bounded-range",
    source="Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: pure_to_bounded_range(premises[0]),
    lossless=False,
)


def pure_to_bounded_range(guarantee: PureDP[R]) -> BoundedRange[R]:
    """Bound the range of the loss by twice its bound.

    Statement: the loss of an epsilon-DP mechanism lies in [-epsilon, epsilon], an interval of
        length 2 epsilon.
    Assumes: nothing.
    Source: Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3; the statement is its own proof.
    Rounds: nothing.

    Args:
        guarantee: epsilon-DP.

    Returns:
        BoundedRange(2 epsilon).
    Laws: loses information: the way back gives 2 epsilon, not epsilon.

    Example:
        >>> pure_to_bounded_range(PureDP(epsilon=1)).stated_epsilon
        Fraction(2, 1)
    """
    derivation = applied(
        CONVERT_PURE_BOUNDED_RANGE, f"range at most twice that of {guarantee.describe()}", guarantee
    )
    return BoundedRange(
        epsilon=2 * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
