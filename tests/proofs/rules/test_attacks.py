"""What an attacker can reach, from one point of the profile."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpproof.proofs.core.statements import Advantage, Power
from dpproof.proofs.rules import RULES
from tests.proofs.support import Case, Object, said

POWER, GAP = "convert/approx-true-positive-rate", "convert/approx-advantage"
FAR = "convert/renyi-true-positive-rate"
RHO = said("zcdp", rho="1/8")
CURVE = said("rdp", points=[["2", "1/4"], ["3", "1"]])
TWO: Object = {"order": "2"}


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
    # 10 b^2 + (1 - b)^2/0.9 = e^(1/4) at b = 0.25988, and 1/(4 b (1 - b)) = e^(1/4) at 0.73518
    Case(FAR, power("1/10", "13/50"), [RHO], TWO),
    Case(FAR, power("1/10", "259/1000"), [RHO], TWO, "is at least"),
    Case(FAR, power("1/10", "13/50"), [CURVE], TWO),
    Case(FAR, power("1/10", "259/1000"), [CURVE], TWO, "is at least"),
    Case(FAR, power("1/10", "13/50"), [CURVE], {"order": "3"}, "is at least"),
    Case(FAR, power("1/10", "13/50"), [CURVE], {"order": "4"}, "above all that are listed"),
    Case(FAR, power("1/2", "92/125"), [RHO], TWO),
    Case(FAR, power("1/2", "147/200"), [RHO], TWO, "is at least"),
    Case(FAR, power("1/10", "13/50"), [RHO], {"order": "1"}, "an order above 1"),
    Case(FAR, power("1/10", "13/50"), [RHO], {"order": "1/2"}, "at or above 1"),
    Case(FAR, power("0", "1/2"), [RHO], TWO, "0 < a <= b < 1"),
    Case(FAR, power("1/2", "1"), [RHO], TWO, "0 < a <= b < 1"),
    Case(FAR, power("1/2", "1/4"), [RHO], TWO, "0 < a <= b < 1"),
    Case(FAR, power("1/10", "13/50"), [approx("1", "0")], TWO, "zCDP or Renyi"),
    Case(FAR, power("1/10", "13/50"), [RHO, RHO], TWO, "1 to 1 premises"),
    Case(FAR, gap("1/2"), [RHO], TWO, "the rule wants Power"),
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


def test_no_event_is_farther_than_its_laws() -> None:
    """At order 2 and 3 the sum over an event and its rest is at most that over all outcomes."""
    laws = [(a, b, 7 - a - b) for a in range(1, 6) for b in range(1, 7 - a)]
    for p, q in product(laws, repeat=2):
        for order in (2, 3):
            whole = sum(
                Fraction(x, 7) ** order / Fraction(y, 7) ** (order - 1)
                for x, y in zip(p, q, strict=True)
            )
            for event in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)):
                b, a = (Fraction(sum(law[k] for k in event), 7) for law in (p, q))
                apart = b**order / a ** (order - 1) + (1 - b) ** order / (1 - a) ** (order - 1)
                assert apart <= whole


def test_words() -> None:
    """What is claimed is said with its numbers."""
    assert Power(Fraction(1, 4), Fraction(1, 2)).describe() == (
        "open to true-positive rates of at most 0.5 at a false-positive rate of 0.25"
    )
    assert Advantage(Fraction(1, 4)).describe() == "open to an advantage of at most 0.25"
    assert {POWER, GAP, FAR} <= set(RULES)
