"""Group privacy of pure differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

GROUP_PURE_DP: Final = Theorem(
    rule="group/pure-dp",
    source="Dwork & Roth 2014, Theorem 2.2",
    attained=Attained.NO,  # randomised response itself does not move so far along a chain
    again=lambda premises, given: group_pure(premises[0], size=given["size"]),
)


def group_pure(guarantee: PureDP[R], *, size: int) -> PureDP[R]:
    """Multiply epsilon by the size of the group.

    Statement: epsilon-DP for neighbours is size epsilon-DP along a chain of size neighbours.
    Assumes: nothing.
    Source: Dwork & Roth 2014, Theorem 2.2.
    Proof: multiply the size inequalities P_i(S) <= e^epsilon P_{i+1}(S).
    Rounds: nothing.

    Args:
        guarantee: holds for one step between neighbours.
        size: number of steps, from 1 to 10**12.

    Returns:
        PureDP for datasets that size steps connect.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> group_pure(PureDP(epsilon=1), size=3).stated_epsilon
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    derivation = applied(
        GROUP_PURE_DP, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return PureDP(
        epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
