"""Gaussian noise with a covariance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant import Differences, self_compose
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2, LInf
from dpproof.mechanisms import CorrelatedGaussian, Gaussian, ReplayRng
from dpproof.mechanisms.samplers.rounded import gaussian_rounded, gaussian_rounded_rationals
from tests.contracts.mechanism_contract import MechanismContract, one_bad

COVARIANCE = [[4.0, 3.0], [3.0, 4.0]]
TOGETHER, APART = [1, 1], [1, -1]


class TestCorrelatedGaussian(MechanismContract):
    """Noise that moves together, on a query whose coordinates may move apart."""

    def mechanism(self) -> CorrelatedGaussian[AddRemove]:
        """The worst change is (1, -1)."""
        return CorrelatedGaussian(COVARIANCE, sensitivity=Differences([TOGETHER, APART]))

    def data(self) -> object:
        """Two numbers."""
        return [0.25, -3.0]

    def neighbour(self) -> object:
        """Apart by (1, -1)."""
        return [1.25, -4.0]

    def increasing_noise(self) -> Sequence[CorrelatedGaussian[AddRemove]]:
        """Larger and larger covariances."""
        return [
            CorrelatedGaussian((np.array(COVARIANCE) * size).tolist(), sensitivity=L1(1))
            for size in (1, 2, 9)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            CorrelatedGaussian,
            good={"covariance": COVARIANCE, "sensitivity": L1(1)},
            bad={
                "covariance": (
                    [[1, 2], [2, 1]],
                    [[1, 0.5], [0.25, 1]],
                    [[0]],
                    [[1, 2]],
                    [],
                    [3],
                    "1",
                    [["1"]],
                    [[float("nan")]],
                    np.eye(17).tolist(),
                    [[2.0**-700]],
                ),
                "sensitivity": (1, None, Differences([[1]])),
                "query": (3,),
            },
        )


@pytest.mark.parametrize("size", [1, 3, 5])
def test_mu_is_the_largest_mahalanobis_norm(size: int) -> None:
    """In floating point by the inverse: corners of the box, axes, and the smallest eigenvalue."""
    half = np.random.default_rng(size).normal(size=(size, size))
    covariance = half @ half.T + 0.2 * np.eye(size)
    covariance = (covariance + covariance.T) / 2
    inverse = np.linalg.inv(covariance)
    corners = np.array(list(itertools.product((1, -1), repeat=size)))
    largest: dict[L1[AddRemove] | L2[AddRemove] | LInf[AddRemove], float] = {
        L1(3): 3 * np.sqrt(np.diag(inverse).max()),
        LInf(3): 3 * np.sqrt(np.einsum("ij,jk,ik->i", corners, inverse, corners).max()),
        L2(3): 3 / np.sqrt(np.linalg.eigvalsh(covariance)[0]),
    }
    for moves, expected in largest.items():
        noise = CorrelatedGaussian(covariance.tolist(), sensitivity=moves)
        assert float(noise.guarantee().mu) == pytest.approx(expected, rel=1e-9)


def test_marginals_understate_it() -> None:
    """Two releases of the coordinates would seem to cost half of what (1, -1) does."""
    joint = CorrelatedGaussian(COVARIANCE, sensitivity=Differences([APART])).guarantee()
    marginal = self_compose(Gaussian(sigma=2, sensitivity=L2(1)).guarantee(), 2)

    assert joint.mu_squared == pytest.approx(2, rel=1e-11)
    assert marginal.epsilon(delta=1e-6).upper < 0.55 * joint.epsilon(delta=1e-6).upper


def test_noise_has_the_covariance() -> None:
    """Of fixed draws, along both principal axes: Kolmogorov-Smirnov distances below 0.0057."""
    noise = CorrelatedGaussian(COVARIANCE, sensitivity=L2(1))
    drawn = np.asarray(noise.release_many([5.0, 7.0], 100_000, rng=ReplayRng(1))) - [5, 7]
    for axis, deviation in ((TOGETHER, np.sqrt(14)), (APART, np.sqrt(2)), ([1, 0], 2)):
        along = drawn @ np.array(axis) / deviation
        assert stats.kstest(along, "norm").statistic < 0.0057


def test_a_rational_value_is_rounded_as_a_float_is() -> None:
    """The same words give the same steps, far from 0 as well, and when all draws are exact."""
    for value in (0.25, 2.0**70, -3.75):
        plain = gaussian_rounded(np.full(500, value), 2, Fraction(1, 8), ReplayRng(4))
        exact = gaussian_rounded_rationals([Fraction(value)] * 500, 2, Fraction(1, 8), ReplayRng(4))
        assert [int(one) for one in plain] == [int(one) for one in exact]
    third = gaussian_rounded_rationals([Fraction(1, 3)] * 500, 2**-40, Fraction(1, 8), ReplayRng(4))
    assert set(third.tolist()) == {3}


def test_acts_on_vectors_of_its_length() -> None:
    """Other lengths are refused, boxes of many dimensions and eigenvalues out of reach too."""
    with pytest.raises(ParameterError, match="vector of length 2"):
        CorrelatedGaussian(COVARIANCE, sensitivity=L1(1)).release([1.0])
    with pytest.raises(ParameterError, match="above 10 dimensions"):
        CorrelatedGaussian(np.eye(11).tolist(), sensitivity=LInf(1))
    near = [[Fraction(1, i + j + 1) for i in range(14)] for j in range(14)]  # Hilbert's
    with pytest.raises(NotCertified, match="Differences"):
        CorrelatedGaussian(near, sensitivity=L2(1)).guarantee()
