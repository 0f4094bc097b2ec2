"""The Gaussian mechanism."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, ReplaceOne, ZeroOut
from dpproof.accountant.sensitivity import L1, L2, LInf
from dpproof.mechanisms import ClippedSum, Gaussian, ReplayRng
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad


class TestGaussian(MechanismContract):
    """On the value of a query."""

    def mechanism(self) -> Gaussian[AddRemove]:
        """Noise multiplier 2."""
        return Gaussian(sigma=6, sensitivity=L2(3))

    def data(self) -> object:
        """A vector."""
        return [0.25, -3.0]

    def increasing_noise(self) -> Sequence[Gaussian[AddRemove]]:
        """Standard deviations from half the sensitivity to fifty times."""
        return [Gaussian(sigma=sigma, sensitivity=L2(1)) for sigma in (0.5, 1, 2.5, 50)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            Gaussian,
            good={"sigma": 1, "sensitivity": L2(1)},
            bad={
                "sigma": (*NOT_POSITIVE, 2**301),
                "sensitivity": (L1(1), LInf(1), 1, None),
                "query": (3, "sum"),
                "granularity": (0, 0.3, -1, "1", float("nan")),
            },
        )


class TestGaussianOnRecords(MechanismContract):
    """Carrying its query."""

    def mechanism(self) -> Gaussian[AddRemove]:
        """A clipped sum."""
        return Gaussian(sigma=2, sensitivity=L2(1), query=ClippedSum(lower=0, upper=1))

    def data(self) -> object:
        """Records."""
        return [0.5, 3.0, -1.0, 0.125]

    def increasing_noise(self) -> Sequence[Gaussian[AddRemove]]:
        """Standard deviations from half the sensitivity up."""
        query = ClippedSum(lower=0, upper=1)
        return [Gaussian(sigma=s, sensitivity=L2(1), query=query) for s in (0.5, 1, 4)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A query that is not one."""
        return one_bad(Gaussian, good={"sigma": 1, "sensitivity": L2(1)}, bad={"query": ("sum", 3)})


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne(), ZeroOut()])
def test_states_exact_gdp(relation: AddRemove | ReplaceOne | ZeroOut) -> None:
    """Mu is sensitivity over sigma, exactly, under the stated relation."""
    guarantee = Gaussian(sigma=0.3, sensitivity=L2(0.1, relation)).guarantee()

    assert guarantee.mu == Fraction(0.1) / Fraction(0.3)
    assert guarantee.relation == relation


def test_noise_multiplier_is_dimensionless() -> None:
    """Sigma in data units over sensitivity in data units."""
    assert Gaussian(sigma=6, sensitivity=L2(4)).noise_multiplier == Fraction(3, 2)


def test_outputs_lie_on_a_grid_that_ignores_the_data() -> None:
    """Every output is a multiple of the granularity, whatever the value's low bits."""
    mechanism = Gaussian(sigma=1, sensitivity=L2(1), granularity=Fraction(1, 64))
    outputs = mechanism.release_many(math.pi, 10_000, rng=ReplayRng(1)) * 64

    assert (outputs == np.rint(outputs)).all()


def test_outputs_follow_the_ideal_law() -> None:
    """The empirical distribution stays in its DKW band, except with probability 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    size, value, sigma = 200_000, 17.3, 2.5
    mechanism = Gaussian(sigma=sigma, sensitivity=L2(1))
    outputs = np.sort(mechanism.release_many(value, size, rng=np.random.default_rng(seed)))
    # Rounding to the grid moves the distribution function by at most 2^-20 * density * sigma.
    deviation = np.abs(special.ndtr((outputs - value) / sigma) - (np.arange(size) + 0.5) / size)

    assert deviation.max() <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * size)) + 2**-19


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "3", None, True, [1.0, [2.0]], 2**53 + 1, Fraction(1, 3), 1j],
)
def test_refuses_values_it_cannot_protect(value: object) -> None:
    """Not finite, not a number, or not exactly binary64: refused with the reason."""
    with pytest.raises(ParameterError, match="value must be"):
        Gaussian(sigma=1, sensitivity=L2(1)).release(value)


@pytest.mark.parametrize("value", [3, 2.5, np.float32(0.1), Fraction(3, 4), np.arange(3)])
def test_accepts_exact_values(value: object) -> None:
    """Integers, floats of any width and dyadic fractions have an exact binary64 value."""
    assert np.isfinite(Gaussian(sigma=1, sensitivity=L2(1)).release(value)).all()


@pytest.mark.parametrize("sigma", [2.0**-300, 2.0**300])
@pytest.mark.parametrize("value", [0.0, 1.0, 1.7e308, -1.7e308, 5e-324])
def test_extreme_scales_release_numbers(sigma: float, value: float) -> None:
    """No scale or value breaks the release; an output beyond binary64 is an infinity."""
    assert not np.isnan(Gaussian(sigma=sigma, sensitivity=L2(1)).release(value))
