"""Composition, repetition, disjoint parts and post-processing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.proofs import VerifiedUnder
from dpproof.proofs.core.rule import ALONE, FRESH
from dpproof.proofs.rules.compose import look_up
from tests.proofs.support import Case, Object, factor, gaussian, pairs, said

OTHER = "not the one that follows"
AT_ONCE = "compose/concurrent"
LAPLACE = factor("laplace", epsilon="1/2")


def gdp(mu_squared: str, **kw: object) -> Object:
    """A GDP statement."""
    return said("gdp", mu_squared=mu_squared, **kw)  # type: ignore[arg-type]


def rdp(*points: tuple[str, str]) -> Object:
    """Renyi points."""
    return said("rdp", points=[list(point) for point in points])


def profile(*points: tuple[str, str]) -> Object:
    """Profile points."""
    return said("privacy-profile", points=[list(point) for point in points])


def approx(epsilon: str, delta: str) -> Object:
    """An (epsilon, delta) statement."""
    return said("approx-dp", epsilon=epsilon, delta=delta)


TINY = [rdp(("2", f"1/{10**1000 + k}")) for k in range(1, 20)]


COMPOSE = [
    Case("compose/rdp", rdp(("2", "1/1000")), TINY),
    Case("compose/rdp", rdp(("2", "0")), TINY, why="only known to be at most 1.9"),
    Case("compose/rdp", rdp(("2", "2")), [gdp("1"), gdp("1")], why="wants RDP"),
    Case("compose/gdp", gdp("3"), [gdp("1"), gdp("2")]),
    Case("compose/gdp", gdp("2"), [gdp("1"), gdp("2")], why=OTHER),
    Case("compose/gdp", gdp("1"), [gdp("1")], why="takes 2 to"),
    Case("compose/gdp", gdp("3"), [], why="takes 2 to"),
    Case("compose/gdp", gdp("3"), [gdp("1"), said("zcdp", rho="2")], why="the rule wants GDP"),
    Case("compose/gdp", gdp("3"), [gdp("1", steps=2), gdp("2")], why="different distance"),
    Case("compose/gdp", gdp("3", steps=2), [gdp("1"), gdp("2")], why="different distance"),
    Case("compose/gdp", gdp("3", relation="zero-out"), [gdp("1"), gdp("2")], why="relation"),
    Case(
        "compose/gdp",
        gdp("3"),
        [gdp("1"), gdp("2", relation="replace-one")],
        why="another relation",
    ),
    Case("compose/zcdp", said("zcdp", rho="3"), [said("zcdp", rho="1"), said("zcdp", rho="2")]),
    Case(
        "compose/zcdp",
        said("zcdp", rho="2"),
        [said("zcdp", rho="1"), said("zcdp", rho="2")],
        why=OTHER,
    ),
    Case(
        "compose/rdp",
        rdp(("2", "3"), ("3", "5")),
        [rdp(("2", "1"), ("3", "2"))] * 1 + [rdp(("2", "2"), ("3", "3"))],
    ),
    Case("compose/rdp", rdp(("2", "3")), [rdp(("2", "1"), ("3", "2")), rdp(("2", "2"))]),
    Case(AT_ONCE, gdp("3"), [gdp("1"), gdp("2")]),
    Case(AT_ONCE, gdp("2"), [gdp("1"), gdp("2")], why=OTHER),
    Case(AT_ONCE, gdp("6"), [gdp("2")], {"count": 3}),
    Case(AT_ONCE, gdp("1"), [gdp("1")], why="takes 2 to"),
    Case(AT_ONCE, said("zcdp", rho="2"), [said("zcdp", rho="1")], {"count": 3}, OTHER),
    Case(AT_ONCE, said("zcdp", rho="3"), [said("zcdp", rho="1"), said("zcdp", rho="2")]),
    Case(AT_ONCE, rdp(("2", "3")), [rdp(("2", "1"), ("3", "2")), rdp(("2", "2"))]),
    Case(AT_ONCE, rdp(("2", "2")), [rdp(("2", "1")), rdp(("2", "2"))], why="at most 3"),
    Case(AT_ONCE, pairs([gaussian("1", 2)]), [pairs([gaussian("1")]), pairs([gaussian("1")])]),
    Case(
        AT_ONCE, pairs([gaussian("1")]), [pairs([gaussian("1")]), pairs([gaussian("1")])], why=OTHER
    ),
    Case(
        AT_ONCE,
        said("pure-dp", epsilon="3"),
        [said("pure-dp", epsilon="1"), said("pure-dp", epsilon="2")],
        why="the rule is about gdp",
    ),
    # Convexity: (a - 1) R(a) at order 2 lies at most halfway to that at order 3.
    Case("compose/rdp", rdp(("2", "2")), [rdp(("3", "1")), rdp(("3", "1"))]),
    Case("compose/rdp", rdp(("2", "2")), [rdp(("2", "9"), ("3", "1")), rdp(("3", "1"))]),
    Case(
        "compose/rdp",
        rdp(("2", "1")),
        [rdp(("3", "1")), rdp(("3", "1"))],
        why="only known to be at most 2",
    ),
    Case("compose/rdp", rdp(("3", "3")), [rdp(("3", "1")), rdp(("2", "1"))], why="above all"),
    Case("compose/rdp", rdp(("2", "2")), [rdp(("2", "1")), rdp(("2", "2"))], why="at most 3"),
    Case(
        "compose/pair",
        pairs([gaussian("1", 3), LAPLACE]),
        [pairs([gaussian("1")]), pairs([LAPLACE, gaussian("1", 2)])],
        why="",
    ),
    Case(
        "compose/pair",
        pairs([gaussian("1"), LAPLACE], [LAPLACE]),
        [pairs([gaussian("1")], []), pairs([LAPLACE])],
    ),
    Case(
        "compose/pair",
        pairs([LAPLACE], [gaussian("1"), LAPLACE]),
        [pairs([gaussian("1")], []), pairs([LAPLACE])],
        why=OTHER,
    ),
    Case(
        "compose/pair",
        pairs([gaussian("1")]),
        [pairs([gaussian("1")]), pairs([LAPLACE])],
        why=OTHER,
    ),
    Case("compose/gdp", gdp("6"), [gdp("2")], {"count": 3}),
    Case("compose/gdp", gdp("4"), [gdp("2")], {"count": 3}, OTHER),
    Case("compose/gdp", gdp("2"), [gdp("2")], {"count": 1}, "count must be a whole number"),
    Case("compose/gdp", gdp("2"), [gdp("2")], {"count": True}, "count must be a whole number"),
    Case("compose/gdp", gdp("2"), [gdp("2")], {"count": "3"}, "count must be a whole number"),
    Case("compose/gdp", gdp("6"), [gdp("2"), gdp("2")], {"count": 3}, "takes 1 to 1"),
    Case("compose/zcdp", said("zcdp", rho="6"), [said("zcdp", rho="2")], {"count": 3}),
    Case("compose/zcdp", said("zcdp", rho="5"), [said("zcdp", rho="2")], {"count": 3}, OTHER),
    Case("compose/rdp", rdp(("2", "3")), [rdp(("2", "1"), ("3", "2"))], {"count": 3}),
    Case("compose/rdp", rdp(("2", "2")), [rdp(("2", "1"))], {"count": 3}, "at most 3"),
    Case("compose/pair", pairs([gaussian("1", 6)]), [pairs([gaussian("1", 2)])], {"count": 3}),
    Case(
        "compose/pair", pairs([gaussian("1", 5)]), [pairs([gaussian("1", 2)])], {"count": 3}, OTHER
    ),
    Case(
        "compose/pair",
        pairs([gaussian("1", 6)], [LAPLACE]),
        [pairs([gaussian("1", 2)], [LAPLACE])],
        {"count": 3},
        OTHER,
    ),
]

PARALLEL = [
    Case("parallel", gdp("2"), [gdp("1"), gdp("2")]),
    Case("parallel", gdp("1"), [gdp("1"), gdp("2")], why=OTHER),
    Case("parallel", said("pure-dp", epsilon="2"), [said("pure-dp", epsilon=e) for e in "12"]),
    Case("parallel", said("zcdp", rho="2"), [said("zcdp", rho=e) for e in "12"]),
    Case("parallel", said("metric-dp", epsilon="2"), [said("metric-dp", epsilon=e) for e in "12"]),
    Case(
        "parallel",
        said("bounded-range", epsilon="2"),
        [said("bounded-range", epsilon=e) for e in "12"],
    ),
    Case("parallel", approx("2", "1/4"), [approx("1", "1/4"), approx("2", "1/8")]),
    Case("parallel", approx("2", "1/8"), [approx("1", "1/4"), approx("2", "1/8")], why=OTHER),
    Case("parallel", rdp(("2", "2")), [rdp(("2", "1")), rdp(("2", "2"))]),
    Case("parallel", rdp(("2", "1")), [rdp(("2", "1")), rdp(("2", "2"))], why="at most 2"),
    Case("parallel", profile(("1", "1/4")), [profile(("1", "1/4")), profile(("1", "1/8"))]),
    Case(
        "parallel",
        profile(("1", "1/4")),
        [profile(("1", "1/4")), profile(("2", "1/8"))],
        why="different epsilons",
    ),
    Case("parallel", pairs([LAPLACE]), [pairs([LAPLACE]), pairs([LAPLACE])]),
    Case("parallel", pairs([LAPLACE]), [pairs([LAPLACE]), pairs([gaussian("1")])], why="not equal"),
    Case("parallel", gdp("2"), [gdp("1"), said("zcdp", rho="1")], why="different notions"),
    Case(
        "parallel",
        gdp("2", relation="replace-one"),
        [gdp("2", relation="replace-one")],
        why="may move",
    ),
    Case("parallel", gdp("2", steps=2), [gdp("2", steps=2)], why="several records"),
    Case("parallel", gdp("2"), [], why="takes 1 to"),
]

CHOICE = [
    Case("choice", gdp("2"), [gdp("1"), gdp("2")]),
    Case("choice", gdp("1"), [gdp("1"), gdp("2")], why=OTHER),
    Case("choice", gdp("3"), [gdp("1"), gdp("2")], why=OTHER),
    Case("choice", said("pure-dp", epsilon="2"), [said("pure-dp", epsilon=e) for e in "12"]),
    Case("choice", said("zcdp", rho="2"), [said("zcdp", rho=e) for e in "12"]),
    Case("choice", pairs([LAPLACE]), [pairs([LAPLACE]), pairs([LAPLACE])]),
    Case("choice", pairs([LAPLACE]), [pairs([LAPLACE]), pairs([gaussian("1")])], why="not equal"),
    Case("choice", gdp("2"), [gdp("1"), said("zcdp", rho="1")], why="different notions"),
    Case(
        "choice",
        said("bounded-range", epsilon="2"),
        [said("bounded-range", epsilon="2")] * 2,
        why="pure-dp, gdp, zcdp and dominating-pair only",
    ),
    Case("choice", rdp(("2", "2")), [rdp(("2", "2"))] * 2, why="dominating-pair only"),
    Case("choice", gdp("2"), [], why="takes 1 to"),
    Case("choice", gdp("2"), [gdp("2")], {"weights": ["1"]}, why="weights"),
]

PROCESSED = [
    Case("post-process", gdp("2"), [gdp("2")], {"description": "rounding"}),
    Case("post-process", gdp("1"), [gdp("2")], {"description": "rounding"}, "not the premise"),
    Case("post-process", gdp("2"), [gdp("2"), gdp("2")], {"description": "x"}, "takes 1"),
    Case("post-process", gdp("2"), [gdp("2")], {"description": ""}, "characters"),
    Case("post-process", gdp("2"), [gdp("2")], {"description": "a\nb"}, "printable"),
    Case("post-process", gdp("2"), [gdp("2")], {"description": 5}, "characters"),
    Case("post-process", gdp("2"), [gdp("2")], {}, "has no description"),
    Case("map-records", gdp("2"), [gdp("2")], {"description": "clipping"}),
    Case("map-records", gdp("1"), [gdp("2")], {"description": "clipping"}, "not the premise"),
    Case("map-records", gdp("2"), [gdp("2"), gdp("2")], {"description": "x"}, "takes 1"),
    Case("map-records", gdp("2"), [gdp("2")], {"description": ""}, "characters"),
    Case("map-records", gdp("2"), [gdp("2")], {}, "has no description"),
]


@pytest.mark.parametrize("case", [*COMPOSE, *PARALLEL, *CHOICE, *PROCESSED], ids=str)
def test_composition(case: Case) -> None:
    """Every rule is accepted with what follows and refuses what does not."""
    case.holds()


def test_long_rationals_are_more_work() -> None:
    """Points of a thousand digits count for several short ones."""
    short = tuple((Fraction(k), Fraction(1, k)) for k in range(2, 12))
    long = tuple((order, value + Fraction(1, 10**1000)) for order, value in short)

    assert look_up(short) == 80
    assert look_up(long) > 10 * look_up(short)


@pytest.mark.parametrize(
    ("premise", "words"),
    [
        (gdp("2"), ("on disjoint parts", "that depends on that record alone")),
        (gdp("2", relation="zero-out"), ("on disjoint parts", "that blanking it changes")),
        (
            said("bounded-range", epsilon="2"),
            ("on disjoint parts", "none of which looks at what another releases"),
        ),
    ],
)
def test_disjoint_parts_are_told_apart(premise: Object, words: tuple[str, ...]) -> None:
    """The verdict asks for independent parts, and under zero-out for blanks that stay."""
    verdict = Case("parallel", premise, [premise, premise]).verdict()

    assert isinstance(verdict, VerifiedUnder)
    assert all(one in verdict.assumptions[2] for one in words)
    assert f"for M3, {FRESH}" in verdict.assumptions


@pytest.mark.parametrize("rule", ["post-process", "map-records"])
def test_nothing_else_is_released(rule: str) -> None:
    """What is made of a mechanism's output is all that is released."""
    verdict = Case(rule, gdp("2"), [gdp("2")], {"description": "x"}).verdict()

    assert isinstance(verdict, VerifiedUnder)
    assert verdict.assumptions[-1] == f"for M2, {ALONE}"
