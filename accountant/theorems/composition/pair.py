"""Composition of dominating pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.composed_level import composed_level
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.preconditions import required
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS

COMPOSE_PAIR: Final = Theorem(
    rule="compose/pair",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Theorem 10",
    attained=Attained.WHOLE,  # every mechanism on the same neighbours, drawn on its own
    again=lambda premises, _: compose_pair(premises),
)


def compose_pair(parts: Sequence[PairGuarantee[R]]) -> DominatingPair[R]:
    """Compose mechanisms that each have a dominating pair.

    Statement: if (P_i, Q_i) dominates M_i for one neighbouring relation and one direction, and
        the pairs are fixed in advance, the product pair dominates their (adaptive) composition
        in that direction.
    Assumes: fixed in advance; own randomness.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Theorem 10; equivalently Dong, Roth & Su,
        arXiv:1905.02383, Theorem 3.2.
    Rounds: nothing; products are kept symbolically with whole counts.

    Args:
        parts: at least one guarantee, all under the same relation.

    Returns:
        DominatingPair under that relation, equal pairs merged by adding counts.

    Raises:
        RelationMismatch: two parts differ in relation.
        ParameterError: parts is empty.
    Laws: order does not matter; a part that reveals nothing changes nothing.

    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> from dpproof.accountant.guarantees.pure_dp import PureDP
        >>> len(compose_pair([GDP(mu=1), PureDP(epsilon=1), GDP(mu=1)]).forward.factors)
        2
    """
    relation = required(parts, "compose")
    pairs = [part.to_pair() for part in parts]
    forward = Product.merge([factor for pair in pairs for factor in pair.forward.factors])
    backward = Product.merge([factor for pair in pairs for factor in pair.backward.factors])
    derivation = applied(
        COMPOSE_PAIR,
        f"dominated by the product of the pairs of {len(parts)} parts",
        *pairs,
        assumptions=(FIXED(), OWN_RANDOMNESS()),
        attained=composed_level(pairs, forward, backward),
    )
    return DominatingPair(
        forward=forward,
        backward=backward,
        relation=relation,
        derivation=derivation,
    )
