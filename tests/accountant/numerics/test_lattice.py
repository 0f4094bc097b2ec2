"""Losses on one lattice: the folded sum against enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from accountant.errors import NotCertified
from accountant.numerics.lattice import build_lattice, common_lattice
from accountant.numerics.saddle import find_saddle, saddle_at
from accountant.pairs.discrete_laplace import DiscreteLaplacePair
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.product import Factor, Product
from accountant.pairs.randomized_response import RandomizedResponsePair
from tests.contracts.definition import Ball, ball


def binomial(epsilon: Fraction, count: int, at: float) -> Ball:
    """n-fold randomised response: losses (2k - n) epsilon with binomial masses."""
    e, total = ball(epsilon).exp(), flint.arb(0)
    for k in range(count + 1):
        loss = (2 * k - count) * ball(epsilon)
        mass = math.comb(count, k) * e**k / (1 + e) ** count
        total += mass * (1 - (ball(at) - loss).exp()).max(flint.arb(0))
    return total


@pytest.mark.parametrize("count", [1, 2, 7, 60, 700])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.201, 0.6, 0.99])
def test_randomized_response(count: int, share: float) -> None:
    """The binomial sum is inside, on lattice points and between."""
    epsilon = Fraction(1, 4)
    product = Product((Factor(RandomizedResponsePair(epsilon=epsilon), count),))
    for x in (share * count * 0.25, round(share * count) * 0.25):
        true = binomial(epsilon, count, x)
        saddle = find_saddle(product, lambda one, x=x: one.epsilon - x)  # type: ignore[misc]
        lattice = common_lattice(product, saddle.c)
        assert lattice is not None
        low, high = build_lattice(product, saddle, lattice).log_profile(np.array([x]))
        assert ball(float(low[0])).exp().lower() <= true.upper() if low[0] > -math.inf else True
        assert true.lower() <= ball(float(high[0])).exp().upper()
        if true > 1e-250 and share < 0.9:
            assert high[0] - low[0] < 1e-9


@pytest.mark.parametrize("c", [1e-3, 0.1, 1.0, 10.0, 100.0])
def test_a_bad_abscissa_only_widens(c: float) -> None:
    """Far from the saddle the bracket still holds."""
    product = Product((Factor(RandomizedResponsePair(epsilon=Fraction(1, 4)), 20),))
    lattice = common_lattice(product, c)
    assert lattice is not None
    made = build_lattice(product, saddle_at(product, c), lattice)
    for x in (0.0, 0.7, 2.0, 4.9):
        true = binomial(Fraction(1, 4), 20, x)
        low, high = made.log_profile(np.array([x]))
        assert low[0] == -math.inf or ball(float(low[0])).exp().lower() <= true.upper()
        assert true.lower() <= ball(float(high[0])).exp().upper()


def test_common_lattice() -> None:
    """Multiples of one span share it; anything else shares none."""
    half = RandomizedResponsePair(epsilon=Fraction(1, 2))
    whole = RandomizedResponsePair(epsilon=Fraction(1))
    found = common_lattice(Product((Factor(half, 3), Factor(whole, 2))), 0.5)
    assert found is not None
    assert found.span == 1.0
    assert found.offset == -3.5
    laplace = DiscreteLaplacePair(scale=Fraction(2), shift=3)
    assert common_lattice(Product.of(half, laplace), 0.5) is not None
    third = RandomizedResponsePair(epsilon=Fraction(1, 3))
    assert common_lattice(Product.of(half, third), 0.5) is None
    assert common_lattice(Product.of(half, GaussianPair(mu_squared=Fraction(1))), 0.5) is None


def test_refuses_absurd_lattices() -> None:
    """A span far too fine for the count is refused with both numbers, not by a crash."""
    product = Product((Factor(RandomizedResponsePair(epsilon=Fraction(1, 10**18)), 10**4),))
    saddle = find_saddle(product, lambda one: one.epsilon - 1e-9)
    lattice = common_lattice(product, saddle.c)
    assert lattice is not None
    with pytest.raises(NotCertified, match="nodes"):
        build_lattice(product, saddle, lattice)
