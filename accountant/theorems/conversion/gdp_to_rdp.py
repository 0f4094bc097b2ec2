"""From Gaussian to Renyi differential privacy."""

from __future__ import annotations

from collections.abc import Sequence

from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.conversion.gdp_to_zcdp import gdp_to_zcdp
from dpproof.accountant.theorems.conversion.notion_to_rdp import notion_to_rdp


def gdp_to_rdp(guarantee: GDP[R], *, orders: Sequence[Number]) -> RDP[R]:
    """Evaluate the Renyi curve of a Gaussian guarantee, exactly.

    Statement: mu-GDP implies (a, mu^2 a/2)-RDP at every order a, and no smaller value.
    Assumes: nothing.
    Source: Mironov, arXiv:1702.07476, Proposition 7, through ``gdp_to_zcdp``.
    Rounds: nothing.

    Args:
        guarantee: mu-GDP.
        orders: one or more, each above 1.

    Returns:
        RDP at these orders.

    Raises:
        ParameterError: orders is empty or holds a number that is not above 1.
    Laws: loses everything that finitely many orders do not say; commutes with composition.

    Example:
        >>> gdp_to_rdp(GDP(mu=2), orders=[3]).points
        ((Fraction(3, 1), Fraction(6, 1)),)
    """
    return notion_to_rdp(gdp_to_zcdp(guarantee), orders=orders)
