"""Shuffled batches between two pairs, against 50 digits, quadrature and published tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.pairs.gaussian import GaussianPair, gaussian_profile
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair, as_gaussian
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair

DELTA = 1e-6
RATIOS = np.array([0.4, 0.9, 1.0, 1.2, 2.0, 5.0, 20.0])
# Lower ends of epsilon at 1e-6 by another reader's code: batches, noise, epochs, both relations.
TABLE = [
    (1000, "0.5", 1, 10.99691, 19.4492),
    (1000, "0.5", 10, 46.91214, 71.06303),
    (1000, "0.8", 1, 6.04457, 7.54355),
    (1000, "1", 1, 3.72389, 4.10598),
    (100, "0.7", 1, 7.36611, 12.47125),
    (100, "0.7", 10, 26.88414, 39.33029),
]
UPPER = {
    (1000, "0.5", 1): (10.9972, 26.3570),
    (1000, "0.5", 10): (49.319, 139.279),
    (1000, "0.8", 1): (6.3121, 14.4508),
    (1000, "1", 1): (4.8866, 10.9972),
    (100, "0.7", 1): (7.3726, 17.0764),
    (100, "0.7", 10): (30.9968, 82.9617),
}


def shuffled(batches: int, noise: str, *, replaced: bool = False) -> ShuffledGaussianPair:
    """An epoch of unit contributions."""
    mu = (2 if replaced else 1) / Fraction(noise)
    return ShuffledGaussianPair(mu_squared=mu**2, batches=batches, replaced=replaced)


@pytest.mark.some(3)
@pytest.mark.parametrize(("batches", "noise", "epochs", "zeroed", "replaced"), TABLE)
def test_brackets_are_at_least_as_narrow_as_the_table(
    batches: int, noise: str, epochs: int, zeroed: float, replaced: float
) -> None:
    """Lower ends are at or above the published ones, to their digits, and not far above."""
    for one, (least, most) in enumerate(
        zip((zeroed, replaced), UPPER[batches, noise, epochs], strict=True)
    ):
        product = Product.of(shuffled(batches, noise, replaced=bool(one))).times(epochs)
        found = answers.epsilon(product, DELTA)

        assert least - 5e-6 * (1 + least) <= found.lower <= least + 3e-3
        assert abs(found.upper - most) <= 1e-4 * most


def log_below(x: mpmath.mpf) -> mpmath.mpf:
    """The log of the probability that a standard normal variable is at most x."""
    return mpmath.log1p(-mpmath.ncdf(-x)) if x > 0 else mpmath.log(mpmath.ncdf(x))


def gain(pair: ShuffledGaussianPair, epsilon: float, x: float) -> mpmath.mpf:
    """P(S) - e^epsilon Q(S) of a half-line of the largest variable, to 50 digits."""
    with mpmath.workdps(50):
        mu = mpmath.sqrt(mpmath.mpf(pair.mu_squared.numerator) / pair.mu_squared.denominator)
        rest = (pair.batches - 1) * log_below(mpmath.mpf(x))
        with_it, without = (
            rest + log_below(x - shift) for shift in ((mu, 0) if pair.replaced else (2 * mu, mu))
        )
        if pair.removal:
            return mpmath.exp(epsilon) * mpmath.expm1(without) - mpmath.expm1(with_it)
        return mpmath.exp(without) - mpmath.exp(epsilon) * mpmath.exp(with_it)


@pytest.mark.some(6)
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("removal", [False, True])
@pytest.mark.parametrize(("batches", "noise"), [(1, "1"), (3, "2"), (469, "1"), (10**9, "0.4")])
def test_lower_ends_are_true_at_single_thresholds(
    batches: int, noise: str, *, removal: bool, replaced: bool
) -> None:
    """The lower end is at most the gain at one threshold, hardly below it, and none near is better.

    To 50 digits.
    """
    pair = shuffled(batches, noise, replaced=replaced)
    pair = pair if removal else pair.swapped()
    for epsilon in (-1.0, 0.0, 0.3, 2.0, 7.0):
        x = float(pair.thresholds(np.array([epsilon]))[0])
        exact, found = gain(pair, epsilon, x), pair.delta(epsilon).lower

        assert found <= exact
        assert found >= float(exact) * (1 - 1e-9) - 1e-12
        assert all(gain(pair, epsilon, x + move) <= exact for move in (-1e-3, 1e-3))


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_one_batch_is_the_gaussian_pair(count: int) -> None:
    """Without shuffling both ends are the Gaussian's, under both relations and in both orders."""
    for replaced in (False, True):
        pair = shuffled(1, "1", replaced=replaced)
        for one in (pair, pair.swapped()):
            product = Product.of(one).times(count)
            for found in (
                answers.epsilon(product, DELTA),
                answers.delta(product, 1.0),
                answers.true_positive_rate(product, 0.01),
                answers.smallest_mu(product, DELTA),
            ):
                assert found.relative_width < 1e-4


def densities(grid: tuple[Reals, ...], means: list[tuple[float, tuple[float, ...]]]) -> Reals:
    """Density of a mixture of unit normal laws on a grid."""
    total = np.zeros(np.broadcast_shapes(*(one.shape for one in grid)))
    for weight, mean in means:
        away = sum((x - m) ** 2 for x, m in zip(grid, mean, strict=True))
        total = total + weight * np.exp(-0.5 * away) / (2 * math.pi) ** (len(mean) / 2)
    return np.asarray(total)


