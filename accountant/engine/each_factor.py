"""Ask every factor of a product for K at the same arguments, pairs of one class together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Reals
from dpproof.accountant.pairs.pair import Pair, differences
from dpproof.accountant.pairs.product import Product

Answer = TypeVar("Answer")


def cgfs(product: Product, s: Complexes) -> list[Enclosure]:
    """Enclose K of each factor's pair, in order."""
    return _by_class(product, lambda kind, pairs: kind.cgfs(pairs, s))


def cgfs_along(product: Product, points: Reals, line: Complexes) -> list[Enclosure]:
    """Enclose K of each factor's pair at real points and then on a vertical line of equal steps."""

    def ask(kind: type[Pair], pairs: Sequence[Pair]) -> Sequence[Enclosure]:
        if kind.cgf_along is Pair.cgf_along:
            return kind.cgfs(pairs, np.concatenate([points, line]))
        return [pair.cgf_along(points, line) for pair in pairs]

    return _by_class(product, ask)


def steers(product: Product, c: Reals) -> list[tuple[Reals, Reals, Reals]]:
    """Approximate K, K' and K'' of each factor's pair at increasing c > 0, as ``Pair.steer``."""

    def ask(kind: type[Pair], pairs: Sequence[Pair]) -> Sequence[tuple[Reals, Reals, Reals]]:
        if kind.steer is Pair.steer:
            return differences(c, lambda s: kind.cgfs(pairs, s))
        return [pair.steer(c) for pair in pairs]

    return _by_class(product, ask)


def _by_class(
    product: Product, ask: Callable[[type[Pair], Sequence[Pair]], Sequence[Answer]]
) -> list[Answer]:
    """Return the answers for each factor, in order, asked for the pairs of each class at once."""
    pairs = [factor.pair for factor in product.factors]
    places: dict[type[Pair], list[int]] = {}
    for place, pair in enumerate(pairs):
        places.setdefault(type(pair), []).append(place)
    found: dict[int, Answer] = {}
    for kind, some in places.items():
        found.update(zip(some, ask(kind, [pairs[place] for place in some]), strict=True))
    return [found[place] for place in range(len(pairs))]
