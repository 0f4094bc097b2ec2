"""Budgets that are lowered, raised by two names, renewed and closed."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from dpproof.accountant.theorems.composition import compose
from dpproof.ledger import chain
from dpproof.ledger.budget import State, changed, opened
from dpproof.ledger.errors import KeyConflict, LedgerDamaged
from dpproof.ledger.ledger import Ledger
from dpproof.ledger.spending import spent_at

TENTH = dp.ZCDP(rho=Fraction(1, 10))
DELTA = Fraction(1, 10**6)
WHOLE = "[null,null]"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return a new ledger whose budget is 1-zCDP."""
    return Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1))


def approximate(epsilon: float | Fraction) -> dp.ApproxDP[dp.AddRemove]:
    """A budget at the delta of these tests."""
    return dp.ApproxDP(epsilon=epsilon, delta=DELTA)


def test_a_lowered_budget_admits_less_and_promises_what_it_promised(ledger: Ledger) -> None:
    """What is spent stays within the new limit; the guarantee stays that of the first one."""
    ledger.spend(TENTH, key="a")
    with pytest.raises(dp.BudgetExceeded, match="is spent in every way"):
        ledger.lower(dp.ZCDP(rho=Fraction(1, 20)))
    ledger.lower(dp.ZCDP(rho=Fraction(1, 5)), by="ann")
    ledger.spend(TENTH, key="b")
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(dp.ZCDP(rho=Fraction(1, 10**9)), key="c")

    (budget,) = ledger.status().budgets
    assert budget.remaining == 0
    assert budget.guarantee == dp.ZCDP(rho=1)
    assert budget.lowered == dp.ZCDP(rho=Fraction(1, 5))
    assert ledger.verify().entries == 4


def test_lowering_closes_ways_in_which_more_is_spent(tmp_path: Path) -> None:
    """Sums of epsilon end, other ways go on, and a budget that was not divided divides less."""
    ledger = Ledger.create(tmp_path / "ledger", budget=approximate(3))
    for number in range(3):
        ledger.spend(dp.GDP(mu=Fraction(1, 5)), key=str(number))
    ledger.lower(approximate(2))
    (budget,) = ledger.status().budgets
    assert not budget.ways["basic"].open
    assert budget.ways["gdp"].open
    assert budget.composed is not None
    assert budget.composed <= 2
    fresh = Ledger.create(tmp_path / "fresh", budget=approximate(3))
    planner = Ledger.open(fresh.place)
    with pytest.raises(dp.BudgetExceeded):
        planner.spend(dp.GDP(mu=3), key="plans, and knows the old state")
    fresh.lower(approximate(1))
    planner.spend(dp.GDP(mu=Fraction(1, 10)), key="a")
    assert fresh.status().budgets[0].ways["basic"].limit[0] == 1
    for one in (ledger, fresh):
        one.verify()


def test_a_raise_takes_two_names_for_the_same_numbers(ledger: Ledger) -> None:
    """One name, one name written differently, and two names for two numbers raise nothing."""
    two = dp.ZCDP(rho=2)
    assert not ledger.raise_to(two, by="ann")
    for name in ("ann", "ANN"):
        with pytest.raises(KeyConflict, match="a second name"):
            ledger.raise_to(two, by=name)
    with pytest.raises(dp.ParameterError, match="spaces"):
        ledger.raise_to(two, by="ann ")
    assert not ledger.raise_to(dp.ZCDP(rho=4), by="Jos\u00e9")
    with pytest.raises(KeyConflict, match="a second name"):
        ledger.raise_to(dp.ZCDP(rho=4), by="JOSE\u0301")
    assert not ledger.raise_to(dp.ZCDP(rho=3), by="bob")
    assert not ledger.raise_to(two, by="ann")
    assert ledger.status().budgets[0].proposed == (two, "ann")
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(two, key="a")
    assert ledger.raise_to(two, by="bob")
    ledger.spend(two, key="a")

    (budget,) = ledger.status().budgets
    assert budget.guarantee == two
    assert budget.proposed is None
    assert budget.remaining == 0
    assert [one.who for one in ledger.log() if one.kind == "raise"] == ["bob"]
    ledger.verify()


