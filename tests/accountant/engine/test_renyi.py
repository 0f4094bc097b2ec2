"""Renyi divergences and the smallest zCDP parameter, against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant import L1, L2, Poisson, ReplaceOne, WithoutReplacement, compose
from dpproof.accountant.engine.renyi import _below_chords, renyi, smallest_rho
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.mechanisms import DiscreteGaussian, Gaussian


def times(pair: GaussianPair | LaplacePair | RandomizedResponsePair, count: int) -> Product:
    """A pair, n times."""
    return Product((Factor(pair, count),))


@pytest.mark.parametrize("order", [1 + 1e-9, 1.5, 3.0, 1e3])
@pytest.mark.parametrize("count", [1, 10**6])
def test_gaussian(order: float, count: int) -> None:
    """N mu^2 order / 2."""
    found = renyi(times(GaussianPair(mu_squared=Fraction(1, 4)), count), order)
    true = Fraction(count, 8) * Fraction(order)
    assert Fraction(found.lower) <= true * (1 + Fraction(1, 10**16))
    assert true * (1 - Fraction(1, 10**16)) <= Fraction(found.upper)
    assert found.relative_width < 1e-7


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_laplace(order: float) -> None:
    """Mironov (arXiv:1702.07476), Table II."""
    found = renyi(times(LaplacePair(epsilon=Fraction(1)), 1), order)
    first = order / (2 * order - 1) * math.exp(order - 1)
    second = (order - 1) / (2 * order - 1) * math.exp(-order)
    true = math.log(first + second) / (order - 1)
    assert found.lower <= true * (1 + 1e-14)
    assert true * (1 - 1e-14) <= found.upper
    assert found.relative_width < 1e-12


def test_smallest_rho_of_gaussians() -> None:
    """Exactly n mu^2 / 2."""
    found = smallest_rho(times(GaussianPair(mu_squared=Fraction(1, 4)), 8))
    assert found.lower <= 1.0 <= found.upper
    assert found.width < 1e-10


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_smallest_rho_is_the_supremum(epsilon: Fraction) -> None:
    """For randomised response: no order needs more, some order needs as much, and it is tight."""
    pair = RandomizedResponsePair(epsilon=epsilon)
    found = smallest_rho(times(pair, 1))
    e = float(epsilon)
    orders = 1 + np.geomspace(1e-4, 1e3, 4000)
    keep, flip = e / 1 - math.log1p(math.exp(e)), -math.log1p(math.exp(e))
    logs = np.logaddexp(keep + (orders - 1) * e, flip - (orders - 1) * e)
    needed = logs / (orders - 1) / orders
    assert needed.max() <= found.upper * (1 + 1e-9)
    assert found.lower <= needed.max() * (1 + 1e-4)
    assert found.relative_width < 1e-4
    assert found.upper <= pair.zcdp_bound * (1 + 1e-12)


def test_infinite_mass() -> None:
    """No finite parameter."""
    pair = RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 10**9))
    assert renyi(times(pair, 1), 2.0).lower == math.inf
    assert smallest_rho(times(pair, 1)).lower == math.inf


def test_orders_beyond_floats() -> None:
    """An order whose K is no float is refused by a name, and a smaller one is answered."""
    product = times(GaussianPair(mu_squared=Fraction(10**16)), 1)
    with pytest.raises(NotCertified, match="order 1e\\+228 is not representable"):
        renyi(product, 1e228)
    assert renyi(product, 1e140).lower <= 5e155 <= renyi(product, 1e140).upper


def test_smallest_rho_beside_losses_without_end() -> None:
    """Bounded losses count for little at large orders, whatever the Gaussian beside them does."""
    product = Product(
        (
            Factor(GaussianPair(mu_squared=Fraction(1, 4)), 1),
            Factor(RandomizedResponsePair(epsilon=Fraction(3), categories=2), 3),
        )
    )
    found = smallest_rho(product)
    ratios = [renyi(product, order).lower / order for order in np.geomspace(1.001, 1e4, 200)]
    assert max(ratios) <= found.upper
    assert found.upper <= max(ratios) * 1.001


@pytest.mark.parametrize("size", [1, 256])
def test_rho_of_samples_of_a_fixed_size(size: int) -> None:
    """No rate is small where delta is small enough: rho is n / (2 sigma^2), as if all took part."""
    step = Gaussian(sigma=Fraction("2.87"), sensitivity=L2(1, ReplaceOne()))
    scheme = WithoutReplacement(sample_size=size, population_size=5000)
    guarantee = step.subsample(scheme).repeat(369).guarantee()
    rho = guarantee.zcdp()
    assert rho.lower <= 369 / (2 * 2.87**2) <= rho.upper
    assert rho.relative_width < 1e-9
    assert max(guarantee.rdp(order=a).lower / a for a in (1.5, 8, 200)) <= rho.upper


def test_rho_of_discrete_noise_beside_sampled_training() -> None:
    """The tails of discrete Gaussians add to those of training, as continuous ones do."""
    training = Gaussian(sigma=3, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.004))
    counts = DiscreteGaussian(sigma=5, sensitivity=L1(2)).repeat(20).guarantee()
    both = compose(training.repeat(600).guarantee(), counts)
    true = 600 / (2 * 3**2) + counts.zcdp().upper
    rho = both.zcdp()
    assert rho.lower <= true * (1 + 1e-12)
    assert true <= rho.upper * (1 + 1e-12)
    assert rho.relative_width < 1e-9
    counted = [counts.rdp(order=a).lower / a for a in (1.5, 13.5, 51)]
    assert max(counted) <= counts.zcdp().upper <= 20 * 2**2 / (2 * 5**2) * (1 + 1e-9)


def test_chords_of_cells_are_below_their_bounds() -> None:
    """The bound of a cell is at least its chord over s (s + 1), exactly, at a thousand places."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        start = 10.0 ** rng.uniform(-7, 4)
        s = start * np.array([1.0, 1.0 + 10.0 ** rng.uniform(-9, 3)])
        first = 10.0 ** rng.uniform(-6, 3) * s[0] * (1.0 + s[0])
        high = np.array([first, first * (s[1] / s[0]) ** rng.uniform(1, 3)])
        bound = Fraction(float(_below_chords(s, high)[0])) * (1 + Fraction(1, 10**14))
        (left, right), (low, top) = map(Fraction, s), map(Fraction, high)
        for place in range(1001):
            share = Fraction(place, 1000)
            at = left + share * (right - left)
            assert (low + share * (top - low)) / (at * (at + 1)) <= bound
