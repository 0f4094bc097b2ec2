"""The lattice on which all losses of a product lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from dpproof.accountant.pairs.pair import Lattice
from dpproof.accountant.pairs.product import Product

# Relative difference of equal spans, which the blur of their users has to cover. Soundness depends
# on it.
_SAME = 1e-15


@final
@dataclass(frozen=True, slots=True)
class CommonLattice:
    """The lattice n_1 a_1 + n_2 a_2 + ... + k * span of a product.

    Attributes:
        offset: sum of counts times offsets.
        span: the common span.
        decay: half the sum of counts times adjacencies.
        size: sum of counts times absolute offsets.
        moved: by how much a total loss was moved to the lattice at most.
        fewest: the smallest count.
    """

    offset: float
    span: float
    decay: float
    size: float
    fewest: int
    moved: float = 0.0


def common_lattice(product: Product, c: float) -> CommonLattice | None:
    """Return the lattice of all factors, or None.

    It exists if each has one, with spans multiples of the least, as floats.
    """
    found: list[tuple[Lattice, int]] = []
    for factor in product.factors:
        lattice = factor.pair.lattice(c)
        if lattice is None:
            return None
        found.append((lattice, factor.count))
    span = min(lattice.span for lattice, _ in found)
    ratios = [lattice.span / span for lattice, _ in found]
    if any(abs(ratio - round(ratio)) > _SAME * ratio for ratio in ratios):
        return None
    finest = [(one, n) for (one, n), ratio in zip(found, ratios, strict=True) if round(ratio) == 1]
    return CommonLattice(
        offset=math.fsum(count * lattice.offset for lattice, count in found),
        span=span,
        decay=0.5 * sum(count * lattice.adjacency for lattice, count in finest),
        size=math.fsum(count * abs(lattice.offset) for lattice, count in found),
        fewest=min(count for _, count in found),
    )


def too_fine(lattice: CommonLattice) -> str:
    """Return what is too much work, for refusals."""
    return f"privacy losses that are multiples of {lattice.span:.3g} are too fine to be added up"
