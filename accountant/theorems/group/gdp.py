"""Group privacy of Gaussian differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

GROUP_GDP: Final = Theorem(
    rule="group/gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14",
    attained=Attained.WHOLE,  # a query that moves on along a line
    again=lambda premises, given: group_gdp(premises[0], size=given["size"]),
)


def group_gdp(guarantee: GDP[R], *, size: int) -> GDP[R]:
    """Multiply mu by the size of the group.

    Statement: mu-GDP for neighbours is size mu-GDP along a chain of size neighbours.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14 (the example after it).
    Proof: the power a -> Phi(Phi^{-1}(a) + mu) applied size times is the power for size mu.
    Rounds: nothing.

    Args:
        guarantee: holds for one step between neighbours.
        size: number of steps, from 1 to 10**12.

    Returns:
        GDP for datasets that size steps connect.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> group_gdp(GDP(mu=1), size=3).mu
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    derivation = applied(
        GROUP_GDP, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return GDP(
        mu_squared=times**2 * guarantee.mu_squared,
        relation=guarantee.relation,
        derivation=derivation,
    )
