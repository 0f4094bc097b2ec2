"""From pure to approximate differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_PURE_APPROX: Final = Theorem(
    rule="convert/pure-approx",
    source="Dwork et al., EUROCRYPT 2006, Definition 1",
    attained=Attained.WHOLE,  # the same pair
    pointwise=True,
    again=lambda premises, _: pure_to_approx(premises[0]),
)


def pure_to_approx(guarantee: PureDP[R]) -> ApproxDP[R]:
    """Write epsilon-DP as (epsilon, 0)-DP.

    Statement: epsilon-DP and (epsilon, 0)-DP are the same statement.
    Assumes: nothing.
    Source: Dwork et al., EUROCRYPT 2006, Definition 1 with delta = 0.
    Rounds: nothing.

    Args:
        guarantee: epsilon-DP.

    Returns:
        ApproxDP with delta = 0.
    Laws: lossless; ``approx_to_pure`` is its inverse.

    Example:
        >>> pure_to_approx(PureDP(epsilon=1)).stated_delta
        Fraction(0, 1)
    """
    derivation = applied(CONVERT_PURE_APPROX, f"{guarantee.describe()} with delta = 0", guarantee)
    return ApproxDP(
        epsilon=guarantee.stated_epsilon,
        delta=0,
        relation=guarantee.relation,
        derivation=derivation,
    )