def test_a_renewal_adds_and_what_was_lowered_withdraws_a_proposal(ledger: Ledger) -> None:
    """Two names for one more year have the sum of both; a proposal ends with its numbers."""
    assert not ledger.renew(TENTH, by="ann")
    ledger.lower(dp.ZCDP(rho=Fraction(1, 2)))
    assert not ledger.renew(TENTH, by="bob")
    assert ledger.renew(TENTH, by="ann")
    (budget,) = ledger.status().budgets
    assert budget.lowered == dp.ZCDP(rho=Fraction(3, 5))
    assert not ledger.renew(dp.ZCDP(rho=1), by="ann")
    assert ledger.renew(dp.ZCDP(rho=1), by="bob")
    (budget,) = ledger.status().budgets
    assert (budget.guarantee, budget.lowered) == (dp.ZCDP(rho=Fraction(8, 5)), None)
    ledger.verify()


def test_a_closed_budget_admits_nothing_and_settles_what_is_pending(ledger: Ledger) -> None:
    """Reservations are committed or released; it is not changed any more, and others go on."""
    ledger.limit(dp.ZCDP(rho=1), dataset="2026")
    ledger.limit(dp.ZCDP(rho=1), dataset="2027")
    ledger.reserve(TENTH, key="a", dataset="2026")
    ledger.reserve(TENTH, key="b", dataset="2026")
    ledger.close_budget(dataset="2026", by="ann")
    with pytest.raises(dp.BudgetExceeded, match=r"of dataset 2026 was closed on \d{4}"):
        ledger.spend(TENTH, key="c", dataset="2026")
    ledger.commit("a")
    ledger.release("b")
    ledger.spend(TENTH, key="c", dataset="2027")
    for change in (ledger.lower, ledger.raise_to):
        with pytest.raises(KeyConflict, match="for good"):
            change(dp.ZCDP(rho=Fraction(1, 2)), by="ann", dataset="2026")
    with pytest.raises(KeyConflict, match="no budget of dataset 2028"):
        ledger.close_budget(dataset="2028")
    ledger.verify()


def test_changes_that_are_none_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    """Another notion, order or direction, the same numbers, mixed ones, none and no name."""
    refused: list[Callable[[], object]] = [
        lambda: ledger.lower(dp.PureDP(epsilon=1)),
        lambda: ledger.renew(dp.PureDP(epsilon=1), by="ann"),
        lambda: ledger.lower(dp.ZCDP(rho=1)),
        lambda: ledger.lower(dp.ZCDP(rho=2)),
        lambda: ledger.raise_to(dp.ZCDP(rho=Fraction(1, 2)), by="ann"),
        lambda: ledger.raise_to(dp.ZCDP(rho=2), by=""),
    ]
    renyi = Ledger.create(tmp_path / "renyi", budget=dp.RDP(points=((4, 1),)))
    refused.append(lambda: renyi.renew(dp.RDP(points=((2, 1),)), by="ann"))
    refused.append(lambda: renyi.lower(dp.RDP(points=((2, Fraction(1, 2)),))))
    mixed = Ledger.create(tmp_path / "mixed", budget=approximate(3))
    refused.append(lambda: mixed.lower(dp.ApproxDP(epsilon=2, delta=1e-5)))
    refused.append(lambda: mixed.lower(dp.ApproxDP(epsilon=0, delta=1e-6)))
    refused.append(lambda: mixed.renew(dp.ApproxDP(epsilon=1, delta=1), by="ann"))
    refused.append(lambda: Ledger.create(tmp_path / "no", budget=dp.ApproxDP(epsilon=0, delta=0)))
    for change in refused:
        with pytest.raises(dp.ParameterError):
            change()
    with pytest.raises(dp.RelationMismatch):
        ledger.lower(dp.ZCDP(rho=Fraction(1, 2), relation=dp.ReplaceOne()))
    assert ledger.status().entries == mixed.status().entries == renyi.status().entries == 1


