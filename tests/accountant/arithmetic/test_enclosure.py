"""Directed rounding of single floats."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
from hypothesis import given, strategies as st

from dpproof.accountant.arithmetic.enclosure import (
    Enclosure,
    distinct,
    down,
    float_down,
    float_up,
    from_swapped,
    joined,
    log_down,
    log_exact,
    log_up,
    total_delta_up,
    up,
)
from dpproof.accountant.bound import Bound


@given(st.fractions(min_value=-1000, max_value=1000))
def test_rationals(value: Fraction) -> None:
    """The two floats around a rational, equal where it is one."""
    low, high = float_down(value), float_up(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high in (low, up(low))
    assert (low == high) == (Fraction(low) == value)


@given(st.floats(-1e300, 1e300))
def test_neighbours(value: float) -> None:
    """Strictly above and below, and inverse to each other."""
    assert down(value) < value < up(value)
    assert down(up(value)) == value


@given(st.floats(1e-300, 1.0), st.floats(0.0, 1.0))
def test_logs_of_differences(value: float, share: float) -> None:
    """The log of the exact difference of two floats is between both bounds."""
    other = share * value
    low, high = log_down(np.array(value - other)).item(), log_up(np.array(value - other)).item()
    with mpmath.workdps(50):
        exact = mpmath.mpf(value) - mpmath.mpf(other)
        assert exact == 0 or low <= mpmath.log(exact) <= high
        assert exact > 0 or (low, high) == (-math.inf, -math.inf)


def test_log_of_nothing_is_known() -> None:
    """Where a difference came out at 0 or below it, nothing is left to bound from below."""
    assert log_down(np.array([-1.0])).tolist() == [-math.inf]
    assert log_up(np.array([0.0])).tolist() == [-math.inf]


def test_joined_is_one_after_the_other() -> None:
    """Values stay with their radii."""
    one = Enclosure(np.array([1.0 + 2j]), np.array([0.5]))
    two = Enclosure(np.array([3.0 + 0j, 4j]), np.array([0.25, 0.125]))
    both = joined([one, two])
    assert both.value.tolist() == [1.0 + 2j, 3.0, 4j]
    assert both.radius.tolist() == [0.5, 0.25, 0.125]


@given(st.floats(0.0, 1.0), st.floats(-700.0, -1e-290))
def test_divergences_from_those_of_the_swapped_pair(delta: float, epsilon: float) -> None:
    """1 - t + t delta is between both ends, which are 1e-14 apart at most."""
    ends = from_swapped(np.array([delta]), np.array([delta]), np.array([epsilon]))
    low, high = (float(end[0]) for end in ends)
    with mpmath.workdps(50):
        rest = -mpmath.expm1(mpmath.mpf(epsilon))
        exact = rest + mpmath.exp(mpmath.mpf(epsilon)) * mpmath.mpf(delta)
        assert low <= exact <= high
    assert high - low <= 1e-14 * high


@given(
    st.one_of(
        st.fractions(min_value=Fraction(1, 10**9), max_value=10**9),
        st.integers(1, 10**300).map(lambda far: 1 + Fraction(1, far)),
        st.integers(300, 5000).map(lambda power: Fraction(3) ** -power),
    )
)
@mpmath.workdps(400)  # type: ignore[untyped-decorator]  # mpmath has no types
def test_logs_of_rationals(value: Fraction) -> None:
    """Within 16 u of themselves, next to 1 and beyond floats too."""
    truth = mpmath.log(mpmath.mpf(value.numerator) / value.denominator)
    assert abs(log_exact(value) - truth) <= 16 * 2.0**-53 * abs(truth)


NUMBERS = st.lists(st.floats(allow_nan=False), max_size=12)


@given(NUMBERS)
def test_as_numpy_does(numbers: list[float]) -> None:
    """The same points as numpy's own function finds, which takes long to import."""
    points = np.array(numbers + numbers[::2], dtype=float)

    assert distinct(points).tolist() == np.unique(points).tolist()


def test_a_sum_is_never_0_nor_above_1() -> None:
    """Whatever is added to the infinite mass moves it up, to 1 at most."""
    found = total_delta_up(Bound(0.0, 0.0), np.array([-math.inf, -1e4, -700.0, 0.0]))
    assert (found > 0.0).all()
    assert found[2] > math.exp(-700.0)
    assert found[3] == 1.0
    assert total_delta_up(Bound.exactly(0.5), np.array([-800.0]))[0] > 0.5
