"""Rounds of correlated noise, one after another."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant import L2, DataError, ParameterError
from dpproof.mechanisms import (
    LowerTriangular,
    MatrixMechanism,
    ReplayRng,
    SingleParticipation,
    SquareRoot,
    Toeplitz,
    Tree,
)
from dpproof.mechanisms.correlated.factors import Factor
from dpproof.mechanisms.samplers.rounded import gaussian_rounded_rationals

FACTORS = [
    Toeplitz([2, -0.75, 0.5], rounds=6),
    SquareRoot(rounds=6),
    LowerTriangular([[1, 0, 0], [-0.5, 2, 0], [0.3, -0.7, 1]]),
]


def noise(factor: Factor, sigma: float = 1) -> MatrixMechanism[Any]:
    """A mechanism of one participation."""
    return MatrixMechanism(
        factor=factor, sigma=sigma, sensitivity=L2(1), participation=SingleParticipation()
    )


def run(factor: Factor, width: int, sigma: float = 1) -> NDArray[np.float64]:
    """Noise of all rounds on zeros, by a seed."""
    zeros = np.zeros((factor.rounds, width))
    return np.asarray(noise(factor, sigma).release(zeros, rng=ReplayRng(7)))


@pytest.mark.parametrize("factor", FACTORS, ids=str)
def test_the_factor_makes_the_noise_independent(factor: Factor) -> None:
    """C times the noise is standard normal in every round, and uncorrelated between rounds."""
    width = 5_000
    white = np.array(factor.matrix(), dtype=np.float64) @ run(factor, width)
    products = white @ white.T / width

    for row in white:
        assert stats.kstest(row, "norm").pvalue > 1e-4
    np.testing.assert_allclose(products, np.eye(factor.rounds), atol=4.5 * np.sqrt(2 / width))
    # Every row is on its grid: the sums were rounded, and solved exactly enough to see it.
    np.testing.assert_allclose(white * 2**20, np.rint(white * 2**20), atol=1e-5)


@pytest.mark.parametrize("rounds", [1, 3, 8, 13])
def test_prefixes_of_a_tree_have_as_many_noises_as_bits(rounds: int) -> None:
    """The variance of a noisy prefix of i rounds is the number of ones of i, times sigma^2."""
    width = 2_000
    prefixes = np.cumsum(run(Tree(rounds=rounds), width, sigma=3), axis=0)
    for place, row in enumerate(prefixes, start=1):
        deviation = 3 * np.sqrt(place.bit_count())
        assert stats.kstest(row / deviation, "norm").pvalue > 1e-4


def test_covariance_of_a_trees_prefixes() -> None:
    """Prefixes share the noise of common nodes: of 6 and 7 rounds two, of 3 and 4 none."""
    width = 8_000
    prefixes = np.cumsum(run(Tree(rounds=7), width), axis=0)
    shared = prefixes @ prefixes.T / width
    near = 4.5 * np.sqrt(6 / width)

    assert shared[5, 6] == pytest.approx(2, abs=2 * near)
    assert shared[2, 3] == pytest.approx(0, abs=near)


@pytest.mark.parametrize("factor", [*FACTORS, Tree(rounds=6)], ids=str)
def test_values_come_back_without_noise(factor: Factor) -> None:
    """With next to no noise every round is its value, whatever the factor."""
    values = np.random.default_rng(1).normal(size=(factor.rounds, 3))
    released = noise(factor, 2.0**-60).release(values)

    np.testing.assert_allclose(released, values, atol=1e-12)


def test_values_may_depend_on_releases() -> None:
    """A stream takes rounds one at a time, and is what a release of all of them is."""
    mechanism, values = noise(Toeplitz([1, 0.5], rounds=3)), [[1.0], [2.0], [4.0]]
    stream = mechanism.start(rng=ReplayRng(3))
    one_by_one = np.array([stream.add(value) for value in values])

    np.testing.assert_array_equal(one_by_one, mechanism.release(values, rng=ReplayRng(3)))


def test_memory_is_the_band() -> None:
    """A long run keeps as many rounds as the factor has bands."""
    stream = noise(Toeplitz([1, 0.5, 0.25], rounds=50)).start()
    for _ in range(50):
        stream.add([0.0])
    assert len(stream._rows._values) == 3  # type: ignore[union-attr]


def test_huge_and_tiny_values_are_exact() -> None:
    """Values far apart in size cancel without loss: the noisy sum is of the exact value."""
    stream = noise(Toeplitz([1, 1], rounds=3), 2.0**-40).start(rng=ReplayRng(1))
    stream.add(2.0**100)
    stream.add(-(2.0**100))
    assert abs(stream.add(5e-324)) < 2.0**50  # of values of 2^100, which cancel


def test_refuses_what_does_not_fit() -> None:
    """Another shape, numbers that are not finite, and rounds beyond the last."""
    stream = noise(Toeplitz([1], rounds=2)).start()
    stream.add([1.0, 2.0])
    for bad in ([1.0], [[1.0, 2.0]], [float("nan"), 1.0], "ab"):
        with pytest.raises((DataError, ParameterError)):
            stream.add(bad)
    stream.add([1.0, 2.0])
    with pytest.raises(ParameterError, match="start"):
        stream.add([1.0, 2.0])
    assert repr(stream) == "NoisyRounds(2 of 2 rounds)"


def test_lists_of_rationals_are_rounded_one_by_one() -> None:
    """Little noise leaves each at the multiple nearest to it, small and large."""
    apart = gaussian_rounded_rationals(
        [Fraction(1, 3), Fraction(10**30, 7)], 2**-40, Fraction(1, 8), ReplayRng(4)
    )
    assert list(apart) == [3, round(Fraction(8 * 10**30, 7))]
