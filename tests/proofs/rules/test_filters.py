"""Budgets that are spent after looking at outputs, and several of them that share a delta."""

from __future__ import annotations

import pytest

from dpproof.proofs import VerifiedUnder
from tests.proofs.support import Case, Object, said

NAMED = {"rho": "1/50", "failures": "1/2000000", "order": "24"}


def zcdp(rho: str, **kw: int | str) -> Object:
    """A zCDP statement."""
    return said("zcdp", rho=rho, **kw)  # type: ignore[arg-type]


def gdp(squared: str) -> Object:
    """A GDP statement."""
    return said("gdp", mu_squared=squared)


def rdp(*points: tuple[str, str]) -> Object:
    """Renyi points."""
    return said("rdp", points=[list(point) for point in points])


def approx(epsilon: str, delta: str, **kw: int | str) -> Object:
    """An (epsilon, delta) statement."""
    return said("approx-dp", epsilon=epsilon, delta=delta, **kw)  # type: ignore[arg-type]


def pure(epsilon: str) -> Object:
    """A pure statement."""
    return said("pure-dp", epsilon=epsilon)


def one(way: str, delta: str, **fields: str) -> Object:
    """One of several filters."""
    return {"way": way, "delta": delta, **fields}


SMALL = approx("1", "1/1000000")
TIGHT = approx("1", "1/2000000")
PARTS = [approx("1/20", "1/4000000"), zcdp("1/100"), pure("1/10")]
BASIC = one("basic", "1/2000000", epsilon="1")
CONCENTRATED = one("zcdp", "1/4000000", rho="1/50", order="24")
GAUSSIAN = one("gdp", "1/4000000", mu_squared="1/25")
ALL = [BASIC, CONCENTRATED, GAUSSIAN]
DIVERGENT = one("renyi", "1/4000000", divergence="12/25", order="24")


def several(*filters: object, claim: Object = SMALL, why: str = "") -> Case:
    """A step about several filters."""
    return Case("filter/several", claim, [], {"filters": list(filters)}, why)


