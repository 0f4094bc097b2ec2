"""Group privacy: the statement changes, and so does the distance it speaks of."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, factor, gaussian, pairs, said

OTHER = "not the one that follows"
TWO = {"size": 2}


def approx(epsilon: str, delta: str, steps: int = 1) -> Object:
    """An (epsilon, delta) statement."""
    return said("approx-dp", epsilon=epsilon, delta=delta, steps=steps)


def rdp(*points: tuple[str, str], steps: int = 1) -> Object:
    """Renyi points."""
    return said("rdp", points=[list(point) for point in points], steps=steps)


def curve(*points: tuple[str, str], steps: int = 1) -> Object:
    """A trade-off."""
    return said("trade-off", points=[list(point) for point in points], steps=steps)


ANSWER = curve(("0", "1"), ("1/4", "1/4"), ("1", "0"))
CHAINED = (("0", "1"), ("1/12", "1/4"), ("1/4", "1/12"), ("1", "0"))
TOLD = curve(("0", "1/2"), ("1/2", "0"))
SAME, TRADE = ("0", "1"), "group/trade-off"
LAPLACE = factor("laplace", epsilon="1")
FLAT = rdp(("4", "1"))
LINE = rdp(("2", "2"), ("4", "4"))  # 1-zCDP, as far as it is listed

CASES = [
    Case(
        "group/metric-dp",
        said("metric-dp", epsilon="2", steps=2),
        [said("metric-dp", epsilon="1")],
        witness=TWO,
    ),
    Case(
        "group/metric-dp",
        said("metric-dp", epsilon="1", steps=2),
        [said("metric-dp", epsilon="1")],
        witness=TWO,
        why=OTHER,
    ),
    # Odds of 3 twice: 1 - f takes 1/12 to 1/4 and 1/4 to 3/4.
    Case(TRADE, curve(*CHAINED, steps=2), [ANSWER], twice=True),
    Case(TRADE, curve(SAME, ("1/12", "1/12"), ("1", "0"), steps=2), [ANSWER], twice=True),
    Case(
        TRADE,
        curve(SAME, ("1/8", "1/8"), ("1", "0"), steps=2),
        [ANSWER],
        why="not below",
        twice=True,
    ),
    Case(
        TRADE,
        curve(SAME, ("1/12", "251/1000"), ("1/4", "1/12"), ("1", "0"), steps=2),
        [ANSWER],
        why="not below",
        twice=True,
    ),
    Case(
        TRADE,
        curve(SAME, ("1/12", "1/4"), ("1/4", "43/500"), ("1", "0"), steps=2),
        [ANSWER],
        why="not below",
        twice=True,
    ),
    Case(TRADE, curve(*CHAINED, steps=2), [ANSWER, ANSWER], why="of one mechanism"),
    Case(TRADE, curve(*CHAINED, steps=2), [ANSWER], why="two trade-offs"),
    Case(TRADE, curve(*CHAINED, steps=2), [said("gdp", mu_squared="1")], why="two", twice=True),
    Case(TRADE, curve(*CHAINED, steps=3), [ANSWER], why="another distance", twice=True),
    Case(TRADE, said("gdp", mu_squared="9", steps=2), [ANSWER], why="wants TradeOff", twice=True),
    # Half told at each step: after two all may be.
    Case(TRADE, curve(("0", "0"), steps=2), [TOLD], twice=True),
    Case(TRADE, curve(("0", "1/9"), ("1/9", "0"), steps=2), [TOLD], why="not below", twice=True),
    Case(TRADE, curve(("0", "0"), steps=4), [curve(("0", "0"), steps=2)], twice=True),
    Case(
        TRADE,
        curve(("0", "1/2"), ("3/4", "0"), ("1", "0"), steps=2),
        [curve(("0", "3/4"), ("1/2", "1/4"), ("3/4", "0"), ("1", "0"))],
        twice=True,
        why="not below",
    ),
    Case("group/approx-dp", approx("2", "1", 3), [approx("1", "1/2")], TWO, "another distance"),
    Case(
        "group/pair",
        pairs([factor("discrete-laplace", scale="3", shift=2)], steps=2),
        [pairs([factor("discrete-laplace", scale="3", shift=2)])],
        TWO,
        OTHER,
    ),
    Case(
        "group/pure-dp", said("pure-dp", epsilon="2", steps=2), [said("pure-dp", epsilon="1")], TWO
    ),
    Case(
        "group/pure-dp",
        said("pure-dp", epsilon="1", steps=2),
        [said("pure-dp", epsilon="1")],
        TWO,
        OTHER,
    ),
    Case(
        "group/pure-dp",
        said("pure-dp", epsilon="2"),
        [said("pure-dp", epsilon="1")],
        TWO,
        "another distance",
    ),
    Case(
        "group/pure-dp",
        said("pure-dp", epsilon="6", steps=6),
        [said("pure-dp", epsilon="2", steps=2)],
        {"size": 3},
    ),
    Case(
        "group/pure-dp",
        said("pure-dp", epsilon="2", steps=2),
        [said("zcdp", rho="1")],
        TWO,
        "not PureDP",
    ),
    Case("group/pure-dp", said("pure-dp", epsilon="2", steps=2), [], TWO, "one premise"),
    Case(
        "group/pure-dp", said("pure-dp", epsilon="1"), [said("pure-dp", epsilon="1")], {"size": 1}
    ),
    Case(
        "group/pure-dp",
        said("pure-dp", epsilon="1"),
        [said("pure-dp", epsilon="1")],
        {"size": 0},
        "whole number",
    ),
    Case(
        "group/bounded-range",
        said("bounded-range", epsilon="2", steps=2),
        [said("bounded-range", epsilon="1")],
        TWO,
    ),
    Case(
        "group/bounded-range",
        said("bounded-range", epsilon="1", steps=2),
        [said("bounded-range", epsilon="1")],
        TWO,
        OTHER,
    ),
    Case("group/gdp", said("gdp", mu_squared="4", steps=2), [said("gdp", mu_squared="1")], TWO),
    Case(
        "group/gdp", said("gdp", mu_squared="2", steps=2), [said("gdp", mu_squared="1")], TWO, OTHER
    ),
    Case("group/zcdp", said("zcdp", rho="4", steps=2), [said("zcdp", rho="1")], TWO),
    Case("group/zcdp", said("zcdp", rho="2", steps=2), [said("zcdp", rho="1")], TWO, OTHER),
    Case("group/approx-dp", approx("2", "373/100000", 2), [approx("1", "1/1000")], TWO),
    Case(
        "group/approx-dp",
        approx("2", "371/100000", 2),
        [approx("1", "1/1000")],
        TWO,
        "delta is at least",
    ),
    Case("group/approx-dp", approx("0", "2/5", 2), [approx("0", "1/5")], TWO),
    Case("group/approx-dp", approx("0", "1/5", 2), [approx("0", "1/5")], TWO, "below"),
    Case("group/approx-dp", approx("2", "1", 2), [approx("1", "9/10")], TWO),
    Case("group/approx-dp", approx("2", "0", 2), [approx("1", "0")], TWO),
    Case("group/approx-dp", approx("1", "1/2", 2), [approx("1", "1/1000")], TWO, "epsilon"),
    # k = 2, a = 2: R(4) + 4/3 R(3), and 2 R(3) <= (2 + 12)/2 by convexity: 4 + 14/3.
    Case("group/rdp", rdp(("2", "26/3"), steps=2), [LINE], TWO),
    Case("group/rdp", rdp(("2", "25/3"), steps=2), [LINE], TWO, "below what is known"),
    # 5/2 at 3/2 and 7/3 at 2, which holds at 3/2 as well.
    Case("group/rdp", rdp(("3/2", "7/3"), ("2", "7/3"), steps=2), [FLAT], TWO),
    Case("group/rdp", rdp(("3/2", "7/3"), steps=2), [FLAT], TWO, "below what is known"),
    Case("group/rdp", rdp(("3/2", "2"), ("2", "7/3"), steps=2), [FLAT], TWO, "what is known"),
    Case("group/rdp", rdp(("5/2", "99"), steps=2), [LINE], TWO, "above all"),
    Case("group/rdp", rdp(("2", "8"), steps=2000), [LINE], {"size": 2000}, "at most 1000"),
    Case("group/pair", pairs([gaussian("4", 3)], steps=2), [pairs([gaussian("1", 3)])], TWO),
    Case("group/pair", pairs([gaussian("2", 3)], steps=2), [pairs([gaussian("1", 3)])], TWO, OTHER),
    Case("group/pair", pairs([factor("laplace", epsilon="2")], steps=2), [pairs([LAPLACE])], TWO),
    Case(
        "group/pair",
        pairs([factor("logistic", epsilon="2")], steps=2),
        [pairs([factor("logistic", epsilon="1")])],
        TWO,
    ),
    Case(
        "group/pair",
        pairs([factor("discrete-laplace", scale="3", shift=4)], steps=2),
        [pairs([factor("discrete-laplace", scale="3", shift=2)])],
        TWO,
    ),
    Case(
        "group/pair",
        pairs([factor("discrete-gaussian", sigma_squared="3", shift=4)], steps=2),
        [pairs([factor("discrete-gaussian", sigma_squared="3", shift=2)])],
        TWO,
    ),
    Case("group/pair", pairs([LAPLACE], steps=2), [pairs([LAPLACE])], TWO, OTHER),
    Case(
        "group/pair",
        pairs([factor("laplace", epsilon="2")], steps=2),
        [pairs([factor("laplace", 2, epsilon="1")])],
        TWO,
        "once",
    ),
    Case(
        "group/pair",
        pairs([LAPLACE], steps=2),
        [pairs([LAPLACE], [gaussian("1")])],
        TWO,
        "same pair",
    ),
    Case("group/pair", pairs([], steps=2), [pairs([])], TWO),
    Case(
        "group/pair",
        pairs([factor("finite", p=["1"], q=["1"])], steps=2),
        [pairs([factor("finite", p=["1"], q=["1"])])],
        TWO,
        "no theorem shifts",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_groups(case: Case) -> None:
    """Every rule scales as its theorem says and no less, and speaks of the larger distance."""
    case.holds()
