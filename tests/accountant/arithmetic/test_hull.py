"""Lower convex hulls of points and of arrays."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import spatial

from dpproof.accountant.arithmetic.hull import hull_positions, lower_hull

COORDINATE = st.fractions(min_value=0, max_value=8, max_denominator=16)


def on_or_above(hull: tuple[tuple[Fraction, Fraction], ...], x: Fraction, y: Fraction) -> bool:
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


def test_hull_is_that_of_a_general_library() -> None:
    """The vertices that a general library finds, seen from below."""
    rng = np.random.default_rng(5)
    points = [(float(x), float(y)) for x, y in rng.random((60, 2)) if y > (1 - x) ** 2 / 2]
    hull = lower_hull([(0.0, 1.0), *points, (1.0, 0.0)])
    cloud = np.array([(0.0, 1.0), *points, (1.0, 0.0), (1.0, 1.0)])
    corners = {tuple(cloud[j]) for j in spatial.ConvexHull(cloud).vertices} - {(1.0, 1.0)}

    assert set(hull) == corners
    assert list(hull) == sorted(hull)


@pytest.mark.parametrize("passes", [0, 3, None])
@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-40, 40)), min_size=1, max_size=40))
def test_positions_are_those_of_the_hull(passes: int | None, points: list[tuple[int, int]]) -> None:
    """At growing places, whatever the number of passes."""
    lowest = sorted(dict(sorted(points, reverse=True)).items())
    x, y = np.array(lowest, dtype=float).T
    exact = lower_hull((Fraction(a), Fraction(b)) for a, b in lowest)
    found = hull_positions(x, y, passes=passes)

    assert [(Fraction(a), Fraction(b)) for a, b in zip(x[found], y[found], strict=True)] == [*exact]


def test_places_that_do_not_grow() -> None:
    """The lower of two points at one place counts, and the first point always does."""
    x, y = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0]), np.array([1.0, 0.0, 0.5, -2.0, 0.0, 1.0])

    assert hull_positions(x, y).tolist() == [0, 3, 4]
