"""From a privacy profile to a trade-off curve."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.privacy_profile import PrivacyProfile
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.trade_off import TradeOff
from dpproof.accountant.relation import R

CONVERT_PROFILE_TRADE_OFF: Final = Theorem(
    rule="convert/profile-trade-off",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12",
    attained=Attained.WHOLE,  # the same pair
    pointwise=True,
    again=lambda premises, _: profile_to_trade_off(premises[0]),
)


def profile_to_trade_off(guarantee: PrivacyProfile[R]) -> TradeOff[R]:
    """Turn a profile known at points into its piecewise linear trade-off curve.

    Statement: f(a) = max over t >= 0 of 1 - delta(t) - t a, delta as a function of t = e^eps.
        When delta is linear between vertices t_k and its slope changes by q_k at t_k, f falls
        by t_k q_k over a step of length q_k, the largest t_k first, from f(0) = 1 - delta(inf).
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12.
    Rounds: nothing beyond ``PrivacyProfile.vertices``; the points are exact rationals.

    Args:
        guarantee: a profile.

    Returns:
        TradeOff with one vertex a likelihood ratio.
    Laws: lossless: both are the same finite pair.

    Example:
        >>> profile_to_trade_off(PrivacyProfile(points=((0, 0.5),))).points
        ((Fraction(0, 1), Fraction(1, 2)), (Fraction(1, 2), Fraction(0, 1)))
    """
    vertices = guarantee.vertices()
    slopes = [(high - low) / (right - left) for (left, low), (right, high) in pairwise(vertices)]
    slopes.append(Fraction(0))
    type_i, type_ii = Fraction(0), 1 - vertices[-1][1]
    points = [(type_i, type_ii)]
    for k in range(len(vertices) - 1, 0, -1):
        mass = slopes[k] - slopes[k - 1]
        type_i += mass
        type_ii -= vertices[k][0] * mass
        points.append((type_i, type_ii))
    derivation = applied(
        CONVERT_PROFILE_TRADE_OFF, f"f-DP with f linear between {len(points)} points", guarantee
    )
    return TradeOff(points=points, relation=guarantee.relation, derivation=derivation)
