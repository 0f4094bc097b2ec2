"""Group privacy of Renyi curves."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

_MAX_SIZE = 10_000  # Largest size of a group, to bound the time. Larger ones raise.


GROUP_RDP: Final = Theorem(
    rule="group/rdp",
    source="Bun & Steinke, arXiv:1605.02065, Lemma 5.2, iterated in group_rdp",
    attained=Attained.NO,  # loses information
    again=lambda premises, given: group_rdp(premises[0], size=given["size"]),
    lossless=False,
)


def group_rdp(guarantee: RDP[R], *, size: int) -> RDP[R]:
    """Add up Renyi divergences along the chain, at growing orders.

    Statement: if the divergence of neighbours at order b is at most R(b), that along a chain of
        k neighbours at order a > 1 is at most sum_{j<k} k a/(k a - j) R(k a - j).
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Lemma 5.2 (the triangle inequality), iterated.
    Proof: Hoelder with exponents (k a - 1)/(a (k-1)) and (k a - 1)/(a - 1) gives D_a(P || Q) <=
        k a/(k a - 1) D_{(k a - 1)/(k - 1)}(P || S) + D_{k a}(S || Q). Apply it with k - 1 at
        order a' = (k a - 1)/(k - 1), where (k-1) a' = k a - 1; the factors telescope.
    Rounds: up.

    Args:
        guarantee: holds for one step between neighbours.
        size: number of steps k, at most 10_000; orders reach the largest known one over k.

    Returns:
        RDP for datasets that k steps connect, at the listed orders divided by k.

    Raises:
        NotImplied: the largest known order is at most k.
        ParameterError: size out of range.
    Laws: size 1 changes nothing; a curve rho a becomes k^2 rho a.

    Example:
        >>> group_rdp(RDP(points=((2, 2), (3, 3), (4, 4))), size=2).points[1]
        (Fraction(2, 1), Fraction(8, 1))
    """
    times = arguments.count(size=size)
    if times == 1:
        return guarantee
    if times > _MAX_SIZE:
        raise NotImplied(f"groups of {times} are beyond {_MAX_SIZE} for a Renyi curve; use ZCDP")
    orders = [order / times for order, _ in guarantee.points if order > times]
    if not orders:
        raise NotImplied(
            f"a group of {times} needs Renyi orders above {times}; the largest known is "
            f"{float(guarantee.largest_order):g}; list larger orders"
        )
    points = [(order, _summed(guarantee, order, times)) for order in orders]
    derivation = applied(
        GROUP_RDP, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return RDP(points=points, relation=guarantee.relation, derivation=derivation)


def _summed(guarantee: RDP[R], order: Fraction, times: int) -> Fraction:
    """Return the bound at an order, the weighted sum of the divergences at the orders it needs."""
    total, top = Fraction(0), times * order
    for j in range(times):
        value = guarantee.divergence_up(top - j)
        if value is None:
            raise NotImplied(
                f"a group needs the Renyi divergence at order {float(top - j):g}, which is not "
                "listed; list it, or use ZCDP, which has every order"
            )
        total += top / (top - j) * value
    return total
