"""Lower bounds of delta and power next to 1, against closed forms and enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import L1, PureDP, answers, compose
from dpproof.accountant.engine.overlap import delta_below, log_overlap, power_below
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.mechanisms import Laplace

RATES = (1e-9, 1e-3, 0.1, 0.9)
EPSILONS = (0.0, 0.3, 2.0, 30.0)


@pytest.mark.parametrize("mu", [Fraction(1, 10), Fraction(2), Fraction(9), Fraction(60)])
def test_gaussians(mu: Fraction) -> None:
    """Both are at most the textbook formulas, and close to 1 where these are."""
    product = Product.of(GaussianPair(mu_squared=mu * mu))
    with mpmath.workdps(400):
        m = mpmath.mpf(mu.numerator) / mu.denominator
        low = delta_below(product, np.array(EPSILONS))
        for epsilon, found in zip(EPSILONS, low.tolist(), strict=True):
            e = mpmath.mpf(epsilon)
            rest = mpmath.ncdf(e / m - m / 2) + mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
            assert mpmath.mpf(found) <= 1 - rest
            assert 1 - found <= 8 * (1 + m) * rest + mpmath.mpf(10) ** -14
        for rate in RATES:
            left = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(rate))
            assert mpmath.mpf(power_below(product, rate)) <= mpmath.ncdf(left + m)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_finite_pairs(count: int) -> None:
    """With infinite losses too, delta is at most the sum over all outcomes in rationals."""
    pair = FinitePair(
        p=(Fraction(6, 10), Fraction(3, 10), Fraction(1, 10), Fraction(0)),
        q=(Fraction(1, 100), Fraction(29, 100), Fraction(0), Fraction(7, 10)),
    )
    product = Product((Factor(pair, count),))
    for epsilon in EPSILONS:
        t, true = Fraction(math.exp(epsilon)), 1 - Fraction(9, 10) ** count
        for k in range(count + 1):
            p = Fraction(6, 10) ** k * Fraction(3, 10) ** (count - k)
            q = Fraction(1, 100) ** k * Fraction(29, 100) ** (count - k)
            true += math.comb(count, k) * max(p - t * q, Fraction(0))
        found = float(delta_below(product, np.array([epsilon]))[0])
        assert Fraction(found) <= true * (1 + Fraction(1, 10**13))
        for rate in RATES:
            assert power_below(product, rate) <= float(true + t * Fraction(rate)) * (1 + 1e-13)


def test_answers_next_to_one() -> None:
    """Power at a rate, and delta at a small epsilon, were known to lie below 1 only."""
    product = Product((Factor(LaplacePair(epsilon=Fraction(10, 9)), 736),))
    assert answers.true_positive_rate(product, 2.8e-4).lower > 1 - 1e-12
    many = Product((Factor(RandomizedResponsePair(epsilon=Fraction(339, 100)), 4423),))
    found = answers.delta(many, 0.59)
    assert 1 - 1e-12 < found.lower < 1.0 == found.upper


def test_losses_beyond_floats() -> None:
    """K that overflows at some orders says nothing there: a loss of 1e28 beside one of 1e-20."""
    found = compose(
        Laplace(scale=1e-11, sensitivity=L1(10**17)).guarantee(), PureDP(epsilon=1e-20)
    ).delta(epsilon=1e-12)
    assert 1 - 1e-12 < found.lower <= found.upper <= 1.0


@pytest.mark.parametrize("mu", [5, 30, 120])
def test_overlap_line_gaussians(mu: int) -> None:
    """Phi(x) + e^eps Phi(-y), at epsilons of both signs."""
    product = Product((Factor(GaussianPair(mu_squared=Fraction(mu * mu, 900)), 900),))
    epsilon = np.array([-2.0 * mu, 0.0, mu, 0.2 * mu * mu])
    low, high = log_overlap(product, epsilon)
    with mpmath.workdps(40):
        for x, least, most in zip(epsilon.tolist(), low.tolist(), high.tolist(), strict=True):
            parts = mpmath.ncdf(x / mu - mu / 2), mpmath.ncdf(-x / mu - mu / 2)
            true = mpmath.log(parts[0] + mpmath.exp(x) * parts[1])
            assert least <= true <= most
            assert most - least < 1e-5 * mu * mu


def test_randomised_response() -> None:
    """Against the sum over all outcomes, on and between the losses."""
    count, epsilon = 60, np.array([-7.0, 0.0, 0.5, 4.0, 11.3])
    low, high = log_overlap(
        Product((Factor(RandomizedResponsePair(epsilon=Fraction(2)), count),)), epsilon
    )
    with mpmath.workdps(40):
        keep = 1 / (1 + mpmath.exp(-2))
        for x, least, most in zip(epsilon.tolist(), low.tolist(), high.tolist(), strict=True):
            true = mpmath.log(
                mpmath.fsum(
                    mpmath.binomial(count, k)
                    * keep**k
                    * (1 - keep) ** (count - k)
                    * min(1, mpmath.exp(x - 2 * (2 * k - count)))
                    for k in range(count + 1)
                )
            )
            assert least <= true <= most
            assert most - least < 3e-2


def test_out_of_reach() -> None:
    """Where losses are too small for a sum of moderate length nothing is known."""
    product = Product((Factor(GaussianPair(mu_squared=Fraction(1, 10**12)), 1),))
    low, high = log_overlap(product, np.array([0.0]))
    assert low[0] == -np.inf
    assert high[0] == 0.0
