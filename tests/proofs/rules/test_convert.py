"""Conversions between notions."""

from __future__ import annotations

import pytest

from dpproof.proofs import Rejected, Step, VerifiedUnder, check
from tests.proofs.support import (
    Case,
    Object,
    certificate,
    fact,
    factor,
    facts,
    gaussian,
    pairs,
    said,
    stated,
)

OTHER = "not the one that follows"
PURE, GDP, ZCDP = said("pure-dp", epsilon="1"), said("gdp", mu_squared="1"), said("zcdp", rho="1")
RANGE = said("bounded-range", epsilon="1")
METRIC = said("metric-dp", epsilon="1")
ORDER, ONE_ORDER = {"order": "8"}, {"order": "1"}


def approx(epsilon: str, delta: str) -> Object:
    """An (epsilon, delta) statement."""
    return said("approx-dp", epsilon=epsilon, delta=delta)


def listed(notion: str, *points: tuple[str, str]) -> Object:
    """Points of a curve."""
    return said(notion, points=[list(point) for point in points])


EXACT = [
    Case("convert/pure-zcdp", said("zcdp", rho="1/3"), [ZCDP], why="wants PureDP"),
    Case("convert/pure-zcdp", said("zcdp", rho="0"), [PURE], why="rho is at"),
    Case("convert/bounded-range-zcdp", said("zcdp", rho="1/8"), [PURE], why="wants BoundedRange"),
    Case("convert/pure-approx", approx("1", "0"), [PURE]),
    Case("convert/pure-approx", approx("1/2", "0"), [PURE], why=OTHER),
    Case("convert/approx-pure", PURE, [approx("1", "0")]),
    Case("convert/approx-pure", PURE, [approx("1", "1/9")], why="above 0"),
    Case("convert/approx-pure", PURE, [approx("2", "0")], why=OTHER),
    Case("convert/bounded-range-pure", PURE, [RANGE]),
    Case("convert/bounded-range-pure", said("pure-dp", epsilon="1/2"), [RANGE], why=OTHER),
    Case("convert/pure-bounded-range", said("bounded-range", epsilon="2"), [PURE]),
    Case("convert/pure-bounded-range", RANGE, [PURE], why=OTHER),
    Case("convert/metric-pure", PURE, [METRIC]),
    Case("convert/metric-pure", said("pure-dp", epsilon="1/2"), [METRIC], why=OTHER),
    Case("convert/metric-pure", PURE, [RANGE], why="wants MetricDP"),
    Case("convert/gdp-zcdp", said("zcdp", rho="1/2"), [GDP]),
    Case("convert/gdp-zcdp", said("zcdp", rho="1/3"), [GDP], why=OTHER),
    # tanh(1/2) = 0.46211715726...
    Case("convert/pure-zcdp", said("zcdp", rho="11552929/25000000"), [PURE]),
    Case("convert/pure-zcdp", said("zcdp", rho="9242343/20000000"), [PURE], why="rho is at"),
    Case("convert/pure-zcdp", said("zcdp", rho="1/2"), [PURE]),
    Case("convert/pure-zcdp", said("zcdp", rho="0"), [said("pure-dp", epsilon="0")]),
    Case("convert/bounded-range-zcdp", said("zcdp", rho="1/8"), [RANGE]),
    Case("convert/bounded-range-zcdp", said("zcdp", rho="31/250"), [RANGE], why="rho is at"),
    Case(
        "convert/bounded-range-zcdp",
        said("zcdp", rho="100"),
        [said("bounded-range", epsilon="100")],
    ),
    # At order 2 both ends of a range of 1 give 0.24022..., the line 1/4; above 8 the range is less
    Case("convert/bounded-range-rdp", listed("rdp", ("2", "1/4"), ("9", "1")), [RANGE]),
    Case("convert/bounded-range-rdp", listed("rdp", ("2", "961/4000"), ("9", "333/500")), [RANGE]),
    Case("convert/bounded-range-rdp", listed("rdp", ("2", "6/25")), [RANGE], why="divergence at"),
    Case(
        "convert/bounded-range-rdp",
        listed("rdp", ("2", "1/4"), ("9", "133/200")),
        [RANGE],
        why="divergence at order 9",
    ),
    Case(
        "convert/bounded-range-rdp", listed("rdp", ("2", "0")), [said("bounded-range", epsilon="0")]
    ),
    Case("convert/bounded-range-rdp", listed("rdp", ("2", "1")), [PURE], why="wants Bounded"),
    Case("convert/bounded-range-rdp", RANGE, [RANGE], why="wants RDP"),
    Case(
        "convert/bounded-range-rdp", listed("rdp", ("2", "0")), [RANGE], why="divergence at order 2"
    ),
    # mu = 2 Phi^-1(e/(1+e)) = 1.2320348..., mu^2 = 1.51791...
    Case("convert/pure-gdp", said("gdp", mu_squared="15180/10000"), [PURE], why="lowest terms"),
    Case("convert/pure-gdp", said("gdp", mu_squared="759/500"), [PURE]),
    Case("convert/pure-gdp", said("gdp", mu_squared="1517/1000"), [PURE], why="Phi(-mu/2)"),
    Case("convert/pure-gdp", said("gdp", mu_squared="0"), [said("pure-dp", epsilon="0")]),
    Case("convert/pure-gdp", said("gdp", mu_squared="0"), [PURE], why="Phi(-mu/2)"),
    Case("convert/point", approx("2", "1/9"), [PURE]),
    Case("convert/point", approx("1", "0"), [RANGE]),
    Case("convert/point", approx("1", "1/9"), [approx("1", "1/10")]),
    Case("convert/point", approx("1", "1/9"), [approx("1", "1/8")], why="no such point"),
    Case("convert/point", approx("1/2", "1/9"), [PURE], why="no such point"),
    Case(
        "convert/point", approx("1", "1/9"), [listed("privacy-profile", ("0", "1/2"), ("1", "1/9"))]
    ),
    Case(
        "convert/point",
        approx("1", "1/10"),
        [listed("privacy-profile", ("1", "1/9"))],
        why="no such point",
    ),
    Case("convert/point", approx("1", "1"), [GDP], why="no such point"),
]

