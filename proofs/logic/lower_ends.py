"""Claims that two laws differ by at least so much: facts about a product of pairs alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.pairs import Product, product_words
from dpproof.proofs.core.statements import Claim


@final
@dataclass(frozen=True, slots=True)
class PowerAtLeast(Claim):
    """Some test T has Q(T) <= false_positive_rate and P(T) >= true_positive_rate: a fact."""

    product: Product
    false_positive_rate: Fraction
    true_positive_rate: Fraction
    fact: ClassVar[bool] = True

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        return (
            f"a test of {product_words(self.product)} with a true-positive rate of at least "
            f"{exact(self.true_positive_rate)} at a false-positive rate of "
            f"{exact(self.false_positive_rate)}"
        )


@final
@dataclass(frozen=True, slots=True)
class RenyiAtLeast(Claim):
    """The Renyi divergence of P from Q at one order > 1 is at least the value: a fact."""

    product: Product
    order: Fraction
    value: Fraction
    fact: ClassVar[bool] = True

    def describe(self) -> str:
        """Return the claim in words and numbers."""
        what = f"Renyi divergence of order {exact(self.order)} of {product_words(self.product)}"
        return f"{what} at least {exact(self.value)}"
