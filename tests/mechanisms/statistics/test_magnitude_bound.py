"""The search for a bound of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dpproof.accountant.relation import AddRemove
from dpproof.mechanisms import MagnitudeBound
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad


@pytest.mark.slow
class TestMagnitudeBound(MechanismContract):
    """The first power of two that at most two values exceed."""

    def mechanism(self) -> MagnitudeBound[AddRemove]:
        """Powers from 1/2 to 8."""
        bounds: dict[str, int] = {"smallest": -1, "largest": 3}
        return MagnitudeBound(threshold_scale=2, query_scale=3, outside=2, **bounds)

    def data(self) -> object:
        """Values between the powers, and on one."""
        return [0.3, -0.5, 0.6, -3.0, 100.0, math.nan, math.inf]

    def increasing_noise(self) -> Sequence[MagnitudeBound[AddRemove]]:
        """From one record to thirty."""
        return [MagnitudeBound(threshold_scale=s, query_scale=s, outside=5) for s in (1, 4, 30)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "threshold_scale": NOT_POSITIVE,
            "query_scale": NOT_POSITIVE,
            "outside": (-1, 0.5, None),
            "smallest": (-250, 41, 0.5, True, "0"),
            "largest": (250, -21, None),
            "relation": (AddRemove,),
        }
        good = {"threshold_scale": 1, "query_scale": 1, "outside": 3}
        return one_bad(MagnitudeBound, good=good, bad=bad)


def test_counts_of_large_values() -> None:
    """A value on a power of two does not exceed it; infinities always do, nan never."""
    bound = MagnitudeBound(threshold_scale=1, query_scale=1, outside=0, smallest=0, largest=2)
    assert bound.inside([1.0, -2.0, 2.5, math.inf, math.nan, -9.0]) == [-4, -3, -2]