HALF = listed("privacy-profile", ("0", "1/2"))
KNOWN = listed("privacy-profile", ("0", "1/2"), ("1", "1/8"))
POLYGONS = [
    Case("convert/profile-trade-off", listed("trade-off", ("0", "1/2"), ("1/2", "0")), [HALF]),
    # Slopes 3 > e and 1/3 < 1/e, intercepts 7/8 and 7/24.
    Case(
        "convert/profile-trade-off",
        listed("trade-off", ("0", "7/8"), ("7/32", "7/32"), ("7/8", "0")),
        [KNOWN],
    ),
    Case(
        "convert/profile-trade-off",
        listed("trade-off", ("0", "8/9"), ("2/9", "2/9"), ("8/9", "0")),
        [KNOWN],
        why="not below",
    ),
    Case(
        "convert/profile-trade-off",
        listed("trade-off", ("0", "7/8"), ("7/24", "7/24"), ("7/8", "0")),
        [KNOWN],
        why="not below",
    ),
    Case(
        "convert/profile-trade-off",
        listed("trade-off", ("0", "0"), ("1", "0")),
        [HALF],
        why="not below",
    ),
    Case("convert/profile-trade-off", listed("trade-off", ("0", "0")), [HALF]),
]

RENYI = [
    Case("convert/zcdp-rdp", listed("rdp", ("2", "2"), ("3", "3")), [ZCDP]),
    Case("convert/zcdp-rdp", listed("rdp", ("2", "2"), ("3", "2")), [ZCDP], why="below rho"),
    Case("convert/rdp-rdp", listed("rdp", ("2", "1")), [listed("rdp", ("2", "1"), ("3", "2"))]),
    Case(
        "convert/rdp-rdp",
        listed("rdp", ("2", "1/2")),
        [listed("rdp", ("2", "1"), ("3", "2"))],
        why="below what is known",
    ),
    # e^{7 (R - 20)} (7/8)^8 / 7, R = 8: about 1.6e-38
    Case(
        "convert/renyi-approx",
        approx("20", "1/10000000000000000000000000000000000000"),
        [ZCDP],
        ORDER,
    ),
    Case(
        "convert/renyi-approx",
        approx("10", "1/10000000000000000000000"),
        [ZCDP],
        ORDER,
        "delta is at least",
    ),
    Case("convert/renyi-approx", approx("10", "1/1000"), [listed("rdp", ("8", "8"))], ORDER),
    Case(
        "convert/renyi-approx",
        approx("10", "1/1000"),
        [listed("rdp", ("7", "1"))],
        ORDER,
        "above all",
    ),
    Case("convert/renyi-approx", approx("10", "1/1000"), [ZCDP], {"order": "1/2"}, "or above 1"),
    # Total variation: sqrt(1/18) = 0.2357..., and sqrt(1 - e^-4) = 0.99079... below sqrt(2)
    Case("convert/renyi-approx", approx("0", "59/250"), [said("zcdp", rho="1/9")], {"order": "1"}),
    Case(
        "convert/renyi-approx",
        approx("0", "47/200"),
        [said("zcdp", rho="1/9")],
        {"order": "1"},
        "delta is at least",
    ),
    Case("convert/renyi-approx", approx("0", "991/1000"), [listed("rdp", ("9", "4"))], ONE_ORDER),
    Case(
        "convert/renyi-approx",
        approx("0", "99/100"),
        [listed("rdp", ("9", "4"))],
        ONE_ORDER,
        "delta is at least",
    ),
    Case("convert/renyi-approx", approx("10", "1/1000"), [GDP], ORDER, "zCDP or Renyi"),
    Case(
        "convert/renyi-profile",
        listed("privacy-profile", ("10", "1/1000"), ("11", "1/1000")),
        [ZCDP],
        {"orders": ["8", "8"]},
    ),
    Case(
        "convert/renyi-profile",
        listed("privacy-profile", ("10", "1/1000"), ("11", "1/1000")),
        [ZCDP],
        {"orders": ["8"]},
        "one order a point",
    ),
    Case(
        "convert/renyi-profile",
        listed("privacy-profile", ("2", "1/1000")),
        [ZCDP],
        {"orders": ["8"]},
        "at least",
    ),
]


