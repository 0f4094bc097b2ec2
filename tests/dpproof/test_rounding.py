"""What is printed never flatters."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given, strategies as st

from dpproof.rounding import above, below, exactly, percent_above

FLOATS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@given(FLOATS, st.integers(1, 12))
def test_above_is_above(value: float, digits: int) -> None:
    """The printed upper end, read exactly, is at or above the value, and close to it."""
    printed = Fraction(above(value, digits))

    assert printed >= Fraction(value)
    assert printed <= Fraction(value) * (1 + Fraction(10) ** (1 - digits))


@given(FLOATS, st.integers(1, 12))
def test_below_is_below(value: float, digits: int) -> None:
    """The printed lower end, read exactly, is at or below the value, and close to it."""
    printed = Fraction(below(value, digits))

    assert printed <= Fraction(value)
    assert printed >= Fraction(value) * (1 - Fraction(10) ** (1 - digits))


@given(st.floats(0, 1000))
def test_percent_is_above(share: float) -> None:
    """Per cent are rounded up, to one decimal or, below 1 %, to two digits."""
    printed = Fraction(percent_above(share).removesuffix(" %")) / 100

    assert printed >= Fraction(share)
    assert printed <= Fraction(share) + Fraction(1, 1000)
    if share < 0.01:
        assert printed <= Fraction(share) * Fraction(11, 10)


@given(st.floats(0.99, 1, exclude_max=True))
def test_what_is_below_all_is_shown_below_it(share: float) -> None:
    """A share below 1 is never shown as 100 %."""
    printed = Fraction(percent_above(share).removesuffix(" %")) / 100

    assert Fraction(share) <= printed < 1


def test_infinity_is_not_hidden() -> None:
    """No number stands for no finite bound."""
    assert above(math.inf) == "inf"
    assert percent_above(math.inf) == "inf %"


@given(FLOATS)
def test_parameters_are_shown_exactly(value: float) -> None:
    """What names a parameter names the same float."""
    assert float(exactly(Fraction(value))) == value


@given(st.integers(309, 6000), st.integers(1, 10**20), st.sampled_from([-1, 1]))
def test_parameters_beyond_floats_are_shown(exponent: int, factor: int, sign: int) -> None:
    """Next to the parameter, and never below it."""
    value = Fraction(factor, 3) * Fraction(10) ** (sign * (exponent + 20) - 20)
    shown = Fraction(exactly(value))
    assert value <= shown <= value * (1 + Fraction(1, 10**16))
