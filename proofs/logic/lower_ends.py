"""Claims that two laws differ by at least so much: facts about a product of pairs alone."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Product
from dpproof.proofs.core.statements import Claim


@frozen
class PowerAtLeast(Claim):
    """Some test T has Q(T) <= false_positive_rate and P(T) >= true_positive_rate: a fact."""

    product: Product
    false_positive_rate: Fraction
    true_positive_rate: Fraction
    fact: ClassVar[bool] = True
    words: ClassVar[str] = (
        "a test of {product} with a true-positive rate of at least {true_positive_rate} at a "
        "false-positive rate of {false_positive_rate}"
    )


@frozen
class RenyiAtLeast(Claim):
    """The Renyi divergence of P from Q at one order > 1 is at least the value: a fact."""

    product: Product
    order: Fraction
    value: Fraction
    fact: ClassVar[bool] = True
    words: ClassVar[str] = "Renyi divergence of order {order} of {product} at least {value}"
