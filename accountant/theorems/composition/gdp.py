"""Composition within Gaussian differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.preconditions import required
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS

COMPOSE_GDP: Final = Theorem(
    rule="compose/gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Corollary 3.3",
    attained=Attained.WHOLE,  # every query moves between the same neighbours
    again=lambda premises, _: compose_gdp(premises),
)


def compose_gdp(parts: Sequence[GDP[R]]) -> GDP[R]:
    """Compose mechanisms that satisfy Gaussian differential privacy.

    Statement: if each M_i is mu_i-GDP for one neighbouring relation, and the mu_i are fixed in
        advance, their (adaptive) composition is mu-GDP with mu^2 = sum_i mu_i^2.
    Assumes: fixed in advance; own randomness.
    Source: Dong, Roth & Su, "Gaussian Differential Privacy", arXiv:1905.02383, Corollary 3.3.
    Rounds: nothing; squares are kept as exact rationals.

    Args:
        parts: at least one guarantee, all under the same relation.

    Returns:
        GDP under that relation; mu dimensionless.

    Raises:
        RelationMismatch: two parts differ in relation; names both and their positions.
        ParameterError: parts is empty.
    Laws: order does not matter; composing with mu = 0 changes nothing; monotone in every mu_i.

    Example:
        >>> compose_gdp([GDP(mu=3), GDP(mu=4)]).mu
        Fraction(5, 1)
    """
    relation = required(parts, "compose")
    total = sum((part.mu_squared for part in parts), Fraction(0))
    derivation = applied(
        COMPOSE_GDP,
        f"{show(sqrt_up(total))}-GDP from {len(parts)} parts",
        *parts,
        assumptions=(FIXED(), OWN_RANDOMNESS()),
    )
    return GDP(mu_squared=total, relation=relation, derivation=derivation)
