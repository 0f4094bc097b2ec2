"""From any notion to its Renyi curve at chosen orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee, renyi_order
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.guarantees.renyi_guarantee import RenyiGuarantee
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_NOTION_RDP: Final = Theorem(
    rule="convert/notion-rdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.10 (Blackwell)",
    attained=Attained.NO,  # loses information
    again=lambda premises, given: notion_to_rdp(premises[0], orders=given["orders"]),
    lossless=False,
)


def notion_to_rdp(guarantee: Guarantee[R], *, orders: Sequence[Number]) -> RDP[R]:
    """Evaluate the Renyi curve at the given orders.

    Statement: Renyi divergences obey data processing, so those of a dominating pair bound those
        of the mechanism at every order; for mu-GDP the value is mu^2 a/2, for rho-zCDP rho a,
        for epsilon-DP log cosh((a - 1/2) epsilon) - log cosh(epsilon/2), over a - 1.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.10 (Blackwell: the mechanism's outputs
        are a post-processing of the dominating pair); Mironov, arXiv:1702.07476, Proposition 7
        (Gaussian).
    Rounds: up, but exact for zCDP and at listed points. Infinite values are left out.

    Args:
        guarantee: any notion.
        orders: one or more, each above 1.

    Returns:
        RDP at those of the orders where the divergence is finite.

    Raises:
        NotImplied: no listed order has a finite divergence.
        ParameterError: orders is empty or holds a number that is not above 1.
    Laws: monotone in the order; loses everything that finitely many orders do not say.

    Example:
        >>> from dpproof.accountant.guarantees.zcdp import ZCDP
        >>> notion_to_rdp(ZCDP(rho=1), orders=[2, 3]).points[1]
        (Fraction(3, 1), Fraction(3, 1))
    """
    if not orders:
        raise ParameterError("orders", orders, "one order or more, each > 1")
    exact = sorted({renyi_order(order=order) for order in orders})
    values = [(order, _value(guarantee, order)) for order in exact]
    points = [(order, value) for order, value in values if value is not None]
    if not points:
        raise NotImplied(
            f"{guarantee.describe()} has no finite Renyi divergence at the given orders "
            f"(from {floats_around(exact[0])[0]:g} to {floats_around(exact[-1])[0]:g}); "
            "try smaller orders, or convert with to=PrivacyProfile (at epsilons)"
        )
    derivation = applied(CONVERT_NOTION_RDP, f"Renyi divergence at {len(points)} orders", guarantee)
    return RDP(points=points, relation=guarantee.relation, derivation=derivation)


def _value(guarantee: Guarantee[R], order: Fraction) -> Fraction | None:
    """Return an upper bound of the divergence, None if it is infinite or unknown."""
    if isinstance(guarantee, RenyiGuarantee):
        return guarantee.divergence_up(order)
    value = guarantee.rdp(order=order).upper
    return Fraction(value) if math.isfinite(value) else None
