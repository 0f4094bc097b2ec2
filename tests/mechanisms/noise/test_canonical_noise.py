"""Canonical noise on whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import CanonicalNoise
from tests.contracts.mechanism_contract import NOT_POSITIVE, ExactLawContract, one_bad

EPSILON, DELTA, UNITS = 2.0, 1e-7, 3
REACH = 60


def steps(epsilon: float, delta: float) -> NDArray[np.float64]:
    """The law of K by its ratios: E^-|j|, the outermost what is left, cut where the tail ends."""
    ratio = np.floor(np.exp(epsilon) * 2**16) / 2**16
    tail, half = (1 - delta) / (1 + ratio), []
    while tail > 0:
        lower = (tail - delta) / ratio if tail > delta else 0.0
        half.append(tail - lower)
        tail = lower
    return np.array([*half[::-1], 1 - 2 * sum(half), *half])


def noise_law(epsilon: float, delta: float, units: int) -> NDArray[np.float64]:
    """The law of the noise, from its smallest number."""
    return np.repeat(steps(epsilon, delta), units) / units


class TestCanonicalNoise(ExactLawContract):
    """On the value of a query that moves by 3."""

    def mechanism(self) -> CanonicalNoise[AddRemove]:
        """Steps of three numbers."""
        return CanonicalNoise(epsilon=EPSILON, delta=DELTA, sensitivity=L1(UNITS))

    def data(self) -> object:
        """One integer."""
        return 7

    def neighbour(self) -> object:
        """As far away as can be."""
        return 10

    def increasing_noise(self) -> Sequence[CanonicalNoise[AddRemove]]:
        """Smaller and smaller losses."""
        return [
            CanonicalNoise(epsilon=epsilon, delta=DELTA, sensitivity=L1(1)) for epsilon in (3, 2, 1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            CanonicalNoise,
            good={"epsilon": 1, "delta": 0.01, "sensitivity": L1(1)},
            bad={
                "epsilon": (*NOT_POSITIVE, 1e-9),
                "delta": (0, 0.75, 1, -0.1, "1", None, float("nan")),
                "sensitivity": (L1(0.5), L1(2**41), L2(1), 1, None),
                "query": (3,),
            },
        )

    def shift(self) -> int:
        """The sensitivity."""
        return UNITS

    def window_start(self) -> int:
        """Beyond the largest noise."""
        return -REACH

    def law(self, value: int) -> NDArray[np.float64]:
        """The masses of K, each spread on three numbers."""
        law = np.zeros(2 * REACH + 1)
        noise = noise_law(EPSILON, DELTA, UNITS)
        start = REACH + value - len(noise) // 2
        law[start : start + len(noise)] = noise
        return law


@pytest.mark.parametrize(("epsilon", "delta", "units"), [(1, 0.1, 2), (1.5, 0.01, 5), (3, 0.5, 4)])
def test_spends_epsilon_and_delta_whole(epsilon: float, delta: float, units: int) -> None:
    """All shifts enumerated: none above what is stated, which is (epsilon, delta)-DP's profile."""
    law = noise_law(epsilon, delta, units)
    guarantee = CanonicalNoise(epsilon=epsilon, delta=delta, sensitivity=L1(units)).guarantee()
    ratio = np.floor(np.exp(epsilon) * 2**16) / 2**16
    for at in (0, 0.3 * epsilon, 0.9 * epsilon, 1.1 * epsilon, 2 * epsilon):
        stated = guarantee.delta(epsilon=at)
        costs = []
        for shift in range(1, units + 1):
            p, q = np.pad(law, (0, shift)), np.pad(law, (shift, 0))
            costs += [np.maximum(a - np.exp(at) * b, 0).sum() for a, b in ((p, q), (q, p))]
        whole = delta + (1 - delta) * max(ratio - np.exp(at), 0) / (1 + ratio)

        assert max(costs) - 1e-12 <= stated.upper
        assert stated.lower <= max(costs) + 1e-12
        assert stated.lower <= whole + 1e-12
        assert at > epsilon or stated.upper >= whole - 1e-12


def test_acts_on_one_integer() -> None:
    """Arrays are refused: each coordinate would cost its own delta."""
    with pytest.raises(ParameterError, match="one integer"):
        CanonicalNoise(epsilon=1, delta=0.01, sensitivity=L1(1)).release([1, 2])
