"""From pure to Gaussian differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.gaussian import pure_mu
from dpproof.accountant.relation import R

CONVERT_PURE_GDP: Final = Theorem(
    rule="convert/pure-gdp",
    source="Liu, Sun, Jiang & Kong, arXiv:2210.09269; proved in pure_to_gdp",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: pure_to_gdp(premises[0]),
    lossless=False,
)


def pure_to_gdp(guarantee: PureDP[R]) -> GDP[R]:
    """Find the Gaussian trade-off below that of randomised response.

    Statement: epsilon-DP implies mu-GDP with mu = 2 Phi^{-1}(e^epsilon/(1 + e^epsilon)), and no
        smaller mu.
    Assumes: nothing.
    Source: Liu, Sun, Jiang & Kong, arXiv:2210.09269 (every epsilon-DP mechanism is GDP).
    Proof: the trade-off of randomised response is linear between (0, 1), (a, a) and (1, 0) with
        a = 1/(1 + e^epsilon). A convex curve is below it iff it is at the three vertices, and
        G_mu(0) = 1, G_mu(1) = 0, while G_mu(a) = Phi(Phi^{-1}(1 - a) - mu) <= a iff
        mu >= 2 Phi^{-1}(1 - a).
    Rounds: up, by at most 1e-13 relative.

    Args:
        guarantee: epsilon-DP.

    Returns:
        GDP.

    Raises:
        NotImplied: epsilon is beyond every float.
    Laws: loses information; monotone in epsilon.

    Example:
        >>> round(float(pure_to_gdp(PureDP(epsilon=1)).mu), 6)
        1.232035
    """
    derivation = applied(
        CONVERT_PURE_GDP,
        f"mu = 2 Phi^-1(e^epsilon/(1 + e^epsilon)) of {guarantee.describe()}",
        guarantee,
    )
    mu = _mu(guarantee.stated_epsilon)
    return GDP(mu=mu, relation=guarantee.relation, derivation=derivation)


def _mu(epsilon: Fraction) -> Fraction:
    """Return mu, rounded up; refuse an epsilon that is not representable as a float."""
    above = floats_around(epsilon)[1]
    if math.isinf(above):
        raise NotImplied(
            "epsilon is not representable as a float, so that it implies no usable mu; state a "
            "smaller epsilon"
        )
    return Fraction(pure_mu(above))
