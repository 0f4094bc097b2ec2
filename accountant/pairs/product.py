"""A product of independent pairs with integer counts: what composition yields."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from typing import Final, TypeVar, cast, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Reals
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.pair import Pair, Power, differences
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussians, bundled
from dpproof.accountant.readable import shortened

_SHOWN = 3  # factors of a repr
_KEPT = 16  # Factors from which a product keeps what is made of it. Heuristic.

# Squared mu of Gaussian pairs that are added up. Heuristic: extremes are left as they are.
_SMALLEST: Final = Fraction(1, 10**100)
_LARGEST: Final = Fraction(10**100)


@final
@dataclass(frozen=True, slots=True)
class Factor:
    """One pair and its count."""

    pair: Pair
    count: int

    def __repr__(self) -> str:
        """Return the pair and how often it is there."""
        return f"{self.count} × {self.pair!r}" if self.count > 1 else repr(self.pair)


Made = TypeVar("Made")


def _once(make: Callable[[Product], Made]) -> Callable[[Product], Made]:
    """Keep what a method makes of a product of many factors, as every question asks for it."""

    @wraps(make)
    def kept(product: Product) -> Made:
        if len(product.factors) < _KEPT:
            return make(product)
        if make.__name__ not in product.made:
            product.made[make.__name__] = make(product)
        return cast("Made", product.made[make.__name__])

    return kept


@final
@dataclass(frozen=True, slots=True)
class Product:
    """A product of pairs: factors in order of first appearance, equal pairs merged."""

    factors: tuple[Factor, ...]
    made: dict[str, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Return the hash of the factors."""
        return self._hash()

    @_once
    def _hash(self) -> int:
        return hash(self.factors)

    def __reduce__(self) -> tuple[type[Product], tuple[tuple[Factor, ...]]]:
        """Return the factors alone: hashes of other processes differ."""
        return Product, (self.factors,)

    def __repr__(self) -> str:
        """Return the first few factors."""
        factors = " + ".join(map(repr, self.factors[:_SHOWN]))
        more = f" + … {len(self.factors)} in all" if len(self.factors) > _SHOWN else ""
        return shortened(f"{factors or 'nothing'}{more}")

    @staticmethod
    def of(*pairs: Pair) -> Product:
        """Return the product of the pairs, each once."""
        return Product.merge([Factor(pair, 1) for pair in pairs])

    @staticmethod
    def merge(factors: list[Factor]) -> Product:
        """Return the product of the factors, adding the counts of equal pairs."""
        if len(factors) == 1:
            return Product(tuple(factors))
        counts: dict[Pair, int] = {}
        for factor in factors:
            counts[factor.pair] = counts.get(factor.pair, 0) + factor.count
        return Product(tuple(Factor(pair, count) for pair, count in counts.items()))

    def times(self, count: int) -> Product:
        """Return the product with itself, ``count`` times."""
        return Product(tuple(Factor(f.pair, f.count * count) for f in self.factors))

    def joined(self, other: Product) -> Product:
        """Return the product of two products."""
        return Product.merge([*self.factors, *other.factors])

    def added(self, number: Callable[[Pair], float]) -> float:
        """Return the sum of a number of every pair, each as often as it is there.

        It errs by two units in the last place of every term, however many there are; it is nan
        where infinities of either sign meet.
        """
        each = [factor.count * number(factor.pair) for factor in self.factors]
        try:
            return math.fsum(each)
        except (OverflowError, ValueError):
            return sum(each)

    @_once
    def swapped(self) -> Product:
        """Return the product of the swapped pairs."""
        return self.mapped(lambda pair: pair.swapped())

    @_once
    def above(self) -> Product:
        """Return the product with every pair replaced by one with an exact K that dominates it."""
        return self._powers([f.pair.powers_above(f.count) for f in self.factors])

    @_once
    def below(self) -> Product:
        """Return the product with every pair replaced by one with an exact K that it dominates.

        One of those that adapt may do so, as all others can be looked at before.
        """
        adapting = [f for f in self.factors if f.pair.adapts]
        last = max(adapting, key=lambda f: f.count * f.pair.zcdp_bound, default=None)
        return self._powers([f.pair.powers_below(f.count, adapts=f is last) for f in self.factors])

    def _powers(self, powers: list[list[Power]]) -> Product:
        """Return the product of powers in the place of the factors, or the product itself."""
        parts = zip(powers, self.factors, strict=True)
        if all(len(one) == 1 and one[0][0] is f.pair and one[0][1] == f.count for one, f in parts):
            return self
        return Product.merge([Factor(pair, count) for one in powers for pair, count in one])

    def mapped(self, change: Callable[[Pair], Pair]) -> Product:
        """Return the product with each pair changed, or the product itself if none is another."""
        return self._replaced([change(factor.pair) for factor in self.factors])

    def _replaced(self, pairs: list[Pair]) -> Product:
        """Return the factors with other pairs, or the product itself if none is another."""
        parts = list(zip(pairs, self.factors, strict=True))
        if all(pair is factor.pair for pair, factor in parts):
            return self
        return Product.merge([Factor(pair, factor.count) for pair, factor in parts])

    @_once
    def near_lattice(self) -> tuple[Product, float]:
        """Return the product of what is on lattices, and by how much its losses are moved."""
        near = [f.pair.near_lattice() for f in self.factors]
        moved = math.fsum(f.count * far for f, (_, far) in zip(self.factors, near, strict=True))
        return self._replaced([pair for pair, _ in near]), moved

    def refined(self) -> Product:
        """Return the same product, K computed to more digits if that can be done."""
        return self.mapped(lambda pair: pair.refined())

    def unbundled(self) -> Product:
        """Return the same product, every bundle as its parts, which know K to more digits."""
        factors: list[Factor] = []
        for one in self.factors:
            if isinstance(one.pair, SubsampledGaussians):
                factors += [Factor(pair, one.count * count) for pair, count in one.pair.parts]
            else:
                factors.append(one)
        return Product.merge(factors)

    @_once
    def summed(self) -> Product:
        """Return the same product, its Gaussian pairs as one, whose mu^2 is the exact sum."""
        factors = [one for one in self.factors if type(one.pair) is not GaussianPair]
        squares = [
            one.count * one.pair.mu_squared
            for one in self.factors
            if type(one.pair) is GaussianPair
        ]
        if len(squares) < 2 or not _SMALLEST < min(squares) <= sum(squares) < _LARGEST:
            return self
        return Product((*factors, Factor(GaussianPair(mu_squared=sum(squares, Fraction(0))), 1)))

    @_once
    def bundled(self) -> Product:
        """Return the same product, many pairs of a kind as one, so that they share arrays."""
        if len(self.factors) == 1:
            return self.summed()
        parts = bundled([(factor.pair, factor.count) for factor in self.summed().factors])
        return Product(tuple(Factor(pair, count) for pair, count in parts))


