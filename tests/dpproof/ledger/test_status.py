"""What a status says of the cost so far, and what a spend says of the ways that it closes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp
from dpproof.accountant.theorems.composition import compose
from tests.dpproof.command import Command
from tests.dpproof.ledger.trainings import training

TABLE = dp.Gaussian(sigma=40, sensitivity=dp.L2(1)).guarantee()


@pytest.mark.parametrize(
    ("part", "times", "most"), [(training(1), 8, 1.2), (TABLE, 10, 1.001)], ids=["SGD", "tables"]
)
def test_the_cost_so_far_is_an_upper_end_near_what_composes(
    tmp_path: Path, part: dp.Guarantee[dp.AddRemove], times: int, most: float
) -> None:
    """At the budget's delta, never below the composition of what was spent."""
    ledger = dp.Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=8, delta=1e-6))
    assert ledger.status().budgets[0].composed == 0
    for number in range(times):
        ledger.spend(part, key=str(number))
    (budget,) = ledger.status().budgets

    epsilon = compose(*[part] * times).epsilon(delta=1e-6)
    assert budget.composed is not None
    assert epsilon.lower <= budget.composed < most * epsilon.upper
    assert ledger.status().to_dict()["budgets"][0]["composed"] == budget.composed


def test_budgets_without_an_epsilon_have_none_so_far(tmp_path: Path) -> None:
    """Pure budgets add up epsilon; rho has no epsilon without a delta."""
    pure = dp.Ledger.create(tmp_path / "pure", budget=dp.PureDP(epsilon=1))
    pure.spend(dp.PureDP(epsilon=Fraction(1, 4)), key="a")
    concentrated = dp.Ledger.create(tmp_path / "rho", budget=dp.ZCDP(rho=1))

    assert pure.status().budgets[0].composed == 0.25
    assert concentrated.status().budgets[0].composed is None


def test_a_spend_says_which_ways_it_closes(tmp_path: Path) -> None:
    """Ways that its first spend divides no share to, and those that refuse a later one."""
    ledger = dp.Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    first = ledger.spend(training(1), key="training")
    stated = ledger.reserve(dp.ApproxDP(epsilon=Fraction(1, 100), delta=1e-9), key="stated")

    assert {"zcdp", "gdp"} <= set(first.closed)
    assert stated.closed == ("renyi-8", "renyi-11")
    stated.release()
    assert ledger.status().budgets[0].ways["renyi-8"].open
    assert ledger.spend(TABLE, key="table").closed == ()


@pytest.mark.parametrize("limit", [Fraction(1, 3), Fraction(10) ** 400])
def test_the_json_of_a_status_has_floats_beside_exact_numbers(
    tmp_path: Path, limit: Fraction
) -> None:
    """What is spent is rounded up, what is left and its share down; the texts are exact."""
    ledger = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=limit))
    ledger.spend(dp.ZCDP(rho=Fraction(1, 7)), key="a")
    with pytest.raises(dp.BudgetExceeded, match="rho"):
        ledger.spend(dp.ZCDP(rho=limit), key="b")
    (told,) = ledger.status().to_dict()["budgets"]
    way = told["ways"]["zcdp"]

    assert Fraction(way["spent"][0]) >= Fraction(1, 7) == Fraction(way["exact"]["spent"][0])
    assert way["spent"] == [pytest.approx(1 / 7)]
    for name in ("limit", "remaining"):
        assert Fraction(way[name][0]) <= Fraction(way["exact"][name][0])
    assert Fraction(told["remaining"]) <= ledger.status().budgets[0].remaining
    assert Fraction(way["exact"]["remaining"][0]) == limit - Fraction(1, 7)


def test_a_notebook_shows_what_is_left(tmp_path: Path) -> None:
    """Per budget, rounded down, with names escaped; of a ledger and of its status."""
    budget = dp.PureDP(epsilon=1)
    ledger = dp.Ledger.create(tmp_path / "ledger", budget=budget, dataset="<b>")
    ledger.spend(dp.PureDP(epsilon=Fraction(1, 3)), key="a", dataset="<b>")
    shown = ledger._repr_html_()
    assert shown == ledger.status()._repr_html_()
    assert "Ledger: 1 committed, 0 pending" in shown
    assert "<th>&lt;b&gt;</th>" in shown
    assert ": 66.66 % left" in shown


def test_a_status_is_printed_as_on_the_command_line(tmp_path: Path, command: Command) -> None:
    """It was a line of exact rationals of fifty digits."""
    place = tmp_path / "ledger"
    ledger = dp.Ledger.create(place, budget=dp.ApproxDP(epsilon=1, delta=1e-6))
    ledger.spend(dp.Gaussian(sigma=20, sensitivity=dp.L2(1)).guarantee(), key="a")
    printed = str(ledger.status())

    assert command.run("ledger", "status", str(place)).out.strip() == f"{place}: {printed}"
    assert "(1, 1e-06)-DP: " in printed
    assert "Fraction" not in printed
