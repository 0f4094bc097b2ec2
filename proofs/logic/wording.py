"""Points and products of pairs in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from proofs.balls.arithmetic import show
from proofs.pairs.pair import Product


def listed(points: Sequence[tuple[Fraction, Fraction]]) -> str:
    """Points in words and numbers."""
    shown = [f"({show(x)}, {show(y)})" for x, y in points]
    return ", ".join(shown if len(shown) <= 4 else [*shown[:2], "...", shown[-1]])


def product_words(product: Product) -> str:
    """A product of pairs in words and numbers."""
    shown = [f"{count} x {pair.describe()}" for pair, count in product]
    return "; ".join(shown if len(shown) <= 4 else [*shown[:2], "...", shown[-1]]) or "nothing"
