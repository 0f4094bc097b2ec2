"""From any notion to its privacy profile at chosen points."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.privacy_profile import PrivacyProfile
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_NOTION_PROFILE: Final = Theorem(
    rule="convert/notion-profile",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Definition 7",
    attained=Attained.NO,  # loses information
    lossless=False,
)


def notion_to_profile(guarantee: Guarantee[R], *, epsilons: Sequence[Number]) -> PrivacyProfile[R]:
    """Evaluate the privacy profile at the given points.

    Statement: a mechanism is (epsilon, delta(epsilon))-DP at every epsilon, delta the larger
        hockey-stick divergence of its two dominating pairs, or for a Renyi curve the best
        conversion over orders.
    Assumes: nothing.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Definition 7 (pairs); Canonne, Kamath &
        Steinke, arXiv:2004.00010, Proposition 12 (Renyi curves).
    Rounds: up.

    Args:
        guarantee: any notion.
        epsilons: one or more, in [0, 700] nats, in any order.

    Returns:
        PrivacyProfile at these points.

    Raises:
        ParameterError: epsilons is empty, repeats itself or leaves [0, 700].
    Laws: the profile of the result is at or above the original everywhere, equal to its upper
        end at the points.

    Example:
        >>> from dpproof.accountant.guarantees.approx_dp import ApproxDP
        >>> ((epsilon, delta),) = notion_to_profile(
        ...     ApproxDP(epsilon=1, delta=0.25), epsilons=[1]
        ... ).points
        >>> epsilon, 0.25 <= delta < 0.2500001
        (Fraction(1, 1), True)
    """
    if not epsilons:
        raise ParameterError("epsilons", epsilons, "one epsilon or more, each >= 0")
    points = [(epsilon, Fraction(guarantee.delta(epsilon=epsilon).upper)) for epsilon in epsilons]
    derivation = applied(
        CONVERT_NOTION_PROFILE, f"privacy profile at {len(points)} points", guarantee
    )
    return PrivacyProfile(points=points, relation=guarantee.relation, derivation=derivation)
