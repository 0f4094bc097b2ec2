"""Contours that many epsilons share, against the answers at single epsilons."""

from __future__ import annotations

import random
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from dpproof.accountant import L1, L2, Poisson, PoissonRuns, answers
from dpproof.accountant.engine import contour, profile
from dpproof.accountant.engine.shared_contours import shared_contours
from dpproof.accountant.engine.trade_off import larger_mu
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.mechanisms import Gaussian, Laplace, compose

SAMPLED = SubsampledGaussianPair(
    mu_squared=Fraction(1, 2), sampling_rate=Fraction(1, 50), removal=True
)
# Losses whose saddles jump: one more sampled step moves epsilon by many standard deviations.
RARE, JUMPING = (
    Product((Factor(SubsampledGaussianPair(mu_squared=mu, sampling_rate=q, removal=True), steps),))
    for mu, q, steps in (
        (1 / Fraction("1.21") ** 2, Fraction(32, 60000), 18750),
        (1 / Fraction("1.86") ** 2, Fraction(32, 50000), 4687),
    )
)


def rare_product(rng: random.Random) -> Product:
    """A few hundred to a million steps at a rate of 1e-5 to 1e-2, in either direction."""
    steps = round(10 ** rng.uniform(2.5, 6))
    pair = SubsampledGaussianPair(
        mu_squared=1 / Fraction(f"{rng.uniform(0.8, 4):.3g}") ** 2,
        sampling_rate=Fraction(f"{10 ** rng.uniform(-5, -2):.3g}"),
        removal=rng.random() < 0.6,
    )
    return Product((Factor(pair, steps),))


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


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", range(4))
def test_many_epsilons_are_answered_as_narrowly_as_one(seed: int) -> None:
    """Brackets at many epsilons are at most ten times as wide as each alone, or 1e-6 of delta."""
    rng = random.Random(seed)  # noqa: S311 -- draws questions, protects nothing
    rare = [rare_product(rng) for _ in range(3)]
    for product in (*rare, RARE, JUMPING):
        end = profile.epsilon(product, 10 ** rng.uniform(-12, -4)).upper
        points = end * np.sort(np.array([rng.uniform(-0.3, 1.2) for _ in range(5)]))
        low, high = profile.deltas(product, points)
        assert (np.diff(low) <= 0).all()
        assert (np.diff(high) <= 0).all()
        for at, one, other in zip(points, low, high, strict=True):
            alone = profile.delta(product, float(at))
            assert one <= alone.upper
            assert alone.lower <= other
            # at 1e-6 no contour is aimed: questions answered from many are good to 1e-4
            assert other - one <= 10 * (alone.upper - alone.lower) + 1e-6 * other


def test_neighbouring_epsilons_share_aimed_contours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no contour is narrow, many questions next to each other build few contours."""
    built = mock.Mock(wraps=contour.build)
    monkeypatch.setattr("dpproof.accountant.engine.shared_contours.build", built)
    shared_contours.cache_clear()
    for shift in range(8):
        points = np.linspace(0.59, 0.6, 17) + shift * 1e-5
        low, high = profile.deltas(RARE, points)
        assert (high - low > 1e-5 * high).any()
    assert built.call_count <= 4


def test_many_different_stages_build_few_contours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Detection and mu of 40 Laplace stages, whose lines are long, build few contours."""
    built = mock.Mock(wraps=contour.build)
    monkeypatch.setattr("dpproof.accountant.engine.shared_contours.build", built)
    shared_contours.cache_clear()
    stages = compose(*(Laplace(scale=20 + k, sensitivity=L1(1)) for k in range(40))).guarantee()

    power = stages.true_positive_rate(false_positive_rate=0.01)
    mu = stages.gdp(smallest_delta=1e-6)

    assert power.relative_width < 1e-6
    assert mu.relative_width < 1e-5
    assert built.call_count <= 16


def test_epsilons_in_any_order() -> None:
    """Brackets meet, whatever the order of the epsilons and what was asked before."""
    points = np.array([0.3, -0.05, 0.001, 1.0, 0.0])
    low, high = profile.deltas(RARE, points)
    again = profile.deltas(RARE, points[::-1])
    assert (low <= again[1][::-1]).all()
    assert (again[0][::-1] <= high).all()


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "power", "mu"),
    [
        pytest.param(
            *("1.21", Fraction(32, 60000), 18750, 0.0121202363, 0.07363051), marks=pytest.mark.slow
        ),
        ("1.86", Fraction(32, 50000), 4687, 0.01070403571, 0.0257977902),
    ],
)
def test_rarely_sampled_training(
    sigma: str, rate: Fraction, steps: int, power: float, mu: float
) -> None:
    """Power, mu and selections of rarely sampled DP-SGD are narrow, as delta at one epsilon is."""
    step = Gaussian(sigma=Fraction(sigma), sensitivity=L2(1)).subsample(Poisson(sampling_rate=rate))
    training = step.repeat(steps)
    guarantee = training.guarantee()
    best = guarantee.true_positive_rate(false_positive_rate=0.01)
    assert best.upper == pytest.approx(power, rel=1e-6)
    assert best.relative_width < 1e-6
    needed = guarantee.gdp(smallest_delta=1e-6)
    assert needed.upper == pytest.approx(mu, rel=1e-6)
    assert needed.relative_width < 1e-6
    pair = guarantee.to_pair()
    heights = [
        max(answers.delta(one, float(x)).upper for one in (pair.forward, pair.backward))
        + np.exp(x) * 0.01
        for x in np.linspace(0.02, 0.1, 5)
    ]
    assert best.lower <= min(heights)  # any threshold bounds the power
    chosen = training.select(PoissonRuns(rate=5), score=len).guarantee().epsilon(delta=1e-6)
    assert guarantee.epsilon(delta=1e-6).lower <= chosen.upper
    assert chosen.relative_width < 1e-3


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
