"""Real-axis values and tilts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from accountant.numerics.saddle import (
    find_saddle,
    log_alias_excess,
    saddle_at,
    short,
    total_cgf,
)
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.product import Factor, Product
from tests.contracts.pair_contract import gaussian_hockey_stick

GAUSSIANS = Product((Factor(GaussianPair(mu_squared=Fraction(1, 4)), 4),))


def test_total_is_the_weighted_sum() -> None:
    """Counts times each K, radii added, huge counts included."""
    laplace = LaplacePair(epsilon=Fraction(1, 3))
    gauss = GaussianPair(mu_squared=Fraction(1, 7))
    s = 0.5 + 1j * np.linspace(0, 3, 5)
    for count in (1, 10**12):
        whole = total_cgf(Product((Factor(laplace, 3), Factor(gauss, count))), s)
        one, two = laplace.cgf(s), gauss.cgf(s)
        assert np.allclose(whole.value, 3 * one.value + count * two.value, rtol=1e-14)
        assert (whole.radius >= 3 * one.radius + count * two.radius).all()


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 15.0, 200.0])
def test_finds_the_saddle(epsilon: float) -> None:
    """Within 6 % of the root of K'(c) - 1/c - 1/(1+c) = epsilon."""
    found = find_saddle(GAUSSIANS, lambda one: one.epsilon - epsilon).c
    low, high = (c + 0.5 - 1 / c - 1 / (1 + c) for c in (found / 1.06, found * 1.06))
    assert low <= epsilon <= high


def test_estimate_of_delta() -> None:
    """The saddle-point estimate is right to a few per cent."""
    for c in (1.0, 4.0, 20.0):
        one = saddle_at(GAUSSIANS, c)
        true = float(gaussian_hockey_stick(1.0, one.epsilon).log())
        assert one.log_delta == pytest.approx(true, abs=0.2)


def test_alias_bound() -> None:
    """It exceeds the sum of the aliases themselves."""
    c, period, epsilon = 1.5, 5.0, 0.7
    points = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 6.0])
    aliases = np.column_stack([points, 0.5 * points * (points + 1)])
    bound = float(log_alias_excess(aliases, c, period, np.array([epsilon]))[0])
    true = sum(
        float(gaussian_hockey_stick(1.0, epsilon + m * period)) * math.exp(c * m * period)
        for m in range(-8, 9)
        if m
    )
    assert true <= math.exp(bound) <= 100 * true


def test_short_numbers() -> None:
    """Twenty bits: sums and multiples up to 2^33 are exact, and nothing moves far."""
    for value in (1e-300, 0.1, math.pi, 1e9, 123456789.123):
        kept = short(value)
        assert abs(kept - value) <= 2.0**-19 * value
        assert Fraction(kept) * (2**33 - 1) == Fraction(kept * (2**33 - 1))
