"""From a dominating pair to Gaussian differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_PAIR_GDP: Final = Theorem(
    rule="convert/pair-gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Corollary 2.13",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: pair_to_gdp(premises[0]),
    lossless=False,
)


def pair_to_gdp(guarantee: PairGuarantee[R]) -> GDP[R]:
    """Find the Gaussian whose profile is nowhere below that of the dominating pair.

    Statement: a mechanism is mu-GDP iff its profile is at or below that of N(mu, 1) over
        N(0, 1) at every epsilon, in both directions.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Corollary 2.13.
    Rounds: up.

    Args:
        guarantee: a notion with a dominating pair.

    Returns:
        GDP.

    Raises:
        NotImplied: no mu is enough, as for (epsilon, delta)-DP with delta above 0.
    Laws: loses everything but mu.

    Example:
        >>> from dpproof.accountant.guarantees.trade_off import TradeOff
        >>> mu = pair_to_gdp(TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))).mu
        >>> round(float(mu), 6)
        1.34898
    """
    mu = guarantee.gdp().upper
    if math.isinf(mu):
        raise NotImplied(
            f"{guarantee.describe()} implies mu-GDP for no mu: its profile is above every "
            "Gaussian one in the tail; .gdp(smallest_delta=...) compares above a delta, and "
            "to=PrivacyProfile (at epsilons) keeps what is known"
        )
    derivation = applied(CONVERT_PAIR_GDP, f"{mu:.6g}-GDP", guarantee)
    return GDP(mu=Fraction(mu), relation=guarantee.relation, derivation=derivation)
