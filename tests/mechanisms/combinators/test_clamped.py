"""Clamping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Clamped, Gaussian, Laplace, Staircase, compose
from tests.contracts.mechanism_contract import MechanismContract, one_bad

NOISE = Laplace(scale=2, sensitivity=L1(1))


class TestClamped(MechanismContract):
    """Laplace noise in a range."""

    def mechanism(self) -> Clamped[AddRemove]:
        """Around where the value is."""
        return Clamped(NOISE, lower=-1, upper=9.5)

    def data(self) -> object:
        """A number near an end."""
        return 9.0

    def neighbour(self) -> object:
        """As far away as can be."""
        return 8.0

    def increasing_noise(self) -> Sequence[Clamped[AddRemove]]:
        """More and more noise."""
        return [
            Clamped(Gaussian(sigma=sigma, sensitivity=L2(1)), lower=0, upper=1)
            for sigma in (1, 2, 9)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """No mechanism, no range."""
        return one_bad(
            Clamped,
            good={"noise": NOISE, "lower": 0, "upper": 1},
            bad={
                "noise": (None, 3),
                "lower": (2, float("nan"), "0", Fraction(1, 3)),
                "upper": (-1, float("inf"), None),
            },
        )


def test_costs_what_the_noise_does() -> None:
    """The same answers, and outputs in the range; integers and vectors, too."""
    clamped = Clamped(NOISE, lower=0, upper=1)

    assert clamped.guarantee() == NOISE.guarantee()
    drawn = np.asarray(clamped.release_many(0.5, 2_000))
    assert {0.0, 1.0} <= set(drawn.tolist()) <= set(np.clip(drawn, 0, 1).tolist())
    whole = Clamped(Staircase(epsilon=1, sensitivity=L1(3)), lower=0, upper=5)
    assert 0 <= whole.release(4) <= 5
    with pytest.raises(ParameterError, match="several outputs"):
        Clamped(compose(NOISE, NOISE), lower=0, upper=1).release(0.5)
