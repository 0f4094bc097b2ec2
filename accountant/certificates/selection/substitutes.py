"""Selections inside a composition: finite pairs that the checker knows stand in for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

from accountant.guarantees.dominating_pair import DominatingPair
from accountant.guarantees.guarantee import Guarantee
from accountant.pairs.finite import FinitePair
from accountant.pairs.pair import Pair
from accountant.pairs.product import Factor, Product
from accountant.subsampling.subsampled import SubsampledPair

_MOST = 1_500  # outcomes


def single_finite_pair(product: Product) -> FinitePair | None:
    """The one finite pair, once, that a product consists of, if it is a short one."""
    first = product.factors[0]
    if len(product.factors) == 1 and first.count == 1 and isinstance(first.pair, FinitePair):
        return first.pair if len(first.pair.p) <= _MOST else None
    return None


def finite_guarantee(
    pair: DominatingPair[Any], forward: FinitePair, backward: FinitePair
) -> DominatingPair[Any]:
    """Finite pairs as a statement under another one's relation."""
    ahead, behind = Product.of(forward), Product.of(backward)
    return DominatingPair(forward=ahead, backward=behind, relation=pair.relation)


@final
@dataclass(frozen=True, slots=True)
class Substitutes:
    """What stands for which selected pair."""

    known: dict[Pair, Pair] = field(default_factory=dict)

    def of(self, pair: DominatingPair[Any]) -> DominatingPair[Any]:
        """Both directions with all stand-ins, as a statement of its own."""
        forward, backward = (self._product(one) for one in (pair.forward, pair.backward))
        return DominatingPair(forward=forward, backward=backward, relation=pair.relation)

    def substituted(self, guarantee: Guarantee[Any]) -> Guarantee[Any]:
        """What the checker is told in place of a guarantee."""
        return self.of(guarantee) if isinstance(guarantee, DominatingPair) else guarantee

    def add(self, pair: DominatingPair[Any], forward: FinitePair, backward: FinitePair) -> None:
        """Let finite pairs stand for those of a guarantee that has one in each direction."""
        self.known[pair.forward.factors[0].pair] = forward
        self.known[pair.backward.factors[0].pair] = backward

    def _product(self, product: Product) -> Product:
        return Product.merge([Factor(self._pair(f.pair), f.count) for f in product.factors])

    def _pair(self, pair: Pair) -> Pair:
        if isinstance(pair, SubsampledPair):
            return replace(pair, base=self._product(pair.base))
        return self.known.get(pair, pair)
