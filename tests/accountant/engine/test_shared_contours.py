"""Contours that many epsilons share, against the answers at single epsilons."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accountant import answers
from accountant.engine import profile
from accountant.engine.smallest_mu import larger_mu
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.product import Factor, Product
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair

SAMPLED = SubsampledGaussianPair(
    mu_squared=Fraction(1, 2), sampling_rate=Fraction(1, 50), removal=True
)
MIXED = Product(
    (
        Factor(SAMPLED, 100),
        Factor(GaussianPair(mu_squared=Fraction(1, 50)), 3),
        Factor(GaussianPair(mu_squared=Fraction(1, 70)), 2),
        Factor(LaplacePair(epsilon=Fraction(1, 20)), 20),
    )
)


def test_every_epsilon_meets_its_own_answer() -> None:
    """Brackets at many epsilons, from few contours, meet those that each have a contour aimed."""
    points = np.array([0.0, 0.02, 0.1, 0.5, 1.0, 2.0, 3.5, 6.0])
    low, high = profile.deltas(MIXED, points)
    for at, one, other in zip(points, low, high, strict=True):
        alone = answers.delta(MIXED, float(at))
        assert one <= alone.upper
        assert alone.lower <= other
        assert other - one <= 1e-8 * other


def test_gaussians_are_added_up() -> None:
    """Gaussian pairs are one pair whose mu^2 is the exact sum, extremes are left alone."""
    summed = {one.pair: one.count for one in MIXED.summed().factors}
    assert summed[GaussianPair(mu_squared=Fraction(3, 50) + Fraction(2, 70))] == 1
    assert len(summed) == 3
    tiny = Product.of(*(GaussianPair(mu_squared=Fraction(1, k * 10**150)) for k in (1, 2)))
    assert tiny.summed() == tiny


@pytest.mark.parametrize("swapped", [False, True])
def test_mu_of_both_directions(*, swapped: bool) -> None:
    """The larger mu of two directions is that of the worse one, whichever is asked first."""
    forward, backward = MIXED, MIXED.swapped()
    each = [answers.smallest_mu(one, 1e-6) for one in (forward, backward)]
    found = larger_mu(*((backward, forward) if swapped else (forward, backward)), 1e-6)
    assert found.lower <= max(one.upper for one in each)
    assert max(one.lower for one in each) <= found.upper
    assert found.relative_width < 1e-5


def test_mu_is_0_where_no_delta_counts() -> None:
    """Samples so rare that delta at epsilon 0 is below the smallest delta need no Gaussian."""
    rare = SubsampledGaussianPair(
        mu_squared=Fraction(1, 4), sampling_rate=Fraction(1, 10**12), removal=True
    )
    product = Product((Factor(rare, 1000),))
    assert answers.larger_mu(product, product.swapped(), 1e-6).upper == 0
    assert answers.larger_mu(MIXED, MIXED.swapped(), 0.001).lower > 0
