"""From pure to approximate differential privacy."""

from __future__ import annotations

from typing import Any, Final

from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.theorem import Parameters, Premises, Theorem
from accountant.relation import R


def _again(premises: Premises, _: Parameters) -> Guarantee[Any]:
    """Apply the theorem to other premises, with the parameters that it had."""
    return pure_to_approx(premises[0])


CONVERT_PURE_APPROX: Final = Theorem(
    rule="convert/pure-approx",
    source="Dwork et al., EUROCRYPT 2006, Definition 1",
    again=_again,
)


def pure_to_approx(guarantee: PureDP[R]) -> ApproxDP[R]:
    """Write epsilon-DP as (epsilon, 0)-DP.

    Statement: epsilon-DP and (epsilon, 0)-DP are the same statement.
    Assumes: nothing.
    Source: Dwork et al., EUROCRYPT 2006, Definition 1 with delta = 0.
    Rounds: nothing.
    Checked by: rule ``convert/pure-approx``.

    Args:
        guarantee: epsilon-DP.

    Returns:
        ApproxDP with delta = 0.
    Laws: lossless; ``approx_to_pure`` is its inverse.

    Example:
        >>> pure_to_approx(PureDP(epsilon=1)).stated_delta
        Fraction(0, 1)
    """
    derivation = Derivation(
        theorem=CONVERT_PURE_APPROX,
        statement=f"{guarantee.describe()} with delta = 0",
        premises=(guarantee.derivation,),
    )
    return ApproxDP(
        epsilon=guarantee.stated_epsilon,
        delta=0,
        relation=guarantee.relation,
        derivation=derivation,
    )
