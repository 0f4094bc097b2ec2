"""Points and products of pairs in words and numbers, in full."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpproof.proofs.balls.arithmetic import exact
from dpproof.proofs.pairs.pair import Product
from dpproof.proofs.verdict import openable


def listed(points: Sequence[tuple[Fraction, Fraction]]) -> str:
    """List every point."""
    return openable(", ".join(f"({exact(x)}, {exact(y)})" for x, y in points))


def product_words(product: Product) -> str:
    """List every pair with its count."""
    shown = (f"{count} x {pair.describe()}" for pair, count in product)
    return openable("; ".join(shown)) if product else "two equal laws"
