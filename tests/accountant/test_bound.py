"""Brackets."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof.accountant.bound import Bound, Bounds
from dpproof.accountant.errors import NotCertified

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def test_refuses_an_empty_or_undefined_bracket() -> None:
    """Ends crossed or nan are a failure, never a number."""
    for lower, upper in ((1.0, 0.5), (math.nan, 1.0), (0.0, math.nan)):
        with pytest.raises(NotCertified, match="lower <= upper"):
            Bound(lower, upper)


def test_refuses_to_be_a_float() -> None:
    """One must choose an end."""
    with pytest.raises(TypeError, match=r"use \.upper"):
        float(Bound(0.0, 1.0))


@given(FINITE, FINITE, FINITE, FINITE)
def test_maximum_brackets_the_larger(a: float, b: float, c: float, d: float) -> None:
    """The larger of two members is a member."""
    first, second = Bound(min(a, b), max(a, b)), Bound(min(c, d), max(c, d))

    for x in (first.lower, first.upper):
        for y in (second.lower, second.upper):
            assert max(x, y) in first.maximum(second)


@given(FINITE, st.floats(0, 0.5))
def test_widening_keeps_the_members(value: float, relative: float) -> None:
    """Both ends move outwards."""
    assert value in Bound.exactly(value).widened(relative)


def test_widths() -> None:
    """Absolute, relative to the larger end, 0 for a point, infinite where one end is."""
    assert Bound(1.0, 2.0).width == 1.0
    assert Bound(1.0, 2.0).relative_width == 0.5
    assert Bound(math.inf, math.inf).width == 0.0
    assert Bound(math.inf, math.inf).relative_width == 0.0
    assert Bound(1.0, math.inf).relative_width == math.inf
    assert Bound(-math.inf, 1.0).relative_width == math.inf
    assert Bound(1.0, math.inf).widened(0.1) == Bound(0.9, math.inf)


def test_membership_is_for_numbers() -> None:
    """Text is in no bracket."""
    assert "1" not in Bound(0.0, 2.0)
    assert 2 in Bound(0.0, 2.0)


@given(FINITE, FINITE, FINITE)
def test_two_brackets_of_one_number_meet_around_it(value: float, a: float, b: float) -> None:
    """A member of both is a member of what they leave possible, and no end is further out."""
    first, second = Bound(min(a, value), max(a, value)), Bound(min(b, value), max(b, value))
    both = first.meet(second)

    assert value in both
    assert both.lower == max(first.lower, second.lower)
    assert both.upper == min(first.upper, second.upper)


def test_disjoint_brackets_do_not_meet() -> None:
    """Two proofs that contradict each other are no answer."""
    with pytest.raises(NotCertified):
        Bound(0.0, 1.0).meet(Bound(2.0, 3.0))


def test_a_bracket_of_a_number_or_a_bracket() -> None:
    """A number is known exactly, a bracket stays what it is."""
    assert Bound.of(0.5) == Bound(0.5, 0.5)
    assert Bound.of(Bound(0.5, 1.0)) == Bound(0.5, 1.0)


def test_comparisons_are_decided_or_refused() -> None:
    """Apart they are ordered, touching by the ends that count, and overlapping they refuse."""
    low, high = Bound(1.0, 2.0), Bound(3.0, 4.0)

    assert low < high
    assert high > 2.5
    assert low <= 2
    assert not low > 2
    assert Bound(2.0, 3.0) >= 2
    assert not Bound.exactly(1.0) < Bound.exactly(1.0)
    for other in (1.5, Bound(1.5, 5.0)):
        for compared in (operator.lt, operator.ge, operator.gt):
            with pytest.raises(NotCertified, match="do not decide"):
                compared(low, other)


@given(st.floats(1e-9, 1e9), st.sampled_from([".0f", ".3f", ".2e", ".4g", "g"]))
def test_formats_are_rounded_up(value: float, specification: str) -> None:
    """What is shown is never below the upper end, and next to it."""
    shown = format(Bound(0.0, value), specification)

    assert Fraction(shown) >= Fraction(value)
    assert float(shown) <= value * 1.1 + 1
    assert f"{Bound(1.0, 2.0)}" == "Bound(lower=1.0, upper=2.0)"
    assert f"{Bound(1.0, math.inf):.2f}" == "inf"


@pytest.mark.parametrize(
    ("value", "specification", "shown"),
    [
        (50000001.0, ".4g", "5.001e+7"),
        (50000001.0, ".4", "5.001E+7"),
        (3.0000001, "g", "3.00001"),
        (99999999.0, ".4g", "1e+08"),
        (2.5e-7, ".0f", "1"),
        (1.2341, " >9.4g", "    1.235"),
    ],
)
def test_formats_are_raised_by_the_last_digit_that_was_asked_for(
    value: float, specification: str, shown: str
) -> None:
    """Zeros that a general format leaves out count as digits."""
    assert format(Bound(0.0, value), specification) == shown


def test_notebooks_show_the_guarantee_first() -> None:
    """The upper end rounded up in bold, and both ends in full."""
    assert (
        Bound(1.0, 1.2345678)._repr_html_() == "<b>1.23457</b> <small>(in [1.0, 1.2345678])</small>"
    )


def test_many_brackets_are_frozen_and_checked() -> None:
    """Arrays of ends share a shape and are frozen; a crossed or undefined one is refused."""
    lower = np.array([[0.0, 1.0]])
    found = Bounds(lower, np.array([[0.5, math.inf]]), np.array([True, False]))
    lower[0, 0] = 9.0
    assert found[0, 0] == Bound(0.0, 0.5)
    assert not found[0, 1].attained
    assert found.one_by_one.shape == (1, 2)
    assert repr(found) == "<Bounds of shape (1, 2), 0 one by one>"
    with pytest.raises(ValueError, match="read-only"):
        found.upper[0, 0] = 0.1
    for crossed in (np.array([2.0]), np.array([math.nan])):
        with pytest.raises(NotCertified, match="lower <= upper everywhere"):
            Bounds(crossed, np.array([1.0]))
