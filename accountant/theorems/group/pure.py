"""Group privacy of pure differential privacy."""

from __future__ import annotations

from typing import Any, Final

from accountant import arguments
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.theorem import Parameters, Premises, Theorem
from accountant.relation import R


def _again(premises: Premises, given: Parameters) -> Guarantee[Any]:
    """Apply the theorem to other premises, with the parameters that it had."""
    return group_pure(premises[0], size=given["size"])


GROUP_PURE_DP: Final = Theorem(
    rule="group/pure-dp",
    source="Dwork & Roth 2014, Theorem 2.2",
    again=_again,
)


def group_pure(guarantee: PureDP[R], *, size: int) -> PureDP[R]:
    """Multiply epsilon by the size of the group.

    Statement: epsilon-DP for neighbours is size epsilon-DP along a chain of size neighbours.
    Assumes: nothing.
    Source: Dwork & Roth 2014, Theorem 2.2.
    Proof: multiply the size inequalities P_i(S) <= e^epsilon P_{i+1}(S).
    Rounds: nothing.
    Checked by: rule ``group/pure-dp``.

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
    derivation = Derivation(
        theorem=GROUP_PURE_DP,
        statement=f"{guarantee.describe()}, for groups of {times}",
        premises=(guarantee.derivation,),
        parameters=(("size", times),),
    )
    return PureDP(
        epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
