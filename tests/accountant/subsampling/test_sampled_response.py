"""Samples of randomised response as finite pairs, against binomial sums with 50 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.engine import profile
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair
from dpproof.accountant.subsampling.sampled_response import SampledResponsePair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair

DIRECTIONS = Direction.REMOVAL, Direction.ADDITION


def step(direction: Direction, categories: int = 2) -> SubsampledPair:
    """Epsilon 2 at rate 1/10."""
    base = Product.of(RandomizedResponsePair(epsilon=Fraction(2), categories=categories))
    return SubsampledPair(base=base, sampling_rate=Fraction(1, 10), direction=direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("count", [1, 3, 20, 300])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 0.999])
def test_the_binomial_sum(direction: Direction, count: int, share: float) -> None:
    """Delta of repeated samples with two categories, from both masses."""
    with mpmath.workdps(50):
        keep, rate = mpmath.exp(2) / (mpmath.exp(2) + 1), mpmath.mpf(1) / 10
        p, q = keep, 1 - keep
        if direction is Direction.REMOVAL:
            p = (1 - rate) * q + rate * p
        else:
            q = (1 - rate) * p + rate * q
        epsilon = float(share * count * mpmath.log(p / q))
        t = mpmath.exp(mpmath.mpf(epsilon))
        true = mpmath.mpf(0)
        for k in range(count + 1):
            first, second = p**k * (1 - p) ** (count - k), q**k * (1 - q) ** (count - k)
            true += mpmath.binomial(count, k) * max(first - t * second, mpmath.mpf(0))
        found = answers.delta(Product((Factor(step(direction), count),)), epsilon)
        assert found.lower <= true <= found.upper
        assert found.relative_width < 1e-6


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("count", [2, 10, 100, 1000])
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_brackets_are_narrow(direction: Direction, count: int, delta: float) -> None:
    """Tables left 0 as the lower end of epsilon, or brackets of 1e-3."""
    found = answers.epsilon(Product((Factor(step(direction), count),)), delta)
    assert found.relative_width < 1e-7


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_sample_agrees_with_its_profile(direction: Direction) -> None:
    """With five categories: what the sampling theorem says of the base, from finite masses."""
    pair = step(direction, categories=5)
    for epsilon in (0.0, 0.01, 0.08):
        by_theorem, by_masses = (
            pair.delta(epsilon),
            profile.delta(Product.of(pair.above(1)), epsilon),
        )
        assert by_masses.lower <= by_theorem.upper
        assert by_theorem.lower <= by_masses.upper
        assert by_masses.relative_width < 1e-9


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("categories", [2, 5])
@pytest.mark.parametrize(
    ("epsilon", "rate"),
    [
        (Fraction(1), Fraction(1, 10**50)),
        (Fraction(1), Fraction(1, 10**99)),
        (Fraction(1, 10**9), Fraction(1, 10**99)),
        (Fraction(500), 1 - Fraction(1, 10**99)),
    ],
)
def test_extreme_rates(
    direction: Direction, categories: int, epsilon: Fraction, rate: Fraction
) -> None:
    """Losses of masses that agree, or that nearly vanish, to a hundred digits."""
    pair = SampledResponsePair(
        response=RandomizedResponsePair(epsilon=epsilon, categories=categories),
        sampling_rate=rate,
        removal=direction is Direction.REMOVAL,
    )
    with mpmath.workdps(500):
        grown = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        q = mpmath.mpf(rate.numerator) / rate.denominator
        for loss, ratio in zip(pair.atoms.loss[:2], (grown, 1 / grown), strict=True):
            sampled = mpmath.log(1 - q + q * ratio)
            if direction is Direction.ADDITION:
                sampled = -mpmath.log(1 - q + q / ratio)
            assert abs(float(loss) - sampled) <= 2.3e-16 * abs(sampled)
        moment = pair.cgf(np.array([1 + 0j]))
        assert moment.value[0].real + moment.radius[0] > 0.0
