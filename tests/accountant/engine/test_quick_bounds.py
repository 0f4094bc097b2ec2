"""Quick proofs that delta is at most some delta."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant import answers
from accountant.engine.quick_bounds import certainly_below
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.product import Factor, Product
from accountant.pairs.randomized_response import RandomizedResponsePair
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair

STEP = SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 100), removal=True)


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 5.0])
@pytest.mark.parametrize(
    "product",
    [
        Product((Factor(STEP, 1000),)),
        Product((Factor(STEP.swapped(), 1000),)),
        Product((Factor(STEP, 50), Factor(LaplacePair(epsilon=Fraction(1, 2)), 30))),
        Product((Factor(RandomizedResponsePair(epsilon=Fraction(1, 2)), 40),)),
        Product((Factor(GaussianPair(mu_squared=Fraction(1, 4)), 9),)),
    ],
)
def test_certainly_below_is_certain(product: Product, epsilon: float) -> None:
    """Never for a delta below the true one, and for one that is a twentieth above it."""
    true = answers.delta(product, epsilon)
    assert not certainly_below(product, epsilon, true.lower * (1 - 1e-6))
    assert certainly_below(product, epsilon, 1.05 * true.upper)