ONE = {"orders": [{"forward": [None]}]}
BOTH = {"orders": [{"forward": [None], "backward": [None]}]}
TWO_WAYS = pairs([gaussian("1", 2)], [gaussian("2")])
TELLING = pairs([factor("finite", p=["1/2", "1/2"], q=["1", "0"])])

PAIRS = [
    Case(
        "convert/pair-rdp",
        listed("rdp", ("3", "3")),
        [pairs([gaussian("1", 2)])],
        ONE,
        "do not decide",
    ),
    Case("convert/pair-rdp", listed("rdp", ("3", "31/10")), [pairs([gaussian("1", 2)])], ONE),
    Case(
        "convert/pair-rdp",
        listed("rdp", ("3", "29/10")),
        [pairs([gaussian("1", 2)])],
        ONE,
        "is at least",
    ),
    Case("convert/pair-rdp", listed("rdp", ("3", "31/10")), [TWO_WAYS], BOTH),
    Case("convert/pair-rdp", listed("rdp", ("3", "31/10")), [TWO_WAYS], ONE, "has no backward"),
    Case(
        "convert/pair-rdp",
        listed("rdp", ("3", "31/10")),
        [TWO_WAYS],
        {"orders": []},
        "one witness an order",
    ),
    Case(
        "convert/pair-rdp",
        listed("rdp", ("3", "31/10")),
        [pairs([gaussian("1", 2)])],
        {"orders": [{"forward": []}]},
        "one witness for each pair",
    ),
    Case(
        "convert/pair-rdp",
        listed("rdp", ("3", "31/10")),
        [pairs([gaussian("1", 2)])],
        {"orders": [{"forward": ["5"]}]},
        "takes null",
    ),
    Case(
        "convert/pair-rdp",
        listed("rdp", ("3", "31/10")),
        [pairs([gaussian("1", 2)])],
        {"orders": [{"forward": [5]}]},
        "no earlier place",
    ),
    Case("convert/pair-rdp", listed("rdp", ("3", "99")), [TELLING], ONE, "infinite"),
    Case("convert/pair-pure", PURE, [pairs([factor("laplace", 2, epsilon="1/2")])]),
    Case(
        "convert/pair-pure",
        said("pure-dp", epsilon="9/10"),
        [pairs([factor("laplace", 2, epsilon="1/2")], [])],
        why="the largest loss is",
    ),
    Case(
        "convert/pair-pure",
        said("pure-dp", epsilon="9/10"),
        [pairs([], [factor("laplace", 2, epsilon="1/2")])],
        why="the largest loss is",
    ),
    Case("convert/pair-pure", PURE, [TELLING], why="a loss is infinite"),
    Case("convert/pair-pure", PURE, [pairs([gaussian("1")])], why="no bound"),
    Case("convert/pair-rdp", listed("rdp", ("3", "0")), [pairs([])], {"orders": [{"forward": []}]}),
]


