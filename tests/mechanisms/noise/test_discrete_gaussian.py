"""The discrete Gaussian mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2, LInf
from dpproof.mechanisms import Count, DiscreteGaussian
from tests.contracts.mechanism_contract import (
    NOT_POSITIVE,
    ExactLawContract,
    MechanismContract,
    one_bad,
)

SIGMA = 1.75
REACH = 60


def mass(value: int) -> NDArray[np.float64]:
    """The discrete Gaussian's mass function, shifted."""
    weights = np.exp(-(np.arange(-REACH, REACH + 1.0) ** 2) / (2 * SIGMA**2))
    x = np.arange(-REACH, REACH + 1.0) - value
    return np.asarray(np.exp(-(x**2) / (2 * SIGMA**2)) / weights.sum(), dtype=np.float64)


class TestDiscreteGaussian(ExactLawContract):
    """On the value of a query that moves by 2."""

    def mechanism(self) -> DiscreteGaussian[AddRemove]:
        """L1 sensitivity: a pair."""
        return DiscreteGaussian(sigma=SIGMA, sensitivity=L1(2))

    def data(self) -> object:
        """An integer vector."""
        return [4, 5, 6]

    def increasing_noise(self) -> Sequence[DiscreteGaussian[AddRemove]]:
        """Standard deviations from half the sensitivity to twenty times."""
        return [DiscreteGaussian(sigma=sigma, sensitivity=L1(2)) for sigma in (1, 2, 5, 40)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            DiscreteGaussian,
            good={"sigma": 1, "sensitivity": L1(1)},
            bad={
                "sigma": NOT_POSITIVE,
                "sensitivity": (L1(0.5), L2(0.5), LInf(1), 1, None),
                "query": (3,),
            },
        )

    def shift(self) -> int:
        """The sensitivity."""
        return 2

    def window_start(self) -> int:
        """Far in the tail."""
        return -REACH

    def law(self, value: int) -> NDArray[np.float64]:
        """Proportional to e^(-(x - value)^2 / (2 sigma^2))."""
        return mass(value)


class TestDiscreteGaussianOnRecords(MechanismContract):
    """Carrying its query."""

    def mechanism(self) -> DiscreteGaussian[AddRemove]:
        """A count."""
        return DiscreteGaussian(sigma=3, sensitivity=L1(1), query=Count())

    def data(self) -> object:
        """Records."""
        return (1.5, 2.5)

    def increasing_noise(self) -> Sequence[DiscreteGaussian[AddRemove]]:
        """Standard deviations from half the sensitivity up."""
        return [DiscreteGaussian(sigma=s, sensitivity=L1(1), query=Count()) for s in (0.5, 1, 4)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A query that is not one."""
        return one_bad(
            DiscreteGaussian, good={"sigma": 1, "sensitivity": L1(1)}, bad={"query": ("count", 3)}
        )


class TestDiscreteGaussianManyCoordinates(MechanismContract):
    """A large L2 sensitivity: known by its Rényi curve only."""

    def mechanism(self) -> DiscreteGaussian[AddRemove]:
        """L2 sensitivity 3."""
        return DiscreteGaussian(sigma=6, sensitivity=L2(3))

    def data(self) -> object:
        """An integer vector."""
        return [4, 5, 6]

    def increasing_noise(self) -> Sequence[DiscreteGaussian[AddRemove]]:
        """Standard deviations from a third of the sensitivity up."""
        return [DiscreteGaussian(sigma=s, sensitivity=L2(3)) for s in (1, 3, 10)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A norm that no theorem covers."""
        return one_bad(
            DiscreteGaussian,
            good={"sigma": 1, "sensitivity": L2(3)},
            bad={"sensitivity": (LInf(3), 3)},
        )


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 2.5])
@pytest.mark.parametrize("units", [1, 2, 3])
def test_small_l2_is_a_product_of_unit_shifts(units: int, epsilon: float) -> None:
    """L2(sqrt(m)), m <= 3, equals m coordinates that each move by 1: brute force."""
    p, q = np.ones(1), np.ones(1)
    for _ in range(units):
        p = np.outer(p, mass(1)[REACH - 14 : REACH + 15]).ravel()
        q = np.outer(q, mass(0)[REACH - 14 : REACH + 15]).ravel()
    truth = np.maximum(p - np.exp(epsilon) * q, 0).sum()
    mechanism = DiscreteGaussian(sigma=SIGMA, sensitivity=L2(math.sqrt(units)))
    stated = mechanism.guarantee().delta(epsilon=epsilon)

    assert isinstance(mechanism.guarantee(), DominatingPair)
    assert stated.lower - 1e-9 <= truth <= stated.upper + 1e-9


@pytest.mark.parametrize("sensitivity", [2, 2.5, 7.25, math.sqrt(50)])
def test_large_l2_is_zcdp(sensitivity: float) -> None:
    """Rho is the whole part of the squared sensitivity over twice the variance."""
    guarantee = DiscreteGaussian(sigma=10, sensitivity=L2(sensitivity)).guarantee()

    assert isinstance(guarantee, ZCDP)
    assert guarantee.rho == Fraction(math.floor(sensitivity**2 + 1e-9), 200)


def test_a_rounded_square_root_loses_nothing() -> None:
    """L2(sqrt(3)) is just below the real square root; flooring must not turn 3 into 2."""
    assert Fraction(math.sqrt(3)) ** 2 < 3
    assert (
        DiscreteGaussian(sigma=SIGMA, sensitivity=L2(math.sqrt(3))).guarantee()
        == DiscreteGaussian(sigma=SIGMA, sensitivity=L2(1.75)).guarantee()
    )


def test_zcdp_holds_for_the_worst_vectors() -> None:
    """The zCDP statement's profile is above every integer vector of that length."""
    guarantee = DiscreteGaussian(sigma=SIGMA, sensitivity=L2(2)).guarantee()
    short = slice(REACH - 12, REACH + 13)
    for shifts in ((2,), (1, 1, 1, 1)):
        p, q = np.ones(1), np.ones(1)
        for shift in shifts:
            p = np.outer(p, mass(shift)[short]).ravel()
            q = np.outer(q, mass(0)[short]).ravel()
        for epsilon in (0.5, 2.0):
            truth = np.maximum(p - np.exp(epsilon) * q, 0).sum()
            assert guarantee.delta(epsilon=epsilon).upper >= truth - 1e-9


def test_no_pair_means_no_amplification() -> None:
    """A mechanism known by its Rényi curve alone is not subsampled by a formula for pairs."""
    step = DiscreteGaussian(sigma=6, sensitivity=L2(3)).subsample(Poisson(sampling_rate=0.5))
    with pytest.raises(NotImplied):
        step.guarantee()


@pytest.mark.parametrize("value", [2.0, "3", None, True, 2**63])
def test_refuses_values_that_are_not_integers(value: object) -> None:
    """A float is refused even when it is whole."""
    with pytest.raises(ParameterError, match="value must be"):
        DiscreteGaussian(sigma=1, sensitivity=L1(1)).release(value)