Answer = TypeVar("Answer")


def cgfs(product: Product, s: Complexes) -> list[Enclosure]:
    """Enclose K of each factor's pair, in order."""
    return by_class(product, lambda kind, pairs, _: kind.cgfs(pairs, s))


def cgfs_along(product: Product, points: Reals, line: Complexes) -> list[Enclosure]:
    """Enclose K of each factor's pair at real points and then on a vertical line of equal steps."""
    return by_class(product, lambda kind, pairs, _: kind.cgfs_along(pairs, points, line))


def steers(product: Product, c: Reals) -> Reals:
    """Approximate K, K' and K'' of each factor's pair at increasing c, shape (factors, 3, n)."""

    def ask(kind: type[Pair], pairs: Sequence[Pair], _: list[int]) -> Sequence[Reals]:
        if kind.steer is Pair.steer:
            return list(differences(c, lambda s: kind.cgfs(pairs, s)).swapaxes(0, 1))
        return [np.stack(pair.steer(c)) for pair in pairs]

    return np.array(by_class(product, ask)).reshape(-1, 3, c.size)


def by_class(
    product: Product, ask: Callable[[type[Pair], Sequence[Pair], list[int]], Sequence[Answer]]
) -> list[Answer]:
    """Return the answers for each factor, in order, asked for the pairs of each class at once.

    ``ask`` takes a class, its pairs and their places in the product.
    """
    if len(product.factors) == 1:
        alone = product.factors[0].pair
        return list(ask(type(alone), [alone], [0]))
    places: dict[type[Pair], list[int]] = {}
    for place, factor in enumerate(product.factors):
        places.setdefault(type(factor.pair), []).append(place)
    answers: dict[int, Answer] = {}
    for kind, some in places.items():
        found = ask(kind, [product.factors[place].pair for place in some], some)
        answers.update(zip(some, found, strict=True))
    return [answers[place] for place in range(len(product.factors))]