@pytest.mark.parametrize("case", [*EXACT, *POLYGONS, *RENYI, *PAIRS], ids=str)
def test_conversions(case: Case) -> None:
    """Every conversion is accepted with what it gives and with nothing smaller."""
    case.holds()


def _closed(product: list[Object], epsilon: str, delta: str) -> Step:
    said_fact = fact(product, epsilon, delta)
    return Step(rule="hockey-stick/closed", premises=(), witness={}, conclusion=said_fact)


FORWARD, BACKWARD = [gaussian("1")], [gaussian("1/2")]
LEFT = _closed(FORWARD, "1", "1/2")
RIGHT = _closed(BACKWARD, "1", "1/2")


BOTH_WAYS = [stated(facts(way, ("1", "1/2"), ("2", "1/3"))) for way in (FORWARD, BACKWARD)]
POINTS: list[tuple[Object, list[Step], str]] = [
        (approx("1", "1/2"), [LEFT, RIGHT], ""),
        (approx("1", "1/2"), [LEFT], "no bound of each direction"),
        (approx("1", "1/2"), [RIGHT, LEFT], "no bound of each direction"),
        (approx("1", "1/2"), [LEFT, LEFT], "no bound of each direction"),
        (approx("1", "1/2"), [LEFT, RIGHT, RIGHT], "no bound of each direction"),
        (approx("1/2", "1/2"), [LEFT, RIGHT], "no bound of each direction"),
        (approx("1", "1/3"), [LEFT, RIGHT], "no bound of each direction"),
        (approx("1", "1/2"), [], "no bound of each direction"),
        (listed("privacy-profile", ("1", "1/2")), [LEFT, RIGHT], ""),
        (listed("privacy-profile", ("1", "1/2")), [RIGHT, LEFT], ""),
        (listed("privacy-profile", ("3/2", "1/2"), ("2", "2/3")), [LEFT, RIGHT], ""),
        (listed("privacy-profile", ("1", "1/2"), ("2", "1/3")),
         [LEFT, _closed(FORWARD, "2", "1/3"), RIGHT, _closed(BACKWARD, "2", "1/3")], ""),
        (listed("privacy-profile", ("1", "1/2"), ("2", "1/3")), [BOTH_WAYS[0], BOTH_WAYS[1]], ""),
        (listed("privacy-profile", ("1", "1/2"), ("2", "1/4")), BOTH_WAYS, "no bound of each"),
        (listed("privacy-profile", ("1/2", "1/2")), BOTH_WAYS, "no bound of each"),
        (listed("privacy-profile", ("1", "1/2"), ("2", "1/3")), [LEFT, RIGHT], "no bound of each"),
        (listed("privacy-profile", ("1", "1/2")), [LEFT], "each once"),
        (listed("privacy-profile", ("1", "1/2")), [LEFT, RIGHT, RIGHT], "each once"),
        (listed("privacy-profile", ("1", "1/2")), [*BOTH_WAYS, _closed([], "1", "0")], "each once"),
        (listed("privacy-profile", ("1", "1/2")), [], "each once"),
    ]  # fmt: skip


def check_points(conclusion: Object, facts: list[Step], why: str) -> None:
    """Assert what the checker says of pairs and facts about them."""
    rule = "convert/pair-" + ("approx" if conclusion["notion"] == "approx-dp" else "profile")
    places = tuple(range(len(facts) + 1))
    last = Step(rule=rule, premises=places, witness={}, conclusion=conclusion)
    verdict = check(certificate(stated(pairs(FORWARD, BACKWARD)), *facts, last))

    if why:
        assert isinstance(verdict, Rejected)
        assert why in verdict.reason
    else:
        assert isinstance(verdict, VerifiedUnder), verdict


@pytest.mark.parametrize(("conclusion", "facts", "why"), POINTS)
def test_bounds_of_both_directions(conclusion: Object, facts: list[Step], why: str) -> None:
    """A point needs the bound of every direction at exactly that point, in order."""
    check_points(conclusion, facts, why)


EXTRA = [stated(GDP), stated(pairs(FORWARD)), stated(pairs(FORWARD, steps=2))]


@pytest.mark.parametrize("extra", EXTRA, ids=lambda step: step.rule)
def test_points_need_one_pair_about_the_same_datasets(extra: Step) -> None:
    """Another statement among the premises is refused."""
    premises = [stated(pairs(FORWARD, BACKWARD)), LEFT, RIGHT, extra]
    last = Step(
        rule="convert/pair-approx", premises=(0, 1, 2, 3), witness={}, conclusion=approx("1", "1/2")
    )

    verdict = check(certificate(*premises, last))

    assert isinstance(verdict, Rejected)
    assert verdict.step == 4


