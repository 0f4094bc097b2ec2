"""Skellam noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ive

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2, LInf
from dpproof.mechanisms import ReplayRng, Skellam
from dpproof.mechanisms.samplers.discrete import _cumulative_skellam, skellam
from tests.contracts.mechanism_contract import NOT_POSITIVE, ExactLawContract, one_bad
from tests.mechanisms.samplers.support import Scripted

VARIANCE, UNITS, REACH = 9, 2, 80


class TestSkellam(ExactLawContract):
    """On the value of a query that moves by 2."""

    def mechanism(self) -> Skellam[AddRemove]:
        """Of standard deviation 3."""
        return Skellam(variance=VARIANCE, sensitivity=L1(UNITS))

    def data(self) -> object:
        """Two integers."""
        return [7, 8]

    def increasing_noise(self) -> Sequence[Skellam[AddRemove]]:
        """Larger and larger variances."""
        return [Skellam(variance=v, sensitivity=L2(1.5)) for v in (4, 9, 25)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            Skellam,
            good={"variance": 4, "sensitivity": L1(1)},
            bad={
                "variance": (*NOT_POSITIVE, 2**21, Fraction(1, 2**21)),
                "sensitivity": (L1(0.5), L1(2**14 + 1), L2(2), LInf(1), 1, None),
                "query": (3,),
            },
        )

    def shift(self) -> int:
        """The sensitivity."""
        return UNITS

    def window_start(self) -> int:
        """Where the tail is below 1e-15."""
        return -REACH

    def law(self, value: int) -> NDArray[np.float64]:
        """e^-v I_|x|(v), by scipy."""
        places = np.arange(-REACH, REACH + 1) - value
        return np.asarray(ive(np.abs(places), VARIANCE), dtype=np.float64)


def test_squared_norm_counts_coordinates() -> None:
    """Three coordinates that move by 1 cost what three uses on one do."""
    moved = Skellam(variance=50, sensitivity=L2(1.7321)).guarantee()
    thrice = Skellam(variance=50, sensitivity=L1(1)).repeat(3).guarantee()

    assert moved.epsilon(delta=1e-6).upper == thrice.epsilon(delta=1e-6).upper


def test_what_the_first_word_leaves_open_is_decided_exactly() -> None:
    """A word on the edge between two numbers asks for digits, which decide both ways."""
    low, _ = _cumulative_skellam(Fraction(4), 63)
    edge = [low[1] >> 48, low[1] << 16 & (2**64 - 1)]
    exact = _cumulative_skellam(Fraction(4), 191)
    assert low[1] << 128 < exact[0][1]
    assert exact[1][1] < (low[1] + 1) << 128
    found = [skellam(4, 1, Scripted([*edge, rest, rest])) for rest in (0, 2**64 - 1)]
    assert [int(one[0]) for one in found] == [1, 2]


def test_refuses_variances_out_of_reach() -> None:
    """The sampler alone refuses them, too."""
    with pytest.raises(ParameterError, match=r"2\^20"):
        skellam(2**21, 3, ReplayRng(1))
