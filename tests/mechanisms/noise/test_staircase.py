"""Staircase noise on whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import ReplayRng, Staircase
from dpproof.mechanisms.samplers.rng import geometric_ratio
from tests.contracts.mechanism_contract import NOT_POSITIVE, ExactLawContract, one_bad

EPSILON, UNITS, WIDTH = 1.5, 5, 2
REACH = 150


def noise_law(epsilon: float, units: int, width: int, reach: int) -> NDArray[np.float64]:
    """Falling by e^-epsilon at width, width + units, ..., on either side."""
    size = np.abs(np.arange(-reach, reach + 1))
    weights = np.exp(-epsilon * np.ceil(np.maximum(size - width + 1, 0) / units))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


class TestStaircase(ExactLawContract):
    """On the value of a query that moves by 5."""

    def mechanism(self) -> Staircase[AddRemove]:
        """A narrow highest step."""
        return Staircase(epsilon=EPSILON, sensitivity=L1(UNITS), width=WIDTH)

    def data(self) -> object:
        """One integer."""
        return 7

    def neighbour(self) -> object:
        """As far away as can be."""
        return 12

    def increasing_noise(self) -> Sequence[Staircase[AddRemove]]:
        """Smaller and smaller losses."""
        return [Staircase(epsilon=epsilon, sensitivity=L1(3)) for epsilon in (3, 2, 1)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            Staircase,
            good={"epsilon": 1, "sensitivity": L1(4), "width": 2},
            bad={
                "epsilon": (*NOT_POSITIVE, 1e-9, 257),
                "sensitivity": (L1(0.5), L1(2**41), L2(1), 1, None),
                "width": (0, 5, -1, 1.5, "1"),
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
        """The noise's law, shifted."""
        bits = 20 + int(np.ceil(EPSILON / np.log(2)))
        ratio = (np.floor(np.exp(-EPSILON) * 2**bits) + 2) / 2**bits
        wide = noise_law(-np.log(ratio), UNITS, WIDTH, 2 * REACH)
        return wide[REACH - value : 3 * REACH + 1 - value]


@pytest.mark.parametrize(("epsilon", "units", "width"), [(0.5, 4, 1), (1.5, 7, 4), (2, 3, 3)])
def test_no_shift_costs_more(epsilon: float, units: int, width: int) -> None:
    """Every shift up to the sensitivity, in both orders, enumerated: none above, one attains."""
    noise = Staircase(epsilon=epsilon, sensitivity=L1(units), width=width)
    law = noise_law(-float(np.log(float(noise.ratio))), units, width, 60 * units)
    guarantee = noise.guarantee()
    for at in (-0.4 * epsilon, 0, 0.4 * epsilon, 0.9 * epsilon):
        costs = []
        for shift in range(1, units + 1):
            p, q = np.pad(law, (0, shift)), np.pad(law, (shift, 0))
            costs += [np.maximum(a - np.exp(at) * b, 0).sum() for a, b in ((p, q), (q, p))]
        stated = guarantee.delta(epsilon=at)

        assert stated.upper == pytest.approx(max(costs), abs=1e-11)
        assert stated.lower == pytest.approx(max(costs), abs=1e-11)
    assert guarantee.delta(epsilon=epsilon).upper == 0


def test_best_width_is_that_of_the_literature() -> None:
    """Of Geng & Viswanath: k/(1 + e^(epsilon/2)), expected size k e^(epsilon/2)/(e^epsilon - 1)."""
    noise = Staircase(epsilon=4, sensitivity=L1(10**4))
    size = np.abs(np.arange(-(10**5), 10**5 + 1))
    expected = (size * noise_law(4, 10**4, noise.width, 10**5)).sum()

    assert noise.width == round(10**4 / (1 + np.exp(2)))
    assert expected / 10**4 == pytest.approx(np.exp(2) / (np.exp(4) - 1), rel=1e-3)


def test_composes_better_than_pure() -> None:
    """A hundred uses cost less than those of epsilon-DP; at half the sensitivity they are equal."""
    uses = [
        Staircase(epsilon=1, sensitivity=L1(1000), width=width).repeat(100).guarantee()
        for width in (378, 500)
    ]
    few, many = (one.epsilon(delta=1e-6) for one in uses)

    assert many.upper == pytest.approx(83.531, abs=1e-2)
    assert few.upper < 80.78


def test_geometric_of_a_rational_ratio_follows_its_law() -> None:
    """Distribution functions of fixed draws, within the band of Massart at 1e-10."""
    for ratio in (Fraction(1, 3), Fraction(9, 10), Fraction(999, 1000)):
        drawn = geometric_ratio(ratio, 100_000, ReplayRng(3))
        edges = np.unique(np.quantile(drawn, [0.1, 0.5, 0.9, 0.99]).astype(int))
        for edge in edges:
            truth = 1 - float(ratio) ** (int(edge) + 1)
            assert abs((drawn <= edge).mean() - truth) < 0.011
    with pytest.raises(ParameterError, match="less than 1"):
        geometric_ratio(Fraction(1), 3, ReplayRng(3))


def test_acts_on_one_integer() -> None:
    """Arrays are refused: two numbers that move together would cost more."""
    with pytest.raises(ParameterError, match="one integer"):
        Staircase(epsilon=1, sensitivity=L1(1)).release([1, 2])