def worst_case(batches: int, mu: float, *, replaced: bool) -> tuple[Reals, Reals]:
    """Divergences at ``RATIOS`` of all centred sums of the two datasets, in both orders."""
    line = np.linspace(-7.0, 9.0, 700 if batches == 2 else 130)
    grid = np.meshgrid(*[line] * batches, indexing="ij", sparse=True)
    shifts = (mu, 0.0) if replaced else (2 * mu, mu)
    p, q = (
        densities(
            tuple(grid),
            [
                (1 / batches, tuple(shift * (i == k) for i in range(batches)))
                for k in range(batches)
            ],
        )
        for shift in shifts
    )
    cell = (line[1] - line[0]) ** batches
    return (
        np.array([np.maximum(p - t * q, 0).sum() * cell for t in RATIOS]),
        np.array([np.maximum(q - t * p, 0).sum() * cell for t in RATIOS]),
    )


@pytest.mark.parametrize("batches", [2, 3])
@pytest.mark.parametrize(("mu", "replaced"), [(0.7, False), (1.4, True), (1.5, False)])
def test_all_sums_of_the_two_datasets_lie_in_the_bracket(
    batches: int, mu: float, *, replaced: bool
) -> None:
    """By quadrature: the largest sum tells no more than all of them, the Gaussian pair no less."""
    pair = ShuffledGaussianPair(mu_squared=Fraction(mu) ** 2, batches=batches, replaced=replaced)
    for one, exact in zip(
        (pair, pair.swapped()), worst_case(batches, mu, replaced=replaced), strict=True
    ):
        lower, upper = one.profile(np.log(RATIOS))

        assert (lower <= exact + 1e-6).all()
        assert (exact <= upper + 1e-6).all()


def test_the_largest_sum_does_not_depend_on_where_the_record_is() -> None:
    """Batches of unequal sizes have the same largest sum, as theory/shuffled.md says."""
    line = np.linspace(-6.0, 8.0, 400)
    grid = np.meshgrid(line, line, indexing="ij", sparse=True)
    largest = np.maximum(*grid)
    masses = []
    for weights in ((0.5, 0.5), (0.9, 0.1)):
        p = densities(tuple(grid), [(weights[0], (2.0, 0.0)), (weights[1], (0.0, 2.0))])
        masses.append([p[largest > x].sum() for x in (0.0, 1.0, 3.0)])

    assert np.allclose(masses[0], masses[1])


def test_lower_ends_are_true_where_epochs_compose() -> None:
    """Two epochs of two batches: never above the divergence of the product, by convolution."""
    pair = ShuffledGaussianPair(mu_squared=Fraction(1), batches=2, replaced=False)
    x = np.linspace(-8.0, 12.0, 20_001)
    cdf = mpmath.ncdf
    tail = np.array([float(cdf(-v)) for v in x[::20]])
    tail = np.exp(np.interp(x, x[::20], np.log(tail)))
    head = 1 - tail
    shift = {m: np.interp(x - m, x, head, left=0.0, right=1.0) for m in (1.0, 2.0)}
    p, q = (np.diff(head * shift[m]) for m in (2.0, 1.0))
    order = np.digitize(
        np.log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300)), np.arange(-9, 9, 0.01)
    )
    p = np.bincount(order, weights=p, minlength=1801)
    q = np.bincount(order, weights=q, minlength=1801)
    both = np.maximum(np.outer(p, p) - math.e * np.outer(q, q), 0).sum()
    found = answers.delta(Product.of(pair).times(2), 1.0)

    assert found.lower == pytest.approx(both, rel=2e-3)
    assert found.lower <= both * (1 + 2e-3)


def test_lower_ends_fall_with_the_number_of_batches() -> None:
    """More batches hide the record better, as far as the largest sum tells."""
    found = [
        answers.epsilon(Product.of(shuffled(n, "1")), DELTA).lower for n in (1, 10, 100, 10**4)
    ]

    assert all(more < less for less, more in itertools.pairwise(found))


@pytest.mark.some(3)
@pytest.mark.parametrize("count", [1, 3, 1000])
@pytest.mark.parametrize("noise", ["0.02", "0.001"])
def test_noise_too_small_for_tables_is_bracketed(noise: str, count: int) -> None:
    """Very little noise leaves the upper end a Gaussian's, the lower one that of one event."""
    pair = shuffled(50, noise)
    for one in (pair, pair.swapped()):
        found = answers.epsilon(Product.of(one).times(count), DELTA)

        assert found.upper == answers.epsilon(Product.of(pair.plain).times(count), DELTA).upper
        assert 500 * count < found.lower <= found.upper


def test_gaussian_pairs_take_their_place_in_samples_too() -> None:
    """What dominates a product is one of Gaussian pairs, also below a sample."""
    pair, rate = shuffled(9, "1"), Poisson(sampling_rate=Fraction(1, 9)).sampling_rate
    sample = SubsampledPair(
        base=Product.of(pair), sampling_rate=rate, direction=Direction.REPLACEMENT
    )
    found = as_gaussian(Product.of(pair, sample)).factors

    assert found[0].pair == GaussianPair(mu_squared=Fraction(1))
    assert isinstance(found[1].pair, SubsampledPair)
    assert found[1].pair.base == Product.of(GaussianPair(mu_squared=Fraction(1)))


def test_upper_ends_are_the_gaussian_profile() -> None:
    """Above is the unamplified Gaussian, whatever the number of batches."""
    epsilon = np.array([0.0, 1.0, 3.0])
    for pair in (shuffled(10, "1"), shuffled(10, "1").swapped()):
        assert np.array_equal(pair.profile(epsilon)[1], gaussian_profile(1.0, epsilon)[1])
