"""Directed rounding of single floats."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from accountant.numerics.enclosure import down, float_down, float_up, up


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
