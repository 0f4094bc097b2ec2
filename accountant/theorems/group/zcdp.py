"""Group privacy of zero-concentrated differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R

GROUP_ZCDP: Final = Theorem(
    rule="group/zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Proposition 1.9",
    attained=Attained.WHOLE,  # a Gaussian query that moves on along a line
    again=lambda premises, given: group_zcdp(premises[0], size=given["size"]),
)


def group_zcdp(guarantee: ZCDP[R], *, size: int) -> ZCDP[R]:
    """Multiply rho by the square of the size of the group.

    Statement: rho-zCDP for neighbours is size^2 rho-zCDP along a chain of size neighbours.
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Proposition 1.9.
    Proof: ``group_rdp`` with R_a = rho a: each of its size terms is size rho a.
    Rounds: nothing.

    Args:
        guarantee: holds for one step between neighbours.
        size: number of steps, from 1 to 10**12.

    Returns:
        ZCDP for datasets that size steps connect.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> group_zcdp(ZCDP(rho=1), size=3).rho
        Fraction(9, 1)
    """
    times = arguments.count(size=size)
    derivation = applied(
        GROUP_ZCDP, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return ZCDP(rho=times**2 * guarantee.rho, relation=guarantee.relation, derivation=derivation)
