"""Composed bounded ranges as one pair."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.engine import profile
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.ranges.composed import ComposedRangePair, short_floats


def test_finite_pairs_stand_above_and_below() -> None:
    """The profiles of both finite pairs enclose the pair's own, within 1e-4 in epsilon."""
    pair = ComposedRangePair(length=Fraction(1), count=10)
    own = pair.epsilon(1e-6)
    above, below = (Product.of(one) for one in (pair.above(1), pair.below(1)))

    assert profile.epsilon(above, 1e-6).upper >= own.lower
    assert profile.epsilon(below, 1e-6).lower <= own.upper
    assert profile.epsilon(above, 1e-6).upper <= own.upper + 1e-4
    assert profile.epsilon(below, 1e-6).lower >= own.lower - 1e-4


def test_profile_is_its_own_swap_and_ends_at_the_largest_loss() -> None:
    """H(-y) = 1 - e^-y + e^-y H(y), and nothing is left at count times the range."""
    pair = ComposedRangePair(length=Fraction(1, 2), count=6)
    y = np.array([0.3, 1.1, 2.9])
    right, left = pair.profile(y), pair.profile(-y)

    assert left[1] == pytest.approx(-np.expm1(-y) + np.exp(-y) * right[1])
    assert (left[0] <= left[1]).all()
    assert pair.delta(3.0).upper == 0.0
    assert pair.delta(2.999).upper > 0.0
    assert pair.epsilon(0.0).upper == pytest.approx(3.0)


def test_lower_ends_hold_where_delta_is_nearly_one() -> None:
    """Where V is above 1 - 1e-5 the lower end is at most what symmetry and the upper end allow."""
    pair = ComposedRangePair(length=Fraction(2), count=100)
    y = np.array([0.0, 1.0, 3.0, 10.0])
    lower, upper = pair.profile(y)

    assert (lower <= upper).all()
    assert (np.diff(lower) <= 0).all()
    assert (upper <= 1.0).all()
    assert (lower >= 0.999).all()


def test_ranges_are_rounded_to_short_floats_outwards() -> None:
    """Both floats have few bits and enclose the range closely."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(1, 10**9)):
        high, low = short_floats(epsilon)

        assert Fraction(low) <= epsilon <= Fraction(high)
        assert math.isclose(low, high, rel_tol=1e-8)
        assert Fraction(high * 1023) == Fraction(high) * 1023
