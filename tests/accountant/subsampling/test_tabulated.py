"""Tables through the corners of a profile, against sums over all outcomes."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import AddRemove, LInf, answers
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.accountant.subsampling.tabulated import base_corners, cornered
from dpproof.mechanisms import GaussianAboveThreshold, MagnitudeBound

RATE = Fraction(1, 500)
Laws = list[tuple[mpmath.mpf, mpmath.mpf]]


def gaussian(sigma_squared: Fraction, shift: int) -> Laws:
    """Masses of discrete Gaussians at a shift and at 0, below 1e-30 left out."""

    def mass(x: int) -> mpmath.mpf:
        return mpmath.exp(
            -mpmath.mpf(x * x) * sigma_squared.denominator / 2 / sigma_squared.numerator
        )

    total = mpmath.fsum(mass(x) for x in range(-99, 100))
    return [(mass(x - shift) / total, mass(x) / total) for x in range(-14, 15 + shift)]


def response(epsilon: Fraction, categories: int) -> Laws:
    """Masses of randomised response on the two inputs and the others."""
    grown = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    total = grown + categories - 1
    rest = (categories - 2) / total
    return [(grown / total, 1 / total), (1 / total, grown / total), (rest, rest)]


def sampled(laws: Laws, direction: Direction) -> Laws:
    """Masses of the sample's pair; of a replacement both orders of the removal, see below."""
    q = mpmath.mpf(RATE.numerator) / RATE.denominator
    if direction is Direction.ADDITION:
        return [(p, (1 - q) * p + q * o) for p, o in laws]
    pair = [((1 - q) * o + q * p, o) for p, o in laws]
    if direction is Direction.REMOVAL:
        return pair
    right = [(p, o) for p, o in pair if p > o]  # its profile above 1, and mirrored below
    left = [(o, p) for p, o in right]
    p, o = mpmath.fsum(a for a, _ in right + left), mpmath.fsum(b for _, b in right + left)
    return [*right, *left, (1 - p, 1 - o)]


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(
    ("base", "laws"),
    [
        (DiscreteGaussianPair(sigma_squared=Fraction(3, 4), shift=2), gaussian(Fraction(3, 4), 2)),
        (
            RandomizedResponsePair(epsilon=Fraction(47, 20), categories=5),
            response(Fraction(47, 20), 5),
        ),
    ],
)
@pytest.mark.parametrize("count", [2, 3])
def test_samples_of_lattice_valued_releases(
    base: Pair, laws: Laws, direction: Direction, count: int
) -> None:
    """Delta of two or three samples is enclosed within 1e-7 of itself."""
    pair = SubsampledPair(base=Product.of(base), sampling_rate=RATE, direction=direction)
    product = Product((Factor(pair, count),))
    with mpmath.workdps(25):
        outcomes = sampled(laws, direction)
        epsilon = 0.9 * min(pair.end, float(max(mpmath.log(p / q) for p, q in outcomes)), 2.0)
        t = mpmath.exp(mpmath.mpf(epsilon))
        true = mpmath.mpf(0)
        for drawn in itertools.combinations_with_replacement(range(len(outcomes)), count):
            p = mpmath.fprod(outcomes[k][0] for k in drawn)
            q = mpmath.fprod(outcomes[k][1] for k in drawn)
            ways = len(set(itertools.permutations(drawn)))
            true += ways * max(p - t * q, 0)
    found = answers.delta(product, epsilon)
    assert found.lower <= true * (1 + 1e-12)
    assert true * (1 - 1e-12) <= found.upper
    assert found.relative_width < 1e-7


def test_losses_of_a_base() -> None:
    """They are the positive ones up to the end; a density, or too many, has none."""
    laplace = DiscreteLaplacePair(scale=Fraction(2), shift=2)
    found = base_corners(Product.of(laplace), 1.0)
    assert found is not None
    assert found.tolist() == [1.0]
    assert base_corners(Product.of(GaussianPair(mu_squared=Fraction(1))), 1.0) is None
    wide = DiscreteGaussianPair(sigma_squared=Fraction(10**6), shift=1)
    assert base_corners(Product.of(wide), 1.0) is None


def test_grids() -> None:
    """They begin at 0, hold every corner, go past the end, and have a point in each cell."""
    corners = np.array([0.1, 0.25, 0.7])
    grid = cornered(corners, 0.7)
    assert grid[0] == 0.0
    assert grid[-1] > 0.7
    assert np.isin(corners, grid).all()
    inside = np.searchsorted(grid, corners)
    assert (np.diff(np.concatenate([[0], inside])) >= 2).all()


@pytest.mark.slow
def test_hundreds_of_losses_next_to_each_other() -> None:
    """Where rounding asks for a wider margin, samples of a threshold are answered within 1e-3."""
    bound = MagnitudeBound(threshold_scale=4, query_scale=8, outside=0, relation=AddRemove())
    normal = GaussianAboveThreshold(
        threshold_sigma=10,
        query_sigma=17.3,
        queries=100,
        query=lambda data: data,
        sensitivity=LInf(1),
    )
    for one in (bound, normal):
        sample = one.subsample(Poisson(sampling_rate=0.05)).repeat(100)
        epsilon = sample.guarantee().epsilon(delta=1e-6)
        assert epsilon.upper < (1 + 1e-3) * epsilon.lower
