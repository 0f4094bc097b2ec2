"""Composition within Gaussian differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from accountant.guarantees.derivation import Derivation
from accountant.guarantees.gdp import GDP
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.preconditions import required
from accountant.guarantees.rounding import show, sqrt_up
from accountant.guarantees.theorem import Parameters, Premises, Theorem
from accountant.relation import R
from accountant.side_conditions import FIXED, OWN_RANDOMNESS


def _again(premises: Premises, _: Parameters) -> Guarantee[Any]:
    """Apply the theorem to other premises, with the parameters that it had."""
    return compose_gdp(premises)


COMPOSE_GDP: Final = Theorem(
    rule="compose/gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Corollary 3.3",
    again=_again,
)


def compose_gdp(parts: Sequence[GDP[R]]) -> GDP[R]:
    """Compose mechanisms that satisfy Gaussian differential privacy.

    Statement: if each M_i is mu_i-GDP for one neighbouring relation, and the mu_i are fixed in
        advance, their (adaptive) composition is mu-GDP with mu^2 = sum_i mu_i^2.
    Assumes: fixed in advance; own randomness.
    Source: Dong, Roth & Su, "Gaussian Differential Privacy", arXiv:1905.02383, Corollary 3.3.
    Rounds: nothing; squares are kept as exact rationals.
    Checked by: rule ``compose/gdp``.

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
    derivation = Derivation(
        theorem=COMPOSE_GDP,
        statement=f"{show(sqrt_up(total))}-GDP from {len(parts)} parts",
        premises=tuple(part.derivation for part in parts),
        assumptions=(FIXED(), OWN_RANDOMNESS()),
    )
    return GDP(mu_squared=total, relation=relation, derivation=derivation)
