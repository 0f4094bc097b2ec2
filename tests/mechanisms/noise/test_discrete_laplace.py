"""The discrete Laplace mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Count, DiscreteLaplace
from tests.contracts.mechanism_contract import (
    NOT_POSITIVE,
    ExactLawContract,
    MechanismContract,
    one_bad,
)

SCALE = 2.5
REACH = 200


class TestDiscreteLaplace(ExactLawContract):
    """On the value of a query that moves by 3."""

    def mechanism(self) -> DiscreteLaplace[AddRemove]:
        """A fractional scale."""
        return DiscreteLaplace(scale=SCALE, sensitivity=L1(3))

    def data(self) -> object:
        """An integer array."""
        return np.array([[1, 2], [3, 4]])

    def increasing_noise(self) -> Sequence[DiscreteLaplace[AddRemove]]:
        """Scales from half the sensitivity to twenty times."""
        return [DiscreteLaplace(scale=scale, sensitivity=L1(2)) for scale in (1, 2, 5, 40)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            DiscreteLaplace,
            good={"scale": 1, "sensitivity": L1(1)},
            bad={"scale": NOT_POSITIVE, "sensitivity": (L1(0.5), L2(1), 1, None), "query": (3,)},
        )

    def shift(self) -> int:
        """The sensitivity."""
        return 3

    def window_start(self) -> int:
        """Far in the tail."""
        return -REACH

    def law(self, value: int) -> NDArray[np.float64]:
        """(1 - r) / (1 + r) r^|x - value|, r = e^(-1/scale)."""
        ratio = np.exp(-1 / SCALE)
        x = np.arange(-REACH, REACH + 1) - value
        return np.asarray((1 - ratio) / (1 + ratio) * ratio ** np.abs(x), dtype=np.float64)


class TestDiscreteLaplaceOnRecords(MechanismContract):
    """Carrying its query."""

    def mechanism(self) -> DiscreteLaplace[AddRemove]:
        """A count."""
        return DiscreteLaplace(scale=2, sensitivity=L1(1), query=Count())

    def data(self) -> object:
        """Records as the rows of an array."""
        return np.zeros((5, 2))

    def increasing_noise(self) -> Sequence[DiscreteLaplace[AddRemove]]:
        """Scales from half the sensitivity up."""
        return [DiscreteLaplace(scale=s, sensitivity=L1(1), query=Count()) for s in (0.5, 1, 4)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A query that is not one."""
        return one_bad(
            DiscreteLaplace, good={"scale": 1, "sensitivity": L1(1)}, bad={"query": ("count", 3)}
        )


@pytest.mark.parametrize("value", [2.0, 2.5, "3", None, True, 2**63, 2**62 + 1, [1, 2.0]])
def test_refuses_values_that_are_not_integers(value: object) -> None:
    """A float is refused even when it is whole: whether it always is cannot be seen."""
    with pytest.raises(ParameterError, match="value must be"):
        DiscreteLaplace(scale=1, sensitivity=L1(1)).release(value)


def test_outputs_never_overflow() -> None:
    """Noise beyond 64 bits is released as Python integers, exactly."""
    outputs = DiscreteLaplace(scale=2**80, sensitivity=L1(1)).release_many(2**62, 50)

    assert max(abs(int(x)) for x in outputs) > 2**63


def test_only_the_whole_part_of_the_sensitivity_counts() -> None:
    """An integer query moves by integers; a product rounded just below one counts as it."""

    def cost(sensitivity: float) -> float:
        mechanism = DiscreteLaplace(scale=4, sensitivity=L1(sensitivity))
        return mechanism.guarantee().epsilon(delta=1e-6).upper

    assert cost(2) == cost(2.9)
    assert cost(3) == cost(2.9999999999999996)
    assert cost(2) < cost(3)
