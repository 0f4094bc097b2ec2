"""The truncated discrete Laplace mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Count, TruncatedLaplace
from tests.contracts.mechanism_contract import NOT_POSITIVE, ExactLawContract, one_bad

EPSILON, DELTA, UNITS = 2.0, 1e-7, 2
REACH = 40


class TestTruncatedLaplace(ExactLawContract):
    """On the value of a query that moves by 2."""

    def mechanism(self) -> TruncatedLaplace[AddRemove]:
        """Noise of size at most 16."""
        return TruncatedLaplace(epsilon=EPSILON, delta=DELTA, sensitivity=L1(UNITS))

    def data(self) -> object:
        """One integer."""
        return 7

    def neighbour(self) -> object:
        """As far away as can be."""
        return 9

    def increasing_noise(self) -> Sequence[TruncatedLaplace[AddRemove]]:
        """Smaller and smaller losses."""
        return [
            TruncatedLaplace(epsilon=epsilon, delta=DELTA, sensitivity=L1(1))
            for epsilon in (3, 2, 1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            TruncatedLaplace,
            good={"epsilon": 1, "delta": 0.01, "sensitivity": L1(1)},
            bad={
                "epsilon": (*NOT_POSITIVE, 1e-9),
                "delta": (0, 0.75, 1, -0.1, "1", None, float("nan")),
                "sensitivity": (L1(0.5), L1(17), L2(1), 1, None),
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
        """r^|x - value| up to the size at which the two outermost have mass at most delta."""
        ratio = np.ceil(np.exp(-EPSILON / UNITS) * 2**16) / 2**16
        x = np.abs(np.arange(-REACH, REACH + 1) - value)
        for reach in range(1, REACH):
            weights = ratio**x * (x <= reach)
            outermost = (ratio**reach + ratio ** (reach - 1)) / weights.sum()
            if outermost <= DELTA:
                return np.asarray(weights / weights.sum(), dtype=np.float64)
        raise AssertionError("no size of the noise is enough")


@pytest.mark.parametrize(("epsilon", "delta", "units"), [(1, 0.1, 1), (1.5, 0.01, 3), (4, 0.5, 5)])
def test_no_shift_costs_more_than_stated(epsilon: float, delta: float, units: int) -> None:
    """Every shift up to the sensitivity, in both orders, enumerated: none above, one attains."""
    noise = TruncatedLaplace(epsilon=epsilon, delta=delta, sensitivity=L1(units))
    masses = np.array([float(mass) for mass in noise.masses()])
    guarantee = noise.guarantee()
    for at in (0, 0.3 * epsilon, 0.8 * epsilon, epsilon, 2 * epsilon):
        costs = []
        for shift in range(1, units + 1):
            p, q = np.pad(masses, (0, shift)), np.pad(masses, (shift, 0))
            costs += [np.maximum(a - np.exp(at) * b, 0).sum() for a, b in ((p, q), (q, p))]
        stated = guarantee.delta(epsilon=at)

        assert max(costs) - 1e-12 <= stated.upper
        assert stated.lower <= max(costs) + 1e-12
    assert guarantee.delta(epsilon=epsilon).upper <= delta + 1e-12


def test_is_attained_with_the_least_reach() -> None:
    """One number less on each side has more than delta outermost."""
    noise = TruncatedLaplace(epsilon=1, delta=1e-6, sensitivity=L1(1))
    inner = noise.masses()[1:-1]

    assert noise.masses()[0] <= noise.delta
    assert inner[0] / sum(inner) > noise.delta


def test_acts_on_one_integer() -> None:
    """Counts of records run, arrays are refused: each coordinate would cost its own delta."""
    noise = TruncatedLaplace(epsilon=1, delta=0.01, sensitivity=L1(1), query=Count())

    assert abs(noise.release([1, 2, 3]) - 3) <= noise.reach
    with pytest.raises(ParameterError, match="one integer"):
        TruncatedLaplace(epsilon=1, delta=0.01, sensitivity=L1(1)).release([1, 2])
