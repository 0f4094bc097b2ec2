"""From Gaussian to zero-concentrated differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R

CONVERT_GDP_ZCDP: Final = Theorem(
    rule="convert/gdp-zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Lemma 2.4",
    attained=Attained.NO,  # no Gaussian, though the same divergences
    again=lambda premises, _: gdp_to_zcdp(premises[0]),
    lossless=False,
)


def gdp_to_zcdp(guarantee: GDP[R]) -> ZCDP[R]:
    """Keep the Renyi curve of a Gaussian guarantee.

    Statement: mu-GDP implies rho-zCDP with rho = mu^2/2, and no smaller rho: the Renyi
        divergence of N(mu, 1) from N(0, 1) at order a is mu^2 a/2, and outputs of the mechanism
        are a post-processing of these two.
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Lemma 2.4 (the divergence); Dong, Roth & Su,
        arXiv:1905.02383, Theorem 2.10 (Blackwell).
    Rounds: nothing.

    Args:
        guarantee: mu-GDP.

    Returns:
        ZCDP(mu^2/2).
    Laws: loses information; commutes with composition.

    Example:
        >>> gdp_to_zcdp(GDP(mu=2)).rho
        Fraction(2, 1)
    """
    rho = guarantee.mu_squared / 2
    derivation = applied(CONVERT_GDP_ZCDP, f"{show(rho)}-zCDP", guarantee)
    return ZCDP(rho=rho, relation=guarantee.relation, derivation=derivation)
