"""The rough search for an epsilon, against the narrow one."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from dpproof.accountant.engine import profile
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import (
    DiscreteLaplacePair,
    LaplacePair,
    RandomizedResponsePair,
)
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair


def drawn(rng: random.Random) -> Product:
    """A sampled Gaussian some times, perhaps beside releases of other kinds."""
    step = SubsampledGaussianPair(
        mu_squared=Fraction(f"{rng.uniform(0.1, 2):.3g}"),
        sampling_rate=Fraction(f"{10 ** rng.uniform(-4, -1):.3g}"),
        removal=rng.random() < 0.7,
    )
    others = [
        GaussianPair(mu_squared=Fraction(1, 7)),
        LaplacePair(epsilon=Fraction(1, 3)),
        DiscreteLaplacePair(scale=Fraction(4), shift=3),
    ]
    beside = [Factor(one, rng.randint(1, 9)) for one in others if rng.random() < 0.3]
    return Product((Factor(step, round(10 ** rng.uniform(1, 5))), *beside))


@pytest.mark.parametrize("seed", range(8))
def test_a_rough_epsilon_is_valid_and_near_the_least(seed: int) -> None:
    """Delta is at most its target at the epsilon found, which exceeds the least by 3 % at most."""
    rng = random.Random(seed)  # noqa: S311 -- draws questions, protects nothing
    product, delta = drawn(rng), 10 ** rng.uniform(-30, -2)
    found = profile.epsilon_above(product, delta)
    least = profile.epsilon(product, delta)
    assert least.lower <= found <= least.upper * 1.03 + 1e-12


def test_a_rough_epsilon_up_to_the_largest_loss() -> None:
    """Where delta is next to nothing the largest loss is the answer, and 0 where all losses are."""
    response = Product((Factor(RandomizedResponsePair(epsilon=Fraction(1)), 4),))
    assert 3.9 < profile.epsilon_above(response, 1e-290) <= profile.max_loss(response)
    assert profile.epsilon_above(Product(()), 1e-3) == 0.0


def test_a_rough_epsilon_of_infinite_losses() -> None:
    """No epsilon is found for a delta below the mass of infinite losses; one above it is."""
    pair = RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 1000))
    product = Product((Factor(pair, 3),))
    assert profile.epsilon_above(product, 0.004) <= profile.epsilon(product, 0.004).upper * 1.03
    assert profile.epsilon_above(product, 0.002) == float("inf")


def test_a_rough_epsilon_out_of_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that no contour ends says so."""
    monkeypatch.setattr(profile, "_where_below", lambda *_: float("inf"))
    step = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 100), removal=True
    )
    with pytest.raises(NotCertified, match="not proved"):
        profile.epsilon_above(Product((Factor(step, 100),)), 1e-6)
