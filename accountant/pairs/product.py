"""A product of independent pairs with whole counts: what composition composes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from accountant.pairs.pair import Pair
from accountant.pairs.subsampled_gaussian_product import bundled


@final
@dataclass(frozen=True, slots=True)
class Factor:
    """One pair, ``count`` times."""

    pair: Pair
    count: int


@final
@dataclass(frozen=True, slots=True)
class Product:
    """Factors in order of first appearance, equal pairs merged by adding counts."""

    factors: tuple[Factor, ...]

    @staticmethod
    def of(*pairs: Pair) -> Product:
        """Each pair once."""
        return Product.merge([Factor(pair, 1) for pair in pairs])

    @staticmethod
    def merge(factors: list[Factor]) -> Product:
        """Merge equal pairs."""
        if len(factors) == 1:
            return Product(tuple(factors))
        counts: dict[Pair, int] = {}
        for factor in factors:
            counts[factor.pair] = counts.get(factor.pair, 0) + factor.count
        return Product(tuple(Factor(pair, count) for pair, count in counts.items()))

    def times(self, count: int) -> Product:
        """The product with itself, ``count`` times."""
        return Product(tuple(Factor(f.pair, f.count * count) for f in self.factors))

    def joined(self, other: Product) -> Product:
        """The product of two products."""
        return Product.merge([*self.factors, *other.factors])

    def swapped(self) -> Product:
        """Every pair swapped."""
        return Product.merge([Factor(f.pair.swapped(), f.count) for f in self.factors])

    def above(self) -> Product:
        """Every pair replaced by one with an exact K that dominates it."""
        return self._replaced([f.pair.above(f.count) for f in self.factors])

    def below(self) -> Product:
        """Every pair replaced by one with an exact K that it dominates."""
        return self._replaced([f.pair.below(f.count) for f in self.factors])

    def _replaced(self, pairs: list[Pair]) -> Product:
        """The factors with other pairs; itself, where none is another."""
        parts = list(zip(pairs, self.factors, strict=True))
        if all(pair is factor.pair for pair, factor in parts):
            return self
        return Product.merge([Factor(pair, factor.count) for pair, factor in parts])

    def refined(self) -> Product:
        """The same product, K computed to more digits where that can be done."""
        return self._replaced([f.pair.refined() for f in self.factors])

    def bundled(self) -> Product:
        """The same product, many pairs of a kind as one, so that they are computed at once."""
        parts = bundled([(factor.pair, factor.count) for factor in self.factors])
        return Product(tuple(Factor(pair, count) for pair, count in parts))
