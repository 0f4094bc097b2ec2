"""Lower bounds of hockey-stick divergences: facts that lead nowhere."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import pytest

from dpproof.proofs import Rejected, Step, Verified, check
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import Pair
from dpproof.proofs.core.rule import Application, Budget
from dpproof.proofs.core.statements import Statement
from dpproof.proofs.logic.statement import AtLeast
from dpproof.proofs.rules import RULES
from tests.proofs.rules import test_compose, test_convert, test_dominate, test_group, test_select
from tests.proofs.rules.builders import (
    ADDED,
    BOTH,
    DEEP,
    DELTA_ADDED,
    DELTA_REMOVED,
    FINE,
    GAUSS,
    GAUSS_TEN,
    MANY,
    ONE,
    REMOVED,
    RESPONSES,
    drawn,
    least,
    near,
    response_delta,
    side as points,
    table,
)
from tests.proofs.support import Case, Object, certificate, factor, gaussian, stated

UP, DOWN = "1/100000000", "-1/100000000"
LAPLACE = factor("laplace", epsilon="1")
ANSWER = factor("randomized-response", epsilon="1", categories=2, infinite="0")


def side(c: str, factors: int = 1) -> Object:
    """Where to bound aliases."""
    return {"c": c, "factors": [None] * factors}


TEN = [gaussian("1", 10)]
SUM: dict[str, Any] = {
    "c": "3/4",
    "step": "1/8",
    "nodes": 60,
    "factors": [None],
    "before": side("1/8"),
    "after": side("2"),
}
FOLD: dict[str, Any] = {
    "c": "1/2",
    "span": "1",
    "nodes": 60,
    "factors": [None],
    "before": side("1/8"),
    "after": side("2"),
}


def closed(product: list[Object], epsilon: str, delta: str, why: str = "") -> Case:
    """A closed profile."""
    return Case("at-least/closed", least(product, epsilon, delta), why=why)


def line(delta: str, why: str = "", product: list[Object] = TEN, **changes: Any) -> Case:  # noqa: ANN401
    """A sum for ten Gaussians at epsilon = 3."""
    return Case("at-least/contour", least(product, "3", delta), witness=SUM | changes, why=why)


def fold(delta: str, why: str = "", **changes: Any) -> Case:  # noqa: ANN401  # JSON is anything
    """A folded sum for twenty randomised responses at epsilon = 2."""
    return Case("at-least/lattice", least([RESPONSES], "2", delta), witness=FOLD | changes, why=why)


def shared(delta: str, why: str = "", **changes: Any) -> Case:  # noqa: ANN401  # JSON is anything
    """A sum for two releases on one sample at epsilon = 1/4, by a table from lines."""
    lines = ({**DEEP, "points": 1, **changes},)
    grid = table(points((1, 300), (16, 300), lines=lines), points((1, 290), lines=lines), "1/1000")
    sides = {name: {"c": c, "factors": [grid]} for name, c in (("before", "1/4"), ("after", "12"))}
    given = STEEP | sides | {"factors": [grid], "nodes": 500}
    return Case("at-least/smoothed", least([BOTH], "1/4", delta), witness=given, why=why)


CLAIM = "claimed divergence is at least"


BETWEEN = response_delta(20, Fraction(1, 2), Fraction(5, 2))
SMOOTH: dict[str, Any] = {
    "c": "1/2",
    "step": "1/8",
    "nodes": 2_000,
    "factors": [None],
    "tau": "1/25",
    "width": "1/4",
    "before": side("1/8"),
    "after": side("2"),
}
STEEP: dict[str, Any] = SMOOTH | {
    "c": "3",
    "step": "1/2",
    "tau": "1/100",
    "width": "3/50",
    "before": side("1/4"),
    "after": side("12"),
}
TINY = table(points((1, 3)), points((1, 3)), "1/1" + "0" * 99)
TOLD = factor("randomized-response", epsilon="1", categories=2, infinite="1/8")


def tent(delta: str, why: str = "", product: list[Object] = [RESPONSES], **changes: Any) -> Case:  # noqa: ANN401, B006
    """A smoothed sum for twenty randomised responses at epsilon = 5/2."""
    return Case(
        "at-least/smoothed", least(product, "5/2", delta), witness=SMOOTH | changes, why=why
    )


def made(rule: str, pair: Object, delta: str, why: str = "", grid: Object | None = FINE) -> Case:
    """A sum for what shares a sample, at epsilon = 1, by a table below it or its few losses."""
    given = STEEP | {"factors": [grid]}
    for name in ("before", "after"):
        given[name] = {"c": STEEP[name]["c"], "factors": [grid]}
    if rule == "lattice":
        given = {k: v for k, v in given.items() if k not in {"step", "tau", "width"}}
        given |= {"span": "1/256"}
    if rule == "contour":
        given = {k: v for k, v in given.items() if k not in {"tau", "width"}}
    return Case(f"at-least/{rule}", least([pair], "1", delta), witness=given, why=why)


CASES = [
    closed([ONE], "1", near(GAUSS, DOWN)),
    closed([ONE], "1", near(GAUSS, UP), CLAIM),
    # (1 - e^{(x - 1)/2})/4 at x = 0, 0.0983673; at e^x = 5/4, a = 2, it is 0.0355408
    closed([drawn("removal", [LAPLACE])], "0", "98367/1000000"),
    closed([drawn("removal", [LAPLACE])], "0", "1537/15625", CLAIM),
    closed([drawn("addition", [LAPLACE])], "0", "98367/1000000"),
    closed([drawn("replacement", [LAPLACE])], "0", "0", "known exactly"),
    closed([drawn("removal", [drawn("replacement", [LAPLACE])])], "0", "0", "known exactly"),
    line("0", "its witness is a table", [drawn("removal", [LAPLACE])]),
    line("0", "its witness is a table", [drawn("replacement", [TOLD])]),
    line("0", "known exactly", [drawn("removal", [drawn("replacement", [LAPLACE])])]),
    # 1/4 of (e - 1)/(e + 1) is 0.115529289
    closed([drawn("removal", [ANSWER])], "0", "11552927/100000000"),
    closed([drawn("removal", [ANSWER]), drawn("addition", [ANSWER])], "0", "11552927/100000000"),
    closed([drawn("removal", [ANSWER]), drawn("addition", [ANSWER])], "0", "1/4", CLAIM),
    closed([drawn("removal", [ANSWER]), drawn("replacement", [ANSWER])], "0", "0", "known exactly"),
    closed([gaussian("1/2", 2)], "1", near(GAUSS, DOWN)),
    closed([LAPLACE], "1/2", "22119921/100000000"),
    closed([LAPLACE], "1/2", "221199217/1000000000", CLAIM),
    closed([LAPLACE], "1", "1/1000000", CLAIM),
    closed([LAPLACE, ONE], "1", "0", "few bounded"),
    closed([], "0", "0"),
    closed([], "0", "1/9", CLAIM),
    line(near(GAUSS_TEN, DOWN)),
    line(near(GAUSS_TEN, UP), CLAIM),
    line(near(GAUSS_TEN, DOWN), CLAIM, step="1"),
    line(near(GAUSS_TEN, DOWN), CLAIM, nodes=5),
    line(near(GAUSS_TEN, DOWN), "on that side", before=side("3/4")),
    line(near(GAUSS_TEN, DOWN), "on that side", before=side("2")),
    line(near(GAUSS_TEN, DOWN), "on that side", after=side("1/8")),
    line(near(GAUSS_TEN, DOWN), "one witness for each pair", after=side("2", 2)),
    line(near(GAUSS_TEN, DOWN), "unknown fields", tau="0"),
    line(near(GAUSS_TEN, DOWN), "one witness for each pair", []),
    tent(near(BETWEEN, "-1/50000000")),
    tent(near(BETWEEN, UP), CLAIM),
    tent(near(BETWEEN, "-1/50000000"), CLAIM, tau="2/25"),
    tent(near(BETWEEN, "-1/50000000"), CLAIM, width="1/10"),
    tent(near(BETWEEN, "-1/50000000"), CLAIM, width="3"),
    tent(near(BETWEEN, "-1/50000000"), CLAIM, nodes=1_000),
    tent(near(BETWEEN, "-1/50000000"), CLAIM, step="1/4"),
    tent("0", "tau must be above 0", tau="0"),
    tent("0", "width must be above 0", width="0"),
    tent("0", "on that side", before=side("2")),
    tent("0", "one witness for each pair", []),
    tent("0", "nodes must be", nodes=1 << 20),
    made("smoothed", ADDED, near(DELTA_ADDED, "-1/100000000"), grid=None),
    made("smoothed", ADDED, near(DELTA_ADDED, UP), CLAIM, grid=None),
    made("smoothed", REMOVED, near(DELTA_REMOVED, "-1/9000"), grid=None),
    made("smoothed", REMOVED, near(DELTA_REMOVED, UP), CLAIM, grid=None),
    made("smoothed", REMOVED, near(DELTA_REMOVED, "-1/200")),
    made("smoothed", REMOVED, near(DELTA_REMOVED, UP), CLAIM),
    made("smoothed", ADDED, near(DELTA_ADDED, "-1/90")),
    made("smoothed", ADDED, near(DELTA_ADDED, UP), CLAIM),
    # 0.0540431759 by integration over the Laplace loss
    shared("67/1250"),
    shared("541/10000", CLAIM),
    shared("0", "beside a Gaussian", tau="1/100"),
    shared("67/1250", CLAIM, step="2"),
    made("smoothed", REMOVED, "0", "are not apart", TINY),
    made("lattice", REMOVED, near(DELTA_REMOVED, "-1/200")),
    made("lattice", REMOVED, near(DELTA_REMOVED, UP), CLAIM),
    made("lattice", ADDED, near(DELTA_ADDED, "-1/90")),
    made("lattice", ADDED, near(DELTA_ADDED, UP), CLAIM),
    fold(near(MANY, DOWN)),
    fold(near(MANY, UP), CLAIM),
    fold(near(MANY, DOWN), CLAIM, nodes=6),
    fold(near(MANY, DOWN), "no multiples of the span", span="3"),
    fold(near(MANY, DOWN), "is not an object", before=None),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_at_least(case: Case) -> None:
    """Accepted just below the truth, refused just above it, whatever the sum."""
    case.holds()


def test_such_a_fact_takes_nothing_for_granted() -> None:
    """It is about two laws, and says so."""
    verdict = CASES[0].verdict()

    assert isinstance(verdict, Verified)
    assert "not (1.0, less)-DP" in verdict.claim or "not (1, less)-DP" in verdict.claim


FACT = Step(
    rule="at-least/closed", premises=(), witness={}, conclusion=least([ONE], "1", near(GAUSS, DOWN))
)
ACCEPTED = [
    case
    for table in (
        test_compose.COMPOSE,
        test_compose.PARALLEL,
        test_compose.PROCESSED,
        test_convert.EXACT,
        test_convert.POLYGONS,
        test_convert.RENYI,
        test_convert.PAIRS,
        test_dominate.CASES,
        test_group.CASES,
        test_select.PURE,
        test_select.RENYI,
        test_select.PROFILES,
        CASES,
    )
    for case in table
    if not case.why
]


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_no_rule_takes_a_lower_bound_for_a_premise(case: Case) -> None:
    """Not beside the premises it takes, not instead of any of them."""
    given = [stated(premise) for premise in case.premises]
    ways = [[*given, FACT]]
    ways += [[*given[:place], FACT, *given[place + 1 :]] for place in range(len(given))]
    for steps in ways:
        last = Step(
            rule=case.rule,
            premises=tuple(range(len(steps))),
            witness=case.witness,
            conclusion=case.conclusion,
        )

        assert isinstance(check(certificate(*steps, last)), Rejected)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_no_rule_restates_a_lower_bound(rule: str) -> None:
    """With the fact as its only premise, no rule concludes it, or its opposite."""
    opposite = {**FACT.conclusion, "notion": "hockey-stick"}
    for said in (FACT.conclusion, opposite):
        for witness in ({}, {"description": "nothing"}, {"count": 2}):
            last = Step(rule=rule, premises=(0,), witness=witness, conclusion=said)

            assert isinstance(check(certificate(FACT, last)), Rejected)


def test_a_larger_claim_is_rejected() -> None:
    """Epsilon or delta raised by a hundredth, the product weakened, the rule exchanged."""
    first = line(near(GAUSS_TEN, DOWN))
    changes: list[Object] = [
        {"epsilon": "303/100"},
        {"delta": near(GAUSS_TEN, "1/100")},
        {"product": [gaussian("99/100", 10)]},
        {"product": [gaussian("1", 9)]},
    ]
    for changed in changes:
        said = {**first.conclusion, **changed}
        assert isinstance(replace(first, conclusion=said).verdict(), Rejected)
    for rule in RULES:
        if rule != first.rule:
            assert isinstance(replace(first, rule=rule).verdict(), Rejected)


def test_only_pairs_that_are_known_exactly() -> None:
    """A pair that a later version knows from above only is refused until it is listed."""
    claim = AtLeast(((cast("Pair", object()), 1),), Fraction(1), Fraction(0))
    step = Application(Statement(claim, "", 0), (), Fields({}, "the witness"), (), Budget())

    with pytest.raises(RefusedError, match="known exactly"):
        RULES["at-least/closed"](step)
