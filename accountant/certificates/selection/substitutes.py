"""Substitute selections inside a composition by finite pairs that the checker knows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, final

from dpproof.accountant.certificates.format.serialize import UNCERTIFIED
from dpproof.accountant.certificates.hockey_stick.choose import Point
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.ranges.pair import as_logistic
from dpproof.accountant.subsampling.subsampled import SubsampledPair

_MOST = 1_500  # Most outcomes of a pair that is used as it is. Heuristic.


def single_finite_pair(product: Product) -> FinitePair | None:
    """Return the one finite pair, once, that a product consists of, if it is short; else None."""
    first = product.factors[0]
    if len(product.factors) == 1 and first.count == 1 and isinstance(first.pair, FinitePair):
        return first.pair if len(first.pair.p) <= _MOST else None
    return None


def finite_guarantee(
    pair: DominatingPair[Any], forward: FinitePair, backward: FinitePair
) -> DominatingPair[Any]:
    """Return finite pairs as a guarantee under another one's relation."""
    ahead, behind = Product.of(forward), Product.of(backward)
    return DominatingPair(forward=ahead, backward=behind, relation=pair.relation)


def with_logistic(pair: DominatingPair[Any]) -> DominatingPair[Any]:
    """Return the pair that the checker knows: bounded ranges as logistic pairs, or itself."""
    forward, backward = as_logistic(pair.forward), as_logistic(pair.backward)
    if (forward, backward) == (pair.forward, pair.backward):
        return pair
    return DominatingPair(forward=forward, backward=backward, relation=pair.relation)


def moved_to(pair: DominatingPair[Any], point: Point) -> Point:
    """Return the point of a substitute at the same epsilon or delta."""
    if not point.moves:
        return replace(point, delta=pair.delta(epsilon=point.epsilon).upper)
    found = pair.epsilon(delta=point.delta).upper
    if math.isinf(found):
        raise NotCertified(
            f"no finite pair that the checker knows proves delta = {point.delta:.6g}; {UNCERTIFIED}"
        )
    return replace(point, epsilon=found)


@final
@dataclass(frozen=True, slots=True)
class Substitutes:
    """The finite pairs that replace selected pairs, and whole products of bounded ranges."""

    known: dict[Pair, Pair] = field(default_factory=dict)
    products: dict[Product, Product] = field(default_factory=dict)

    def of(self, pair: DominatingPair[Any]) -> DominatingPair[Any]:
        """Return both directions with all substitutes, as a stated guarantee."""
        forward, backward = (self._product(one) for one in (pair.forward, pair.backward))
        return DominatingPair(forward=forward, backward=backward, relation=pair.relation)

    def substituted(self, guarantee: Guarantee[Any]) -> Guarantee[Any]:
        """Return a guarantee with substitutes, itself if it is no dominating pair."""
        return self.of(guarantee) if isinstance(guarantee, DominatingPair) else guarantee

    def add(self, pair: DominatingPair[Any], forward: FinitePair, backward: FinitePair) -> None:
        """Add finite pairs in place of those of a guarantee that has one in each direction."""
        self.known[pair.forward.factors[0].pair] = forward
        self.known[pair.backward.factors[0].pair] = backward

    def _product(self, product: Product) -> Product:
        """Return a product with all substitutes."""
        if product in self.products:
            return self.products[product]
        return Product.merge([Factor(self._pair(f.pair), f.count) for f in product.factors])

    def _pair(self, pair: Pair) -> Pair:
        """Return a pair's substitute, or itself."""
        if isinstance(pair, SubsampledPair):
            return replace(pair, base=self._product(pair.base))
        return self.known.get(pair, pair)
