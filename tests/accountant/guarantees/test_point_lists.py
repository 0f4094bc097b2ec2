"""Lists of exact points and the pairs they stand for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import (
    chained,
    checked_points,
    pair_of_profile,
    pair_of_trade_off,
    value_at,
)


def exact(value: Number) -> Fraction:
    """Any number."""
    return arguments.real(value=value)


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
