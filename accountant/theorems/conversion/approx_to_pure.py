"""From approximate to pure differential privacy, where delta is 0."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_APPROX_PURE: Final = Theorem(
    rule="convert/approx-pure",
    source="Dwork et al., EUROCRYPT 2006, Definition 1",
    attained=Attained.WHOLE,  # the same pair
    pointwise=True,
    again=lambda premises, _: approx_to_pure(premises[0]),
)


def approx_to_pure(guarantee: ApproxDP[R]) -> PureDP[R]:
    """Write (epsilon, 0)-DP as epsilon-DP.

    Statement: epsilon-DP and (epsilon, 0)-DP are the same statement.
    Assumes: nothing.
    Source: Dwork et al., EUROCRYPT 2006, Definition 1 with delta = 0.
    Rounds: nothing.

    Args:
        guarantee: (epsilon, 0)-DP.

    Returns:
        PureDP with that epsilon.

    Raises:
        NotImplied: delta is above 0; no epsilon is then enough.
    Laws: lossless; ``pure_to_approx`` is its inverse.

    Example:
        >>> approx_to_pure(ApproxDP(epsilon=1, delta=0)).stated_epsilon
        Fraction(1, 1)
    """
    if guarantee.stated_delta > 0:
        raise NotImplied(
            f"{guarantee.describe()} implies epsilon-DP for no epsilon, as delta is above 0; "
            "keep it as ApproxDP"
        )
    derivation = applied(CONVERT_APPROX_PURE, f"{guarantee.describe()} without delta", guarantee)
    return PureDP(
        epsilon=guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
