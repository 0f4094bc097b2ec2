"""Integer brackets contain the number, stay narrow, and agree with independent arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings, strategies as st

from dpproof.mechanisms.samplers.enclosure import (
    Enclosure,
    exp_minus,
    keep_probability,
    normal_two_tails,
    rational,
)
from tests.mechanisms.samplers.support import exactly

BITS = st.integers(min_value=1, max_value=400)
RATIOS = st.fractions(min_value=0, max_value=40, max_denominator=10**9)
WIDTH = 3


def contains(number: Enclosure, bits: int, true: mpmath.mpf) -> None:
    """Assert that the bracket holds the number and is narrow."""
    low, high = number(bits)
    scaled = mpmath.ldexp(true, bits)
    assert 0 <= low <= scaled <= high <= 2**bits
    assert high - low <= WIDTH


@given(BITS, st.fractions(min_value=0, max_value=1))
def test_rational(bits: int, x: Fraction) -> None:
    """A rational is bracketed by neighbouring integers."""
    low, high = rational(x)(bits)
    assert low <= x * 2**bits <= high
    assert high - low <= 1


@settings(deadline=None)
@given(BITS, RATIOS)
def test_exp_minus(bits: int, gamma: Fraction) -> None:
    """e^-gamma lies in its bracket."""
    with mpmath.workprec(600):
        contains(exp_minus(gamma), bits, mpmath.exp(-exactly(gamma)))


@settings(deadline=None)
@given(BITS, RATIOS)
def test_normal_two_tails(bits: int, t: Fraction) -> None:
    """The two normal tails lie in their bracket."""
    with mpmath.workprec(2400):
        contains(normal_two_tails(t), bits, mpmath.erfc(exactly(t) / mpmath.sqrt(2)))


@settings(deadline=None)
@given(BITS, RATIOS, st.integers(min_value=2, max_value=2**62))
def test_keep_probability(bits: int, epsilon: Fraction, categories: int) -> None:
    """The probability of keeping lies in its bracket."""
    with mpmath.workprec(600):
        power = mpmath.exp(exactly(epsilon))
        contains(keep_probability(epsilon, categories), bits, power / (power + categories - 1))


@pytest.mark.parametrize("number", [exp_minus, normal_two_tails])
def test_values_below_the_resolution_cost_nothing(number: Callable[[Fraction], Enclosure]) -> None:
    """A value far below 2^-p has the bracket (0, 1)."""
    assert number(Fraction(10) ** 200)(500) == (0, 1)


def test_exp_of_nothing_is_one() -> None:
    """e^0 is exactly 1."""
    assert exp_minus(Fraction(0))(70) == (2**70, 2**70)


@settings(deadline=None, max_examples=60)
@given(st.fractions(min_value=0, max_value=30, max_denominator=10**6))
def test_ball_arithmetic_agrees(t: Fraction) -> None:
    """The assumption about mpmath, against rigorous enclosures of another library."""
    flint = pytest.importorskip("flint")
    bits = 200
    with flint.ctx.workprec(1200):
        ratio = flint.arb(t.numerator) / t.denominator
        unit = flint.arb(2) ** bits
        for number, true in (
            (exp_minus(t), (-ratio).exp()),
            (normal_two_tails(t), (ratio / flint.arb(2).sqrt()).erfc()),
        ):
            low, high = number(bits)
            assert bool(true * unit >= low)
            assert bool(true * unit <= high)
