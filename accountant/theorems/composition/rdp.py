"""Composition of Renyi curves."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotCertified, NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import required
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rdp import RDP, shared_orders
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS
from dpproof.accountant.theorems.conversion.gdp_to_rdp import gdp_to_rdp
from dpproof.accountant.theorems.conversion.notion_to_rdp import notion_to_rdp

COMPOSE_RDP: Final = Theorem(
    rule="compose/rdp",
    source="Mironov, arXiv:1702.07476, Proposition 1",
    attained=Attained.NO,  # no Gaussian part has its share of the lower ends
    again=lambda premises, given: compose_rdp(premises, orders=given["orders"]),
)


def compose_rdp(parts: Sequence[Guarantee[R]], *, orders: Sequence[Number] | None = None) -> RDP[R]:
    """Compose by adding Renyi divergences order by order.

    Statement: if the Renyi divergence of each M_i at order a is at most R_i(a) for one
        neighbouring relation, and the R_i are fixed in advance, that of their (adaptive)
        composition is at most sum_i R_i(a).
    Assumes: fixed in advance; own randomness.
    Source: Mironov, arXiv:1702.07476, Proposition 1.
    Rounds: up, once a part and order, and only for parts with a pair; the sum is exact.

    Args:
        parts: at least one guarantee, all under the same relation.
        orders: where to evaluate; by default every order that some part lists, up to the
            smallest of the largest known orders, or a fixed list if no part lists any, up to
            where every part can be computed.

    Returns:
        RDP at the orders where every part has a finite divergence.

    Raises:
        RelationMismatch: two parts differ in relation.
        NotImplied: no order is finite for every part.
        NotCertified: some part cannot be computed at an order asked for, or at any.
    Laws: order of the parts does not matter; a part that reveals nothing changes nothing.

    Example:
        >>> from dpproof.accountant.guarantees.zcdp import ZCDP
        >>> compose_rdp([RDP(points=((2, 1), (4, 3))), ZCDP(rho=1)]).points[0]
        (Fraction(2, 1), Fraction(3, 1))
    """
    relation = required(parts, "compose")
    grid = orders if orders is not None else shared_orders(parts)
    curve = _listed if orders is not None else _as_far_as_computed
    curves = [curve(part, grid) for part in parts]
    known = [dict(curve.points) for curve in curves]
    shared = sorted(set(known[0]).intersection(*known[1:]))
    if not shared:
        raise NotImplied(
            "no Renyi order is finite for every part; convert the parts known by a Renyi curve "
            "with to=PrivacyProfile (at epsilons) and compose as pairs"
        )
    points = [(order, sum((curve[order] for curve in known), Fraction(0))) for order in shared]
    derivation = applied(
        COMPOSE_RDP,
        f"the Renyi curves of {len(parts)} parts added at {len(points)} orders",
        *curves,
        assumptions=(FIXED(), OWN_RANDOMNESS()),
    )
    return RDP(points=points, relation=relation, derivation=derivation)


def _listed(part: Guarantee[R], orders: Sequence[Number]) -> RDP[R]:
    """Return the part's curve at the orders."""
    if isinstance(part, GDP):
        return gdp_to_rdp(part, orders=orders)
    return notion_to_rdp(part, orders=orders)


def _as_far_as_computed(part: Guarantee[R], orders: Sequence[Number]) -> RDP[R]:
    """Return the curve up to the first order that is too large to compute.

    That order is found by bisection.
    """

    def too_large(order: Number) -> bool:
        try:
            part.rdp(order=order)
        except NotCertified:
            return True
        return False

    try:
        return _listed(part, orders)
    except NotCertified:
        place = bisect.bisect_left(orders, True, key=too_large)
        if not place:
            raise
    return _listed(part, orders[:place])