CASES = [
    Case("filter/zcdp", zcdp("3"), [zcdp("1"), zcdp("2")]),
    Case("filter/zcdp", zcdp("4"), [zcdp("1"), zcdp("2")]),
    Case("filter/zcdp", zcdp("1"), []),
    Case("filter/zcdp", zcdp("3"), [zcdp("2")], twice=True, why="add up to 4, above 3"),
    Case("filter/zcdp", zcdp("2"), [zcdp("1"), zcdp("2")], why="add up to 3, above 2"),
    Case("filter/zcdp", zcdp("3"), [zcdp("1"), gdp("1")], why="wants ZCDP"),
    Case("filter/zcdp", gdp("3"), [zcdp("1")], why="wants ZCDP"),
    Case("filter/zcdp", zcdp("3"), [zcdp("1", steps=2)], why="different distance"),
    Case("filter/zcdp", zcdp("3", relation="zero-out"), [zcdp("1")], why="relation"),
    Case("filter/zcdp", zcdp("3"), [zcdp("1")], {"rho": "3"}, why="unknown fields"),
    Case("filter/zcdp", zcdp("3", steps=2), [zcdp("1", steps=2)], why="one step apart"),
    Case("filter/zcdp", zcdp("3", steps=2), [], why="one step apart"),
    Case("filter/approx-dp", approx("1", "1/1000000", steps=2), [], NAMED, why="one step apart"),
    Case("filter/gdp", gdp("3"), [gdp("1"), gdp("2")]),
    Case("filter/gdp", gdp("2"), [gdp("1"), gdp("2")], why="add up to 3, above 2"),
    Case("filter/gdp", gdp("2"), [zcdp("1")], why="wants GDP"),
    Case("filter/renyi", rdp(("8", "3")), [rdp(("8", "1")), rdp(("8", "2"), ("9", "7"))]),
    Case("filter/renyi", rdp(("2", "2")), [rdp(("3", "2"))]),
    Case("filter/renyi", rdp(("8", "2")), [rdp(("8", "1")), rdp(("8", "2"))], why="above 2"),
    Case("filter/renyi", rdp(("8", "9")), [rdp(("7", "1"))], why="above all that are listed"),
    Case("filter/renyi", rdp(("8", "9"), ("9", "9")), [rdp(("9", "1"))], why="one order"),
    Case("filter/approx-dp", SMALL, PARTS, NAMED),
    Case("filter/approx-dp", SMALL, [zcdp("1/50")], NAMED),
    Case("filter/approx-dp", SMALL, [pure("0"), zcdp("1/50")], NAMED),
    Case("filter/approx-dp", SMALL, [], NAMED),
    Case("filter/approx-dp", approx("0", "1/2"), [], {**NAMED, "rho": "0"}),
    Case("filter/approx-dp", SMALL, [*PARTS, pure("1/10")], NAMED, why="sum of rho"),
    Case("filter/approx-dp", SMALL, [zcdp("1/49")], NAMED, why="the rho add up"),
    Case("filter/approx-dp", SMALL, [*PARTS, *PARTS[:1] * 2], NAMED, why="the deltas add up"),
    Case("filter/approx-dp", SMALL, [gdp("1/100")], NAMED, why="takes zcdp, pure-dp and approx"),
    Case("filter/approx-dp", SMALL, PARTS, {**NAMED, "rho": "1/30"}, why="delta"),
    Case("filter/approx-dp", SMALL, PARTS, {**NAMED, "order": "3"}, why="delta"),
    Case("filter/approx-dp", SMALL, PARTS, {**NAMED, "order": "1"}, why="above 1"),
    Case("filter/approx-dp", SMALL, PARTS, {**NAMED, "failures": "1/999999"}, why="failures"),
    Case("filter/approx-dp", TIGHT, PARTS, NAMED, why="delta"),  # nothing is left for rho
    Case("filter/approx-dp", zcdp("1"), PARTS, NAMED, why="wants ApproxDP"),
    several(*ALL),
    several(BASIC, claim=TIGHT),
    several(one("gdp", "0", mu_squared="0"), one("zcdp", "0", rho="0", order="2"), BASIC),
    several(*ALL, claim=TIGHT, why="shares of delta add up"),
    several(*ALL, BASIC, why="shares of delta add up"),
    several(*ALL, claim=approx("1/2", "1/1000000"), why="epsilon"),
    several(one("zcdp", "1/4000000", rho="1/40", order="24"), why="delta of the sum of div"),
    several(BASIC, GAUSSIAN, DIVERGENT),
    several(one("renyi", "0", divergence="0", order="24")),
    several(*ALL, DIVERGENT, why="shares of delta add up"),
    several(DIVERGENT, claim=approx("1/2", "1/1000000"), why="delta of the sum of div"),
    several({**DIVERGENT, "divergence": "3/5"}, why="delta of the sum of divergences"),
    several({**DIVERGENT, "divergence": "-1"}, why="must be from 0"),
    several({**DIVERGENT, "order": "8"}, why="delta of the sum of divergences"),
    several({**DIVERGENT, "order": "1"}, why="above 1"),
    several({**DIVERGENT, "rho": "1"}, why="unknown fields"),
    several(one("zcdp", "1/4000000", rho="1/50", order="1/2"), why="above 1"),
    several(one("gdp", "1/4000000", mu_squared="1/16"), why="sum of mu^2"),
    several(one("other", "1/4000000"), why="basic, zcdp, gdp or renyi"),
    several(one("basic", "2", epsilon="1"), why="from 0 to 1"),
    several({**BASIC, "rho": "1"}, why="unknown fields"),
    several(why="takes 1 to 10 filters"),
    several(*ALL, claim=approx("1", "1/1000000", steps=2), why="one step apart"),
    Case("filter/several", SMALL, [TIGHT], {"filters": ALL}, why="takes no premise"),
    Case("filter/several", zcdp("1"), [], {"filters": ALL}, why="wants ApproxDP"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules(case: Case) -> None:
    """Spends within a budget that implies the claim are accepted, all others refused."""
    case.holds()


def test_the_verdict_names_what_ran_and_what_the_budget_asks() -> None:
    """A reader sees the mechanisms that ran, and that others might have."""
    verdict = Case("filter/zcdp", zcdp("4"), [zcdp("1"), zcdp("2")]).verdict()

    assert isinstance(verdict, VerifiedUnder)
    (asked,) = [said for said in verdict.assumptions if "in this run M1 and M2" in said]
    assert "between add-remove neighbours" in asked
    assert "on every path these rho add up to at most 4" in asked
