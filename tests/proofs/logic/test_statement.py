"""Conclusions as JSON: what is read, and what every notion refuses."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.logic.statement import LANGUAGE

Points = list[tuple[Fraction, Fraction]]
GRID = st.builds(Fraction, st.integers(-1, 9), st.just(8))
FOLLOWS = {"relation": "add-remove", "steps": 1}
DOMAINS: list[tuple[str, dict[str, str], dict[str, tuple[str, ...]]]] = [
    # notion, accepted at the ends of its domain, and what is refused in place of each field
    ("pure-dp", {"epsilon": "0"}, {"epsilon": ("-1/9", "1.5", "nan", "")}),
    ("bounded-range", {"epsilon": "0"}, {"epsilon": ("-1/9",)}),
    ("metric-dp", {"epsilon": "0"}, {"epsilon": ("-1/9",)}),
    ("gdp", {"mu_squared": "0"}, {"mu_squared": ("-1/9",)}),
    ("zcdp", {"rho": "0"}, {"rho": ("-1/9",)}),
    ("approx-dp", {"epsilon": "0", "delta": "1"}, {"epsilon": ("-1",), "delta": ("9/8", "-1")}),
]
FACTS: list[tuple[str, dict[str, str], dict[str, tuple[str, ...]]]] = [
    ("advantage", {"advantage": "1"}, {"advantage": ("9/8", "-1/8")}),
    (
        "true-positive-rate",
        {"false_positive_rate": "0", "true_positive_rate": "1"},
        {"false_positive_rate": ("-1/8", "9/8"), "true_positive_rate": ("9/8", "-1/8")},
    ),
    ("renyi-at-least", {"order": "9/8", "value": "0"}, {"order": ("1", "1/2"), "value": ("-1",)}),
]


def refused(value: dict[str, Any]) -> bool:
    """Whether a conclusion is refused by type."""
    try:
        LANGUAGE.statement(value)
    except RefusedError:
        return True
    return False


def read(notion: str, fields: dict[str, Any], *, fact: bool = False) -> dict[str, Any]:
    """Make a conclusion of a notion."""
    product: dict[str, Any] = {"product": []} if notion.endswith("at-least") else {}
    wanted = notion not in ("advantage", "true-positive-rate")
    return {"notion": notion, **product, **fields, **(FOLLOWS if not fact or not wanted else {})}


@pytest.mark.parametrize(("notion", "fields", "bad"), DOMAINS + FACTS)
def test_domains(notion: str, fields: dict[str, str], bad: dict[str, tuple[str, ...]]) -> None:
    """The ends of a domain are read; anything beyond, any other field and any less is refused."""
    fact = notion.endswith("at-least")
    assert not refused(read(notion, fields, fact=fact))
    assert refused(read(notion, {**fields, "other": "1"}, fact=fact))
    for name, values in bad.items():
        assert refused(read(notion, {k: v for k, v in fields.items() if k != name}, fact=fact))
        for value in values:
            assert refused(read(notion, {**fields, name: value}, fact=fact)), (name, value)


def listed(points: Points) -> list[list[str]]:
    """Write points as a certificate does."""
    return [[str(x), str(y)] for x, y in points]


def is_trade_off(points: Points) -> bool:
    """Convex and falling from type-I error 0 to type-II error 0, below the line of guessing."""
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(points)]
    return (
        points[0][0] == 0
        and points[-1][1] == 0
        and points[-1][0] <= 1
        and all(0 <= y <= 1 - x for x, y in points)
        and all(one <= other for one, other in pairwise(slopes))
        and all(slope <= 0 for slope in slopes)
    )


@st.composite
def some_points(draw: st.DrawFn) -> Points:
    """Points at growing places, often those of a true curve with one of them moved."""
    places = sorted(draw(st.sets(GRID, min_size=1, max_size=4)))
    drops = draw(st.lists(st.integers(0, 4), min_size=4, max_size=4))
    heights = [Fraction(sum(drops[k:]), 16) for k in range(4)]
    points = list(zip(places, heights[4 - len(places) :], strict=False))
    points[-1] = (points[-1][0], Fraction(0))
    if draw(st.booleans()):
        points[0] = (Fraction(0), points[0][1])
    if draw(st.booleans()):
        place = draw(st.integers(0, len(points) - 1))
        points[place] = (points[place][0], draw(GRID))
    return points


@settings(max_examples=150)
@given(some_points())
@example([(Fraction(1, 8), Fraction(1, 2)), (Fraction(1), Fraction(0))])
@example([(Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1, 4))])
@example([(Fraction(0), Fraction(1)), (Fraction(9, 8), Fraction(0))])
@example([(Fraction(0), Fraction(1)), (Fraction(1, 4), Fraction(1, 2)), (Fraction(1), Fraction(0))])
def test_trade_off_curves(points: Points) -> None:
    """A curve is read if and only if it is one."""
    if all(a < c for (a, _), (c, _) in pairwise(points)):
        value = {"notion": "trade-off", "points": listed(points), **FOLLOWS}
        assert refused(value) != is_trade_off(points)


@given(st.lists(st.tuples(GRID, GRID), min_size=1, max_size=3, unique_by=lambda one: one[0]))
def test_profiles_and_renyi_curves(drawn: Points) -> None:
    """Epsilons are at or above 0 and deltas in [0, 1], orders above 1 and their values from 0."""
    points = sorted(drawn)
    profile = {"notion": "privacy-profile", "points": listed(points), **FOLLOWS}
    curve = {"notion": "rdp", "points": listed(points), **FOLLOWS}
    inside = all(0 <= delta <= 1 for _, delta in points)
    assert refused(profile) != (inside and points[0][0] >= 0)
    assert refused(curve) != (points[0][0] > 1 and min(y for _, y in points) >= 0)


@pytest.mark.parametrize(
    "value",
    [
        {"notion": "mu-dp", "epsilon": "1", **FOLLOWS},
        {"notion": 3, "epsilon": "1", **FOLLOWS},
        {"notion": "pure-dp", "epsilon": "1", "relation": "anything", "steps": 1},
        {"notion": "pure-dp", "epsilon": "1", "relation": "add-remove", "steps": -1},
        {"notion": "pure-dp", "epsilon": "1", "relation": "add-remove"},
        [],
    ],
)
def test_other_conclusions_are_refused(value: Any) -> None:  # noqa: ANN401  # any JSON
    """Unknown notions and relations, and steps that are no count."""
    assert refused(value)
