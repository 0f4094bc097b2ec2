"""From pure to zero-concentrated differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import epsilon_tanh_up
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R

CONVERT_PURE_ZCDP: Final = Theorem(
    rule="convert/pure-zcdp",
    source="Steinke 2024; proved in pure_to_zcdp",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: pure_to_zcdp(premises[0]),
    lossless=False,
)


def pure_to_zcdp(guarantee: PureDP[R]) -> ZCDP[R]:
    """Bound the Renyi curve of an epsilon-DP mechanism by a line.

    Statement: epsilon-DP implies rho-zCDP with rho = epsilon tanh(epsilon/2), and no smaller rho.
    Assumes: nothing.
    Source: Steinke, "Sharp RDP & zCDP from Pure DP", differentialprivacy.org, 2024, for the
        curve of randomised response.
    Proof: randomised response dominates, and E_P e^{sL} for it is cosh(epsilon u)/cosh(epsilon/2)
        with u = s + 1/2. As a function of w = u^2, log cosh(epsilon sqrt(w)) is concave (its
        derivative epsilon tanh(epsilon sqrt(w))/(2 sqrt(w)) falls), so it is below its tangent
        at w = 1/4: log E_P e^{sL} <= (u^2 - 1/4) epsilon tanh(epsilon/2), and u^2 - 1/4 is
        s(s+1), that is order times (order - 1). The tangent is met as the order falls to 1.
    Rounds: up, by at most 1e-15 relative; never above epsilon or epsilon^2/2, exact bounds.

    Args:
        guarantee: epsilon-DP.

    Returns:
        ZCDP.
    Laws: loses information; rho <= min(epsilon, epsilon^2/2).

    Example:
        >>> round(float(pure_to_zcdp(PureDP(epsilon=1)).rho), 6)
        0.462117
    """
    epsilon = guarantee.stated_epsilon
    derivation = applied(
        CONVERT_PURE_ZCDP, f"rho = epsilon tanh(epsilon/2) of {guarantee.describe()}", guarantee
    )
    return ZCDP(rho=epsilon_tanh_up(epsilon), relation=guarantee.relation, derivation=derivation)
