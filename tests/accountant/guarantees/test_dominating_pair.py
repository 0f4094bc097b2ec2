"""Dominating pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.theorems.group import group
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract

PAIR = FinitePair(
    p=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
    q=(Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
)
OTHER = Product.of(GaussianPair(mu_squared=Fraction(1)))


class TestDominatingPair(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[DominatingPair[AddRemove]]:
        """Small, usual and large."""
        return (
            DominatingPair(forward=Product.of(PAIR)),
            DominatingPair(forward=Product.of(GaussianPair(mu_squared=Fraction(1))).times(3)),
        )

    def replace_one(self) -> DominatingPair[ReplaceOne]:
        """Under the other relation."""
        return DominatingPair(forward=Product.of(PAIR), relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        return [
            lambda: DominatingPair(forward=Product.of(PAIR), backward=OTHER, relation=ReplaceOne())
        ]

    def test_takes_the_worse_direction(self) -> None:
        """Every answer is the larger of the two directions."""
        guarantee = DominatingPair(forward=Product.of(PAIR))
        forward = [(0.5, 0.25), (0.25, 0.25), (0.25, 0.5)]
        backward = oracle.swapped(forward)

        for epsilon in (0.0, 0.3, 0.6):
            worst = max(oracle.delta(m, epsilon) for m in (forward, backward))
            assert guarantee.delta(epsilon=epsilon).upper == pytest.approx(worst)

    def test_asymmetric_directions(self) -> None:
        """Backward is the swap of forward unless it is given."""
        skewed = FinitePair(p=(Fraction(1, 2), Fraction(1, 2)), q=(Fraction(1, 8), Fraction(7, 8)))
        guarantee = DominatingPair(forward=Product.of(skewed))
        forward, backward = [(0.5, 0.125), (0.5, 0.875)], [(0.125, 0.5), (0.875, 0.5)]

        assert guarantee.backward == Product.of(skewed.swapped())
        turned = DominatingPair(forward=guarantee.backward)
        for order in (1.5, 4.0):
            worst = max(oracle.renyi(m, order) for m in (forward, backward))
            assert guarantee.rdp(order=order).upper == pytest.approx(worst)
            assert turned.rdp(order=order).upper == pytest.approx(worst)

    def test_replace_one_has_one_product(self) -> None:
        """Under a symmetric relation a different backward product is refused."""
        with pytest.raises(ParameterError, match="equal to forward under replace-one"):
            DominatingPair(forward=Product.of(PAIR), backward=OTHER, relation=ReplaceOne())
        fine = DominatingPair(forward=Product.of(PAIR), relation=ReplaceOne())
        assert fine.backward == fine.forward
        assert math.isfinite(fine.epsilon(delta=0).upper)


def test_groups_have_one_product() -> None:
    """Between datasets several steps apart none has the extra record."""
    three = group(GDP(mu=1), size=3).to_pair()

    with pytest.raises(ParameterError, match="dominates both orders"):
        DominatingPair(forward=Product.of(PAIR), backward=OTHER, derivation=three.derivation)
    fine = DominatingPair(forward=Product.of(PAIR), derivation=three.derivation)
    assert fine.backward == fine.forward
