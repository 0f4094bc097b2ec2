"""From a dominating pair to pure differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpproof.accountant import answers
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_PAIR_PURE: Final = Theorem(
    rule="convert/pair-pure",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Definition 7",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: pair_to_pure(premises[0]),
    lossless=False,
)


def pair_to_pure(guarantee: PairGuarantee[R]) -> PureDP[R]:
    """Take the largest loss of the dominating pair.

    Statement: H_epsilon(P || Q) = 0 iff the loss is at most epsilon almost surely under P; if
        that holds for the dominating pair of both directions the mechanism is epsilon-DP.
    Assumes: nothing.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Definition 7, at delta = 0.
    Rounds: up.

    Args:
        guarantee: a notion with a dominating pair.

    Returns:
        PureDP.

    Raises:
        NotImplied: the loss is unbounded.
    Laws: loses everything but the largest loss.

    Example:
        >>> from dpproof.accountant.guarantees.privacy_profile import PrivacyProfile
        >>> pair_to_pure(PrivacyProfile(points=((1, 0),))).stated_epsilon >= 1
        True
    """
    pair = guarantee.to_pair()
    ends = () if guarantee.stated_points() else {pair.forward, pair.backward}
    unbounded = any(answers.is_unbounded(end) for end in ends)
    epsilon = math.inf if unbounded else guarantee.epsilon(delta=0).upper
    if math.isinf(epsilon):
        raise NotImplied(
            f"{guarantee.describe()} implies epsilon-DP for no epsilon: the loss is unbounded; "
            "convert with to=ApproxDP at a delta above 0"
        )
    derivation = applied(CONVERT_PAIR_PURE, f"largest loss {epsilon:.6g}", guarantee)
    return PureDP(epsilon=Fraction(epsilon), relation=guarantee.relation, derivation=derivation)
