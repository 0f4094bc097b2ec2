"""Exact distances, and what is the same in every bit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof.accountant import L1, L2, LInf
from dpproof.auditing.inspection.tape import distance, identical

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(FINITE, FINITE), max_size=5))
def test_norms_are_those_of_exact_differences(pairs: list[tuple[float, float]]) -> None:
    """Sum, sum of squares and largest, in rationals; exceeded exactly from the value on."""
    moved = distance([a for a, _ in pairs], [b for _, b in pairs])
    changes = [abs(Fraction(a) - Fraction(b)) for a, b in pairs]

    assert moved is not None
    assert (moved.total, moved.squares, moved.largest) == (
        sum(changes),
        sum(change**2 for change in changes),
        max(changes, default=0),
    )
    for norm, value in ((L1, moved.total), (LInf, moved.largest)):
        if value:
            assert not moved.exceeds(norm(Fraction(value)))
            assert moved.exceeds(norm(Fraction(value) * Fraction(10**40 - 1, 10**40)))


def test_the_euclidean_norm_is_compared_by_squares() -> None:
    """3, 4, 5; and nothing less than 5, however close."""
    moved = distance([0, 0], np.array([3.0, 4.0]))

    assert moved is not None
    assert not moved.exceeds(L2(5))
    assert moved.exceeds(L2(Fraction(5 * 10**40 - 1, 10**40)))
    assert moved.nearest(L2(5)) == 5.0
    assert moved.nearest(L1(5)) == 7.0
    assert moved.nearest(None) == 4.0


def test_what_is_not_finite_is_apart_from_all_but_itself() -> None:
    """Infinities and nan move by 0 from themselves, by infinity from anything else."""
    for odd in (math.inf, -math.inf, math.nan):
        same, apart = distance([odd, 1.0], [odd, 1.0]), distance(odd, 0.0)

        assert same is not None
        assert same.total == 0
        assert apart is not None
        assert apart.total == math.inf
        assert apart.exceeds(L1(10**300))


def test_whole_numbers_do_not_wrap() -> None:
    """The ends of int64 and a number beyond it are as far apart as they are."""
    ends = distance(np.int64(-(2**63)), np.int64(2**63 - 1))
    beyond = distance(2**80, 2**80 + 1)

    assert ends is not None
    assert ends.largest == 2**64 - 1
    assert beyond is not None
    assert beyond.largest == 1


@pytest.mark.parametrize(
    ("first", "other"),
    [(1.0, [1.0]), ([1, 2], [1]), ("a", "b"), ([[1], [1, 2]], 0), (None, 1.0), (1j, 2j)],
)
def test_other_shapes_have_no_distance(first: Any, other: Any) -> None:  # noqa: ANN401
    """Arrays of different shape and things that are no real numbers."""
    assert distance(first, other) is None


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        (0.0, -0.0, False),
        (math.nan, math.nan, True),
        (1.0, np.float64(1.0), True),
        (1.0, 1, False),
        (1, 2**70, False),
        (2**70, 2**70, True),
        ([1, (2.0,)], [1, [2.0]], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({"a": 1}, {"a": 1}, True),
        ({1, 2}, {2, 1}, True),
        (np.zeros(2), np.zeros(2, dtype=np.float32), False),
        (np.zeros(2), np.zeros((2, 1)), False),
        ("x", "x", True),
        ("x", "y", False),
        (None, None, True),
        (object(), object(), True),
        (object(), "x", False),
        (np.array([1, "a"], dtype=object), np.array([1, "a"], dtype=object), True),
    ],
)
def test_identity_is_of_every_bit(first: Any, other: Any, same: bool) -> None:  # noqa: ANN401, FBT001
    """Zeros of different sign differ, nan equals nan, types count, containers item by item."""
    assert identical(first, other) is same
