"""Real-axis values and tilts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.arithmetic.enclosure import rounded_short
from dpproof.accountant.engine.saddle_point import around, find_saddle, saddle_at, survey, total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from tests.contracts.pair_contract import gaussian_hockey_stick

GAUSSIANS = Product((Factor(GaussianPair(mu_squared=Fraction(1, 4)), 4),))


def test_total_is_the_weighted_sum() -> None:
    """Counts times each K, radii added, huge counts included."""
    laplace = LaplacePair(epsilon=Fraction(1, 3))
    gauss = GaussianPair(mu_squared=Fraction(1, 7))
    s = 0.5 + 1j * np.linspace(0, 3, 5)
    for count in (1, 10**12):
        whole = total_cgf(Product((Factor(laplace, 3), Factor(gauss, count))), s)
        (one,), two = LaplacePair.cgfs([laplace], s), gauss.cgf(s)
        assert np.allclose(whole.value, 3 * one.value + count * two.value, rtol=1e-14)
        assert (whole.radius >= 3 * one.radius + count * two.radius).all()


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 15.0, 200.0])
def test_finds_the_saddle(epsilon: float) -> None:
    """Near the root of K'(c) - 1/c - 1/(1+c) = epsilon: the terms are hardly larger than there."""
    found = find_saddle(GAUSSIANS, lambda one: one.epsilon - epsilon)
    ridge = survey(GAUSSIANS, found.c * np.geomspace(0.2, 5.0, 400))
    heights = ridge.log_height(epsilon)
    assert found.epsilon == pytest.approx(epsilon, abs=1e-12 + 1e-12 * epsilon)
    assert heights[200] <= heights.min() + 1.5
    assert found.value == pytest.approx(found.c * (found.c + 1) / 2, rel=1e-9)


@pytest.mark.parametrize("guess", [1e-9, 1e9])
def test_a_bad_guess_is_left_behind(guess: float) -> None:
    """The points lie on both sides of the crossing, wherever the search starts."""
    ridge, epsilon, _ = around(GAUSSIANS, lambda one: one.epsilon - 2.0, guess)
    assert ridge.epsilon[0] < 2.0 < ridge.epsilon[-1]
    assert epsilon == pytest.approx(2.0, abs=1e-2)


def test_a_known_question_replaces_the_estimates() -> None:
    """What the caller knows is what the tilt is chosen for."""
    found = find_saddle(GAUSSIANS, lambda one: one.epsilon - 2.0, (2.5, -7.0), -20.0)
    assert (found.epsilon, found.log_delta, found.log_tolerance) == (2.5, -7.0, -20.0)


@pytest.mark.parametrize("target", [-1e-3, -2.0, -40.0, -600.0])
def test_finds_a_delta(target: float) -> None:
    """By log delta too, however far from 1."""
    found = find_saddle(GAUSSIANS, lambda one: target - one.log_delta)
    assert found.log_delta == pytest.approx(target, rel=2e-3)


def test_out_of_reach_is_left_out() -> None:
    """A ridge ends where K can no longer be computed; it is refused where it cannot start."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(100), sampling_rate=Fraction(1, 100), removal=True
    )
    product = Product((Factor(pair, 1),))
    c = np.geomspace(1.0, 1e7, 8)
    known = survey(product, c)
    assert 1 <= known.c.size < c.size
    assert (known.c == c[: known.c.size]).all()
    with pytest.raises(NotCertified, match="order 1e\\+07"):
        survey(product, c[-1:])


def test_estimate_of_delta() -> None:
    """The saddle-point estimate is right to a few per cent."""
    for c in (1.0, 4.0, 20.0):
        one = saddle_at(GAUSSIANS, c)
        true = float(gaussian_hockey_stick(1.0, one.epsilon).log())
        assert one.log_delta == pytest.approx(true, abs=0.2)


def test_short_numbers() -> None:
    """Twenty bits: sums and multiples up to 2^33 are exact, and nothing moves far."""
    for value in (1e-300, 0.1, math.pi, 1e9, 123456789.123):
        kept = rounded_short(value)
        assert abs(kept - value) <= 2.0**-19 * value
        assert Fraction(kept) * (2**33 - 1) == Fraction(kept * (2**33 - 1))


def test_where_k_explodes_the_terms_are_not_much_larger_than_their_sum() -> None:
    """Points beside the steepest part of K are added until the tilt is no longer held back."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(25, 16), sampling_rate=Fraction(1, 10**4), removal=True
    )
    product = Product((Factor(pair, 10**6),))
    known = 2.0, math.log(4.785217e-15)
    found = find_saddle(product, lambda one: one.epsilon - 2.0, known)
    ridge = survey(product, np.array([found.c]))
    assert ridge.log_height(2.0)[0] - known[1] < 9.0