def _double(state: State) -> None:
    state["budgets"][WHOLE] |= {"goal": {"notion": "zcdp", "rho": "2"}, "limits": {"zcdp": ["2"]}}


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "raise", "by": "bob"},
        {"kind": "raise", "by": "ann", "limits": {"zcdp": ["3"]}},
        {"kind": "lower", "by": ""},
        {"kind": "limit", "opened": {}},
    ],
)
def test_a_raise_that_nobody_signed_is_found(ledger: Ledger, entry: dict[str, Any]) -> None:
    """Appended with hashes that fit, it is refused by the rules."""
    goal = {"notion": "zcdp", "rho": "2"}
    whole = {"time": "2026-01-01", "budget": WHOLE, "goal": goal, "limits": {"zcdp": ["2"]}} | entry
    with ledger._database.transaction() as execute:
        number, previous, state = chain.last(execute)
        _double(state)
        chain.append(execute, (number, previous, state), whole)
    with pytest.raises(LedgerDamaged, match="does not fit"):
        ledger.verify()


def test_a_lower_goal_raises_no_limit() -> None:
    """Limits that keep a smaller goal and give one way more than before are refused."""
    state = opened(approximate(3))
    state["limits"] = {"basic": ["3", "1/4000000"], "gdp": ["1/10"]}
    goal = state["goal"] | {"epsilon": "299/100"}
    kept = {"basic": ["299/100", "1/4000000"], "gdp": ["1/10"]}
    assert changed(state, goal, kept, up=False)["limits"] == kept
    with pytest.raises(ValueError, match="not proved"):
        changed(state, goal, kept | {"gdp": ["11/100"]}, up=False)
    assert changed(state, state["goal"] | {"epsilon": "4"}, kept | {"gdp": ["11/100"]}, up=True)


def test_a_spend_from_a_closed_budget_is_found(ledger: Ledger) -> None:
    """Its entry is refused by whoever verifies, with hashes that fit."""
    ledger.spend(TENTH, key="a")
    ledger.close_budget()
    with ledger._database.transaction() as execute:
        number, previous, state = chain.last(execute)
        entry = {**spent_at(execute, 2), "key": "b"}
        state["budgets"][WHOLE]["spent"] = {"zcdp": ["1/5"]}
        chain.append(execute, (number, previous, state), entry)
        execute(
            "INSERT INTO spends SELECT 'b', digest, status, owner, 4 FROM spends WHERE name = 'a'"
        )
    with pytest.raises(LedgerDamaged, match="over the budget"):
        ledger.verify()


@pytest.mark.slow
@pytest.mark.parametrize("start", [1, 3, 8])
def test_whatever_is_changed_what_was_spent_keeps_the_budget(tmp_path: Path, start: int) -> None:
    """Random spends and changes: all that was admitted composes to the numbers of the moment."""
    seed = secrets.randbits(32)
    print("seed", seed)  # noqa: T201  # shown if the test fails
    chance = random.Random(seed)  # noqa: S311  # draws no noise
    ledger = Ledger.create(tmp_path / "ledger", budget=approximate(start))
    admitted: list[dp.Guarantee[dp.AddRemove]] = []
    now = Fraction(start)
    for number in range(60):
        what = chance.random() if number > 2 else 1.0  # the first three are admitted for sure
        factor = Fraction(chance.randrange(60, 95), 100)
        try:
            if what < 0.1:
                ledger.lower(approximate(now * factor))
                now *= factor
            elif what < 0.2:
                ledger.raise_to(approximate(now / factor), by="ann")
                assert ledger.raise_to(approximate(now / factor), by="bob")
                now /= factor
            else:
                part = chance.choice([dp.GDP(mu=factor / 10), dp.ZCDP(rho=factor / 300)])
                spend = ledger.reserve(part, key=str(number))
                if what < 0.4:
                    spend.release()
                else:
                    admitted.append(part)
        except dp.BudgetExceeded:
            continue
    assert len(admitted) > 2
    assert compose(*admitted).epsilon(delta=DELTA).upper <= now
    assert ledger.verify().entries == ledger.status().entries