RESTRICT_ONE, LABEL = {"relation": "replace-one"}, {"relation": "replace-label"}


def gdp(mu_squared: str, **kw: object) -> Object:
    """A GDP statement."""
    return said("gdp", mu_squared=mu_squared, **kw)  # type: ignore[arg-type]


CASES = [
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1", **RESTRICT_ONE)]),
    Case("restrict/relation", gdp("1", steps=3, **LABEL), [gdp("1", steps=3, **RESTRICT_ONE)]),
    Case(
        "restrict/relation", gdp("1/2", **LABEL), [gdp("1", **RESTRICT_ONE)], why="not the premise"
    ),
    Case(
        "restrict/relation",
        said("zcdp", rho="1", **LABEL),  # type: ignore[arg-type]
        [gdp("1", **RESTRICT_ONE)],
        why="not the premise",
    ),
    Case("restrict/relation", gdp("1", **RESTRICT_ONE), [gdp("1", **LABEL)], why="leads from"),
    Case("restrict/relation", gdp("1", **RESTRICT_ONE), [gdp("1", steps=2)], {"size": 2}),
    Case("restrict/relation", gdp("1", **RESTRICT_ONE), [gdp("1")], {"size": 2}, "distance"),
    Case("restrict/relation", gdp("1", **RESTRICT_ONE), [gdp("1", steps=2)], why="leads from"),
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1", steps=2)], {"size": 2}, "leads from"),
    Case(
        "restrict/relation", gdp("1", **RESTRICT_ONE), [gdp("1", **RESTRICT_ONE)], why="leads from"
    ),
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1")], why="leads from"),
    Case("restrict/relation", gdp("1", **LABEL), [gdp("1", relation="zero-out")], why="leads from"),
    Case(
        "restrict/relation", gdp("1", steps=2, **LABEL), [gdp("1", **RESTRICT_ONE)], why="distance"
    ),
    Case("restrict/relation", gdp("1", **LABEL), [], why="takes 1 to 1"),
    Case(
        "restrict/relation", gdp("1", **LABEL), [gdp("1", **RESTRICT_ONE)] * 2, why="takes 1 to 1"
    ),
    Case(
        "compose/gdp",
        gdp("2", **LABEL),
        [gdp("1", **RESTRICT_ONE), gdp("1", **LABEL)],
        why="relation",
    ),
    Case(
        "parallel/position",
        gdp("3", **RESTRICT_ONE),
        [gdp("1", **RESTRICT_ONE), gdp("3", **RESTRICT_ONE)],
    ),
    Case("parallel/position", gdp("3", **LABEL), [gdp("3", **LABEL), gdp("3", **LABEL)]),
    Case("parallel/position", gdp("1", relation="zero-out"), [gdp("1", relation="zero-out")]),
    Case(
        "parallel/position",
        gdp("2", **RESTRICT_ONE),
        [gdp("1", **RESTRICT_ONE), gdp("3", **RESTRICT_ONE)],
        why="follows",
    ),
    Case(
        "parallel/position",
        gdp("4", **RESTRICT_ONE),
        [gdp("1", **RESTRICT_ONE), gdp("3", **RESTRICT_ONE)],
        why="follows",
    ),
    Case("parallel/position", gdp("3"), [gdp("1"), gdp("3")], why="move up"),
    Case(
        "parallel/position",
        gdp("3", steps=2, **RESTRICT_ONE),
        [gdp("3", steps=2, **RESTRICT_ONE)],
        why="several",
    ),
    Case(
        "parallel/position",
        gdp("3", **RESTRICT_ONE),
        [gdp("3", **RESTRICT_ONE), said("zcdp", rho="1", **RESTRICT_ONE)],  # type: ignore[arg-type]
        why="different notions",
    ),
    Case(
        "parallel/position",
        said("bounded-range", epsilon="1", **RESTRICT_ONE),  # type: ignore[arg-type]
        [said("bounded-range", epsilon="1", **RESTRICT_ONE)] * 2,  # type: ignore[arg-type]
        why="only",
    ),
    Case("compose/gdp", gdp("2", **LABEL), [gdp("1", **LABEL), gdp("1", **LABEL)]),
    Case("parallel", gdp("1", **LABEL), [gdp("1", **LABEL)], why="from one part to another"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restriction(case: Case) -> None:
    """Only a restriction crosses relations; parts by position have the largest parameter."""
    case.holds()
