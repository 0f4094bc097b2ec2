"""What an attacker can reach, from one point of the profile."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from proofs.rules import RULES
from proofs.statement import Advantage, Power
from tests.proofs.support import Case, Object, said

POWER, GAP = "convert/approx-true-positive-rate", "convert/approx-advantage"


def approx(epsilon: str, delta: str, **other: Any) -> Object:  # noqa: ANN401  # fields
    """A premise."""
    return said("approx-dp", epsilon=epsilon, delta=delta, **other)


def power(rate: str, most: str, **other: Any) -> Object:  # noqa: ANN401
    """A conclusion."""
    return said("true-positive-rate", false_positive_rate=rate, true_positive_rate=most, **other)


def gap(most: str, **other: Any) -> Object:  # noqa: ANN401
    """A conclusion."""
    return said("advantage", advantage=most, **other)


CASES = [
    # e/100 + 1/1000 = 0.0281828..., and 1 - (1/2 - 1/1000)/e = 0.816428...
    Case(POWER, power("1/100", "28183/1000000"), [approx("1", "1/1000")]),
    Case(POWER, power("1/100", "14091/500000"), [approx("1", "1/1000")], why="is at least"),
    Case(POWER, power("1/2", "81643/100000"), [approx("1", "1/1000")]),
    Case(POWER, power("1/2", "40821/50000"), [approx("1", "1/1000")], why="is at least"),
    Case(POWER, power("1/2", "1/2"), [approx("0", "0")]),
    Case(POWER, power("1/2", "499/1000"), [approx("0", "0")], why="is at least"),
    Case(POWER, power("0", "1/8"), [approx("3", "1/8")]),
    Case(POWER, power("0", "1/9"), [approx("3", "1/8")], why="is at least"),
    Case(POWER, power("1", "1"), [approx("3", "1/8")]),
    Case(POWER, power("1", "999/1000"), [approx("3", "1/8")], why="is at least"),
    Case(POWER, power("2", "1"), [approx("3", "1/8")], why="must be from 0 to 1"),
    Case(POWER, power("1/2", "2"), [approx("3", "1/8")], why="must be from 0 to 1"),
    Case(POWER, gap("1"), [approx("3", "1/8")], why="the rule wants Power"),
    Case(POWER, power("1/2", "1"), [said("pure-dp", epsilon="1")], why="the rule wants ApproxDP"),
    Case(POWER, power("1/2", "1"), [approx("1", "0", steps=2)], why="different distance"),
    Case(POWER, power("1/2", "1", steps=2), [approx("1", "0", steps=2)]),
    Case(POWER, power("1/2", "1"), [approx("1", "0")], why="1 to 1 premises", twice=True),
    Case(POWER, power("1/2", "1"), [approx("1", "0")], {"order": "1"}, "unknown fields"),
    # tanh(1/2) = 0.462117...
    Case(GAP, gap("1/8"), [approx("0", "1/8")]),
    Case(GAP, gap("1/9"), [approx("0", "1/8")], why="is at least"),
    Case(GAP, gap("11553/25000"), [approx("1", "0")]),
    Case(GAP, gap("46211/100000"), [approx("1", "0")], why="is at least"),
    Case(GAP, gap("1"), [approx("1", "1")]),
    Case(GAP, gap("2"), [approx("1", "1")], why="must be from 0 to 1"),
    Case(GAP, power("0", "1"), [approx("1", "1")], why="the rule wants Advantage"),
    Case(GAP, gap("1"), [said("pure-dp", epsilon="1")], why="the rule wants ApproxDP"),
    Case(GAP, gap("1", relation="replace-one"), [approx("1", "0")], why="another relation"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases(case: Case) -> None:
    """Accepted where the bound holds, refused with the reason otherwise."""
    case.holds()


def test_no_attack_on_a_small_mechanism_is_better() -> None:
    """Every event of every pair of laws in sixths keeps below what their deltas say."""
    laws = [(a, b, 6 - a - b) for a in range(7) for b in range(7 - a)]
    events = list(product((0, 1), repeat=3))
    for p, q in product(laws, repeat=2):
        rates = [
            tuple(
                Fraction(sum(m for m, one in zip(law, event, strict=True) if one), 6)
                for law in (p, q)
            )
            for event in events
        ]
        for ratio in (Fraction(1), Fraction(2), Fraction(5)):  # e^epsilon
            both = [*rates, *((y, x) for x, y in rates)]
            delta = max(*(x - ratio * y for x, y in both), Fraction(0))
            for true, false in both:
                assert true <= ratio * false + delta
                assert true <= 1 - (1 - false - delta) / ratio
                assert true - false <= delta + (1 - delta) * (ratio - 1) / (ratio + 1)


def test_words() -> None:
    """What is claimed is said with its numbers."""
    assert Power(Fraction(1, 4), Fraction(1, 2)).describe() == (
        "open to true-positive rates of at most 0.5 at a false-positive rate of 0.25"
    )
    assert Advantage(Fraction(1, 4)).describe() == "open to an advantage of at most 0.25"
    assert {POWER, GAP} <= set(RULES)
