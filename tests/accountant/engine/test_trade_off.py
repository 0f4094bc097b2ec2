"""The best test, against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant.engine.trade_off import larger_power, true_positive_rate
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from tests.contracts.definition import ball
from tests.contracts.pair_contract import normal_tail

GAUSSIANS = Product((Factor(GaussianPair(mu_squared=Fraction(1, 4)), 4),))  # mu = 1


@pytest.mark.parametrize("threshold", [-5.0, -1.0, 0.0, 0.5, 2.0, 6.0])
def test_gaussian_power(threshold: float) -> None:
    """Phi(mu - x) at rate Phi(-x), narrowly; a rounded rate moves it by a rounding."""
    rate = float(normal_tail(ball(threshold)))
    true = float(normal_tail(ball(threshold) - 1))
    found = true_positive_rate(GAUSSIANS, rate)
    assert found.lower <= true * (1 + 1e-13)
    assert true * (1 - 1e-13) <= found.upper
    assert found.relative_width < 1e-6


def test_nearly_all() -> None:
    """Next to rate 1 the power is still at least the rate."""
    same = Product((Factor(FinitePair(p=(Fraction(1),), q=(Fraction(1),)), 3),))
    for product in (GAUSSIANS, same):
        for rate in (1 - 1e-9, 1 - 1e-12, 1 - 1e-15):
            found = true_positive_rate(product, rate)
            assert rate <= found.upper <= 1.0
            assert found.lower <= 1.0


def test_randomized_response_power() -> None:
    """Two straight pieces through the corner at 1 / (1 + e^eps)."""
    e = math.e
    product = Product.of(RandomizedResponsePair(epsilon=Fraction(1)))
    for rate in (1e-9, 0.1, 0.2, 0.4, 0.8):
        true = min(e * rate, 1 - (1 - rate) / e)
        found = true_positive_rate(product, rate)
        assert found.lower <= true * (1 + 1e-12)
        assert true * (1 - 1e-12) <= found.upper


def test_ends() -> None:
    """Rate 0 finds the infinite mass, rate 1 everything; disjoint supports are told apart."""
    product = Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 8)))
    assert 0.125 in true_positive_rate(product, 0.0)
    assert true_positive_rate(product, 1.0).lower == 1.0
    disjoint = FinitePair(p=(Fraction(1), Fraction(0)), q=(Fraction(0), Fraction(1)))
    mixed = Product.of(disjoint, GaussianPair(mu_squared=Fraction(1)))
    assert true_positive_rate(mixed, 0.25).lower == 1.0


STEP = SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 100), removal=True)
SMALL = Product.of(RandomizedResponsePair(epsilon=Fraction(1, 2)))
LARGE = Product.of(RandomizedResponsePair(epsilon=Fraction(1)))


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("turned", [False, True])
def test_larger_power(rate: float, *, turned: bool) -> None:
    """That of the worse direction, whichever comes first, and of two that hardly differ."""
    pair = Product((Factor(STEP, 100),))
    for one, other in ((SMALL, LARGE), (pair, pair.swapped()), (Product(()), LARGE)):
        directions = (other, one) if turned else (one, other)
        found = larger_power(*directions, rate)
        both = [true_positive_rate(direction, rate) for direction in directions]
        assert max(each.lower for each in both) <= found.upper
        assert found.upper == pytest.approx(max(each.upper for each in both), rel=1e-9)


@pytest.mark.parametrize("mu", [60, 10**5])
def test_power_where_likelihood_ratios_are_no_floats(mu: int) -> None:
    """Next to no noise every test is nearly perfect, whatever its false alarms."""
    found = true_positive_rate(Product.of(GaussianPair(mu_squared=Fraction(mu) ** 2)), 1e-300)
    assert found.upper == pytest.approx(1.0)


@pytest.mark.parametrize("loss", [Fraction(1, 2), Fraction(2), Fraction(7)])
@pytest.mark.parametrize("rate", [1e-9, 1e-6, 1e-3, 0.1, 0.3, 0.6, 0.999])
def test_one_laplace_release_has_its_exact_power(loss: Fraction, rate: float) -> None:
    """e^a r up to e^{-a}/2, then 1 - e^{-a}/(4 r) up to 1/2, then 1 - e^{-a} (1 - r)."""
    with mpmath.workdps(40):
        a, r = mpmath.mpf(loss.numerator) / loss.denominator, mpmath.mpf(rate)
        if r <= mpmath.exp(-a) / 2:
            true = mpmath.exp(a) * r
        else:
            true = 1 - mpmath.exp(-a) * (1 / (4 * r) if r < 0.5 else 1 - r)
        found = true_positive_rate(Product.of(LaplacePair(epsilon=loss)), rate)
        assert found.lower <= true <= found.upper
        assert found.relative_width < 1e-4


@pytest.mark.parametrize("rate", [1e-9, 1e-4, 0.05, 0.7])
def test_the_power_of_finite_pairs_at_a_corner(rate: float) -> None:
    """Against the best test of Neyman and Pearson, outcome by outcome."""
    p = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))
    q = (Fraction(1, 10**6), Fraction(1, 10), Fraction(1, 2), Fraction(399999, 10**6))
    left, true = Fraction(rate), Fraction(0)
    for a, b in sorted(zip(p, q, strict=True), key=lambda one: one[0] / one[1], reverse=True):
        true += a * min(left / b, Fraction(1))
        left = max(left - b, Fraction(0))
    found = true_positive_rate(Product.of(FinitePair(p=p, q=q)), rate)
    assert Fraction(found.lower) <= true <= Fraction(found.upper)
    assert found.relative_width < 1e-7
