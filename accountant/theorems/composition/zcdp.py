"""Composition within zero-concentrated differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.preconditions import required
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS

COMPOSE_ZCDP: Final = Theorem(
    rule="compose/zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Lemma 2.3",
    attained=Attained.WHOLE,  # Gaussians on the same neighbours
    again=lambda premises, _: compose_zcdp(premises),
)


def compose_zcdp(parts: Sequence[ZCDP[R]]) -> ZCDP[R]:
    """Compose mechanisms that satisfy zero-concentrated differential privacy.

    Statement: if each M_i is rho_i-zCDP for one neighbouring relation, and the rho_i are fixed
        in advance, their (adaptive) composition is rho-zCDP with rho = sum_i rho_i.
    Assumes: fixed in advance; own randomness.
    Source: Bun & Steinke, arXiv:1605.02065, Lemma 2.3 (Lemma 1.7 for two).
    Rounds: nothing; rho is an exact rational.

    Args:
        parts: at least one guarantee, all under the same relation.

    Returns:
        ZCDP under that relation.

    Raises:
        RelationMismatch: two parts differ in relation.
        ParameterError: parts is empty.
    Laws: order does not matter; composing with rho = 0 changes nothing; monotone in every rho_i.

    Example:
        >>> compose_zcdp([ZCDP(rho=1), ZCDP(rho=2)]).rho
        Fraction(3, 1)
    """
    relation = required(parts, "compose")
    total = sum((part.rho for part in parts), Fraction(0))
    derivation = applied(
        COMPOSE_ZCDP,
        f"{show(total)}-zCDP from {len(parts)} parts",
        *parts,
        assumptions=(FIXED(), OWN_RANDOMNESS()),
    )
    return ZCDP(rho=total, relation=relation, derivation=derivation)
