"""Quick proofs that delta is at most some delta."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast, final

import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.contour import chernoff
from dpproof.accountant.engine.quick_bounds import certainly_below, epsilon_is_zero
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair

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


@pytest.mark.parametrize("factors", [1, 2])
def test_epsilon_is_zero_where_total_variations_suffice(factors: int) -> None:
    """The sum of total variation distances decides, to its last digits, and not a delta below."""
    steps = tuple(
        SubsampledGaussianPair(
            mu_squared=Fraction(25, 9), sampling_rate=Fraction(k, 10**5), removal=True
        )
        for k in range(1, factors + 1)
    )
    product = Product(tuple(Factor(step, 2) for step in steps))
    with mpmath.workdps(30):
        one = 2 * mpmath.ncdf(mpmath.mpf(5) / 6) - 1
        total = float(sum(2 * k * one / 10**5 for k in range(1, factors + 1)))
    assert epsilon_is_zero(product, total * (1 + 1e-13))
    assert not epsilon_is_zero(product, total * (1 - 1e-13))
    assert answers.epsilon(product, total * (1 + 1e-13)) == Bound.exactly(0.0)


def test_an_epsilon_of_zero_is_a_true_one() -> None:
    """Delta at 0 of two samples of a randomised response, in rationals, is at most the sum."""
    p, q = (Fraction(61, 100), Fraction(39, 100)), (Fraction(59, 100), Fraction(41, 100))
    product = Product((Factor(FinitePair(p=p, q=q), 3),))
    exact = Fraction(0)
    for outcome in itertools.product(range(2), repeat=3):
        masses = [math.prod((side[k] for k in outcome), start=Fraction(1)) for side in (p, q)]
        exact += max(masses[0] - masses[1], Fraction(0))
    assert exact <= Fraction(6, 100)
    assert epsilon_is_zero(product, 0.0600001)
    assert not epsilon_is_zero(product, float(exact) * (1 - 1e-9))


def test_chernoff_is_its_formula() -> None:
    """K(c) - c eps + log(c^c/(1 + c)^(1 + c)), rounded up by less than 1e-13."""
    orders = np.array([1e-3, 0.5, 1.0, 7.0, 300.0])
    found = chernoff(orders, np.full(orders.shape, 0.25), 1.5)
    for c, bound in zip(orders.tolist(), found.tolist(), strict=True):
        power = mpmath.mpf(c)
        exact = 0.25 - power * 1.5 + power * mpmath.log(power) - (1 + power) * mpmath.log(1 + power)
        assert exact <= bound <= exact + 1e-13 * (1 + abs(exact))


@final
@dataclass(frozen=True)
class _Known:
    """A pair of which only the total variation distance is known, which is a float."""

    distance: float


def test_the_sum_of_total_variations_is_rounded_up() -> None:
    """A delta below the exact sum is refused where the sum of floats rounds down to it."""
    lost = 0
    for start in range(1, 200):
        distances = [start / 1009 / k for k in range(3, 9 if start % 2 else 4)]
        factors = tuple(Factor(cast("Pair", _Known(one)), 3) for one in distances)
        exact = 3 * sum(map(Fraction, distances))
        rounded = sum(3 * one for one in distances)
        lost += rounded < exact
        assert not epsilon_is_zero(Product(factors), float(np.nextafter(float(exact), 0)))
        if rounded < exact:
            assert not epsilon_is_zero(Product(factors), rounded)
        assert epsilon_is_zero(Product(factors), rounded * (1 + 1e-14))
    assert lost > 20


def test_chernoff_is_rounded_up_at_any_size() -> None:
    """Also where K and c epsilon cancel, against forty digits."""
    rng = np.random.default_rng(5)
    c, upper = 10.0 ** rng.uniform(-6, 6, 300), 10.0 ** rng.uniform(-6, 6, 300)
    with mpmath.workdps(40):
        for one, k in zip(c.tolist(), upper.tolist(), strict=True):
            epsilon, power = k / one, mpmath.mpf(one)
            exact = mpmath.mpf(k) - power * epsilon
            exact += power * mpmath.log(power) - (1 + power) * mpmath.log(1 + power)
            assert exact <= chernoff(np.array([one]), np.array([k]), epsilon)[0]
