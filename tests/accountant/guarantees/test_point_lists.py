"""Lists of exact points and the pairs they stand for."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.point_lists import (
    Points,
    chained,
    checked_points,
    lower_hull,
    pair_of_profile,
    pair_of_trade_off,
    value_at,
)

COORDINATE = st.fractions(min_value=0, max_value=8, max_denominator=16)


def exact(value: Number) -> Fraction:
    """Any number."""
    return arguments.real(value=value)


def on_or_above(hull: Points, x: Fraction, y: Fraction) -> bool:
    """Whether a point within the hull's range is on or above it."""
    for (x0, y0), (x1, y1) in pairwise(hull):
        if x0 <= x <= x1:
            return (y - y0) * (x1 - x0) >= (y1 - y0) * (x - x0)
    return hull[0][0] == x and y >= hull[0][1]


@settings(max_examples=50)
@given(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=1, max_size=8))
def test_hull_is_below_every_point(points: list[tuple[Fraction, Fraction]]) -> None:
    """The hull's vertices are among the points, convex, and nothing is below."""
    hull = lower_hull(points)
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(hull)]

    assert set(hull) <= set(points)
    assert slopes == sorted(slopes)
    assert all(on_or_above(hull, x, y) for x, y in points)


def test_points_are_sorted_and_exact() -> None:
    """Any order and any kind of number, kept exactly."""
    assert checked_points([(2, 0.5), (Fraction(1, 3), 1)], exact, exact) == (
        (Fraction(1, 3), Fraction(1)),
        (Fraction(2), Fraction(1, 2)),
    )


@pytest.mark.parametrize("bad", [(), "ab", 3, None, (1, 2), ((1,),), ("ab",), ((1, 2), (1, 3))])
def test_bad_lists_are_refused(bad: object) -> None:
    """Empty, not a list, not pairs, or a repeat."""
    with pytest.raises(ParameterError, match="points"):
        checked_points(bad, exact, exact)  # type: ignore[arg-type]


def test_pair_of_a_profile() -> None:
    """Mass, likelihood ratios and infinite loss come out exactly."""
    vertices = ((Fraction(0), Fraction(1)), (Fraction(2), Fraction(1, 4)))
    pair = pair_of_profile(vertices)

    assert pair.p == (Fraction(0), Fraction(3, 4), Fraction(1, 4))
    assert pair.q == (Fraction(5, 8), Fraction(3, 8), Fraction(0))


def test_pair_of_a_trade_off() -> None:
    """Steps and falls are the masses; what is left over has none under the other."""
    points = ((Fraction(0), Fraction(3, 4)), (Fraction(1, 2), Fraction(0)))
    pair = pair_of_trade_off(points)

    assert pair.p == (Fraction(1, 4), Fraction(3, 4), Fraction(0))
    assert pair.q == (Fraction(0), Fraction(1, 2), Fraction(1, 2))


def test_chained_curves_are_the_composition() -> None:
    """A -> outer(1 - inner(a)) at its own vertices and between them, exactly."""
    inner = tuple((Fraction(x, 12), Fraction(y, 12)) for x, y in ((0, 11), (1, 7), (4, 2), (8, 0)))
    outer = tuple((Fraction(x, 10), Fraction(y, 10)) for x, y in ((0, 9), (2, 5), (5, 1), (7, 0)))
    found = chained(inner, outer)
    for place in (Fraction(k, 240) for k in range(241)):
        exact = value_at(outer, 1 - value_at(inner, place))
        assert exact - Fraction(1, 2**150) <= value_at(found, place) <= exact


def test_pair_of_a_trade_off_that_ends_at_1() -> None:
    """Nothing is left over then."""
    points = tuple((Fraction(x, 4), Fraction(y, 4)) for x, y in ((0, 4), (1, 1), (4, 0)))
    pair = pair_of_trade_off(points)

    assert pair.p == (Fraction(3, 4), Fraction(1, 4))
    assert pair.q == (Fraction(1, 4), Fraction(3, 4))
