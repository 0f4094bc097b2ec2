"""From any notion to approximate differential privacy at one delta."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_NOTION_APPROX: Final = Theorem(
    rule="convert/notion-approx",
    source="Zhu, Dong & Wang, Definition 7; Canonne, Kamath & Steinke, Proposition 12",
    attained=Attained.NO,  # loses information
    lossless=False,
)


def notion_to_approx(guarantee: Guarantee[R], *, delta: Number) -> ApproxDP[R]:
    """Find the epsilon that goes with a given delta.

    Statement: a mechanism with dominating pair (P, Q) is (epsilon, delta)-DP when
        H_epsilon(P || Q) <= delta in both directions. One with Renyi divergence R at some order
        a, in both directions, is (epsilon, delta)-DP for
        epsilon = R + log((a-1)/a) - (log delta + log a)/(a-1); the best order is taken.
    Assumes: nothing.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Definition 7 (pairs); Canonne, Kamath &
        Steinke, arXiv:2004.00010, Proposition 12 (Renyi curves), proved in
        ``renyi_bounds.log_delta_terms``.
    Rounds: up.

    Args:
        guarantee: any notion.
        delta: in [0, 1].

    Returns:
        ApproxDP at that delta.

    Raises:
        NotImplied: no epsilon is enough at that delta.
    Laws: monotone: a larger delta never gives a larger epsilon; loses all other points.

    Example:
        >>> from dpproof.accountant.guarantees.zcdp import ZCDP
        >>> round(float(notion_to_approx(ZCDP(rho=0.5), delta=1e-6).stated_epsilon), 4)
        5.2215
    """
    exact = arguments.probability(delta=delta)
    epsilon = guarantee.epsilon(delta=exact).upper
    if math.isinf(epsilon):
        raise NotImplied(
            f"{guarantee.describe()} gives no finite epsilon at delta = {float(exact):g}; "
            "try a larger delta"
        )
    derivation = applied(
        CONVERT_NOTION_APPROX,
        f"({epsilon:.6g}, {float(exact):g})-DP from {guarantee.describe()}",
        guarantee,
    )
    return ApproxDP(
        epsilon=Fraction(epsilon), delta=exact, relation=guarantee.relation, derivation=derivation
    )
