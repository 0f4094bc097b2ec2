"""Directed rounding of exact rationals."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, strategies as st

from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.rounding import (
    ask_decreasing,
    ask_increasing,
    epsilon_tanh_up,
    exp_up,
    floats_around,
    show,
    sqrt_up,
)

POSITIVE = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


def above(value: Fraction, reference: mpmath.mpf, relative: float) -> bool:
    """Whether an exact value is at or above a 400-bit one, by no more than asked."""
    exact = mpmath.mpf(value.numerator) / value.denominator
    tiny = mpmath.mpf(2) ** -380
    return bool(
        exact >= reference * (1 - tiny) and exact <= reference * (1 + mpmath.mpf(relative) + tiny)
    )


@given(st.fractions())
def test_floats_around_enclose(value: Fraction) -> None:
    """The two floats are the nearest at or below and at or above."""
    low, high = floats_around(value)

    assert Fraction(low) <= value <= Fraction(high)
    assert low == high or math.nextafter(low, math.inf) == high


def test_floats_around_beyond_the_floats() -> None:
    """Past the largest float the far side is infinite."""
    assert floats_around(Fraction(10) ** 400) == (sys.float_info.max, math.inf)
    assert floats_around(-(Fraction(10) ** 400)) == (-math.inf, -sys.float_info.max)


@given(POSITIVE)
def test_square_root_is_just_above(value: Fraction) -> None:
    """At or above the root, by at most 2**-80 relative."""
    root = sqrt_up(value)

    assert root * root >= value
    assert root * root <= value * (1 + Fraction(1, 2**78))


@given(POSITIVE)
def test_square_root_of_a_square_is_exact(value: Fraction) -> None:
    """A rational root comes back."""
    assert sqrt_up(value * value) == value


@pytest.mark.parametrize("size", [10**-40, 10**40, 2**-1074])
def test_square_root_of_extremes(size: float) -> None:
    """Very small and very large numbers keep their relative precision."""
    exact = Fraction(size) * 3
    root = sqrt_up(exact)

    assert exact <= root * root <= exact * (1 + Fraction(1, 2**78))
    assert sqrt_up(Fraction(0)) == 0


@given(st.fractions(min_value=0, max_value=700))
def test_exponential_is_just_above(exponent: Fraction) -> None:
    """At or above e^x, by at most 2**-100 relative."""
    with mpmath.workprec(400):
        reference = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        assert above(exp_up(exponent), reference, 2.0**-100)


def test_exponential_of_zero_is_one() -> None:
    """Exactly."""
    assert exp_up(Fraction(0)) == 1


@given(st.fractions(min_value=0, max_value=1000))
def test_epsilon_tanh_is_just_above(epsilon: Fraction) -> None:
    """At or above epsilon tanh(epsilon/2), by at most 2e-15 relative."""
    with mpmath.workprec(400):
        x = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        assert above(epsilon_tanh_up(epsilon), x * mpmath.tanh(x / 2), 2e-15)


def test_epsilon_tanh_beyond_the_floats() -> None:
    """An epsilon larger than every float is its own bound, of a tiny one its square over 2 is."""
    assert epsilon_tanh_up(Fraction(10) ** 400) == Fraction(10) ** 400
    assert epsilon_tanh_up(Fraction(1, 10**180)) == Fraction(1, 2 * 10**360)


def test_questions_at_a_fraction_widen() -> None:
    """At a value between two floats both neighbours are asked."""
    third = Fraction(1, 3)
    grows = ask_increasing(Bound.exactly, third)
    falls = ask_decreasing(lambda x: Bound.exactly(-x), third)

    assert Fraction(grows.lower) < third < Fraction(grows.upper)
    assert Fraction(-falls.upper) < third < Fraction(-falls.lower)
    assert ask_increasing(Bound.exactly, Fraction(1, 4)) == Bound(0.25, 0.25)


def test_show_is_short() -> None:
    """Six digits, also where no float holds the value."""
    assert show(Fraction(1, 3)) == "0.333333"
    assert show(Fraction(3)) == "3"
    assert show(Fraction(10) ** 400) == "1.79769e+308"


@given(st.fractions(Fraction(1, 100), 100), st.floats(0.5, 1.0))
def test_wide_answers_stay_brackets(at: Fraction, share: float) -> None:
    """An answer at the float below ends below it, one at the float above ends above it."""

    def grows(x: float) -> Bound:
        return Bound(share * x, 2.0 * x)

    def falls(x: float) -> Bound:
        return Bound(share / x, 2.0 / x)

    low, high = floats_around(at)
    assert ask_increasing(grows, at) == Bound(share * low, 2.0 * high)
    assert ask_decreasing(falls, at) == Bound(share / high, 2.0 / low)
