"""Dominating pairs, one product for each direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final, overload

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Theorem
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from dpproof.accountant.guarantees.pair_guarantee import FaithfulPairGuarantee
from dpproof.accountant.guarantees.provenance import applied, state
from dpproof.accountant.guarantees.words import pair_in_words
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, R, Relation


@final
@dataclass(frozen=True, slots=True, init=False)
class DominatingPair(FaithfulPairGuarantee[R]):
    """Products of pairs (P, Q) that dominate the mechanism M, one per direction.

    (P, Q) dominates when H_eps(P || Q) >= H_eps(M(D) || M(D')) for every real epsilon and all
    the neighbours it stands for: ``forward`` those where D holds the extra record (the record
    that is not blank), ``backward`` those where D' does. As H_eps(P || Q) = 1 - e^eps + e^eps
    H_{-eps}(Q || P), the swap of a product for one direction is one for the other. Under
    ReplaceOne, and between groups, both orders of two datasets count and none has the extra
    record: one product has to cover both. Two would not compose, as mechanisms could be dominated
    one by the first, another by the second, in one order (proofs/theory/relations.md).

    Source: Zhu, Dong & Wang (arXiv:2106.08567), Definition 7.

    Attributes:
        forward: dominates (M(D), M(D')) where D has the extra record; empty when M ignores it.
        backward: dominates the other order; equal to ``forward`` under ReplaceOne and of groups.
    """

    forward: Product
    backward: Product
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: DominatingPair[AddRemove],
        *,
        forward: Product,
        backward: Product | None = None,
        derivation: Derivation | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        forward: Product,
        backward: Product | None = None,
        relation: R,
        derivation: Derivation | None = None,
    ) -> None: ...
    def __init__(
        self,
        *,
        forward: Product,
        backward: Product | None = None,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee.

        ``backward`` defaults to the swap of forward, or to forward if the relation is symmetric.
        """
        alike = relation.symmetric or (derivation is not None and derivation.apart > 1)
        if backward is None:
            backward = forward if alike else forward.swapped()
        if alike and set(forward.factors) != set(backward.factors):
            raise ParameterError(
                "backward",
                backward,
                f"equal to forward under {relation}" if relation.symmetric else "equal to forward",
                "leave it out, and give a forward pair that dominates both orders of datasets",
            )
        state(
            self,
            "dominating-pair",
            relation,
            derivation,
            attained=Attained.WHOLE if backward == forward.swapped() else Attained.NO,
            forward=forward,
            backward=forward if alike else backward,
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        factors = self.forward.factors
        total = sum(factor.count for factor in factors)
        if total == 1 and isinstance(factors[0].pair, FinitePair):
            return f"dominated by a pair of {len(factors[0].pair.p)} outcomes"
        if total == 1:
            return f"dominated by {pair_in_words(factors[0].pair)}"
        if len(factors) == 1:
            return f"dominated by {pair_in_words(factors[0].pair)}, {total} times"
        return f"dominated by {total} pairs of {len(factors)} kinds"

    def to_pair(self) -> DominatingPair[R]:
        """Return the guarantee itself."""
        return self


def dominated(
    guarantee: Guarantee[R], theorem: Theorem, statement: str, pair: Pair | None
) -> DominatingPair[R]:
    """Return the pair of a notion, for both directions; None stands for one that reveals nothing.

    Args:
        guarantee: the notion.
        theorem: says that the pair dominates.
        statement: the same in words and numbers.
        pair: what dominates.
    """
    product = Product(()) if pair is None else Product.of(pair)
    return DominatingPair(
        forward=product,
        backward=product,
        relation=guarantee.relation,
        derivation=applied(theorem, statement, guarantee),
    )
