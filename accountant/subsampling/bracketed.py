"""A worst case that is not known, between a product above and one that some instance attains."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.engine.profile import deltas, epsilon
from dpproof.accountant.pairs.pair import Power
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.tabulated import TabulatedPair

_LEAST = 1e-40  # Upper end at which a table ends. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BracketedPair(TabulatedPair):
    """What lies between two products, in this direction.

    Attributes:
        high: dominates.
        low: is dominated.
        revealed: mu^2 of a Gaussian pair that dominates as well, infinite if none is stated.
    """

    high: Product
    low: Product
    revealed: Fraction | float = math.inf

    def swapped(self) -> BracketedPair:
        """Return the pair of the other direction."""
        return replace(self, high=self.high.swapped(), low=self.low.swapped())

    def powers_above(self, count: int) -> list[Power]:
        """Return those of the product above."""
        factors = self.high.times(count).factors
        return [one for f in factors for one in f.pair.powers_above(f.count)]

    def powers_below(self, count: int, *, adapts: bool) -> list[Power]:
        """Return those of the product below."""
        factors = self.low.times(count).factors
        return [one for f in factors for one in f.pair.powers_below(f.count, adapts=adapts)]

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return the lower end of the one below, and the upper end of the one above."""
        return deltas(self.low, epsilon)[0], deltas(self.high, epsilon)[1]

    @property
    def end(self) -> float:
        """Return the loss at which the one above is negligible."""
        return epsilon(self.high, _LEAST).upper

    @property
    def zcdp_bound(self) -> float:
        """Return that of the product above, or of the Gaussian pair."""
        above = self.high.added(lambda pair: pair.zcdp_bound)
        return min(above, float(self.revealed) / 2) * (1 + 1e-14)

    @property
    def gdp_bound(self) -> float:
        """Return that of the product above, or of the Gaussian pair."""
        above = self.high.added(lambda pair: pair.gdp_bound**2)
        return math.sqrt(min(above, float(self.revealed))) * (1 + 1e-14)

    @property
    def gaussian_tail(self) -> float:
        """Return that of the product above, which what it is of has too, or of the one below."""
        return max(side.added(lambda pair: pair.gaussian_tail) for side in (self.high, self.low))


def expanded(product: Product, *, high: bool) -> Product:
    """Return a product with all that is bracketed replaced by what is above, or below."""
    sides = [
        (pair.high if high else pair.low, factor.count)
        for factor in product.factors
        if isinstance(pair := factor.pair, BracketedPair)
    ]
    if not sides:
        return product
    rest = [one for one in product.factors if not isinstance(one.pair, BracketedPair)]
    return Product.merge([*rest, *(one for side, n in sides for one in side.times(n).factors)])
