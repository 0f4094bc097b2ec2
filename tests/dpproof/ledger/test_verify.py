"""What a verification of a ledger proves again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from dpproof.accountant.adaptive import several_filters
from dpproof.accountant.adaptive.several_filters import limits
from dpproof.ledger.chain import START, canonical, digest, linked
from dpproof.ledger.errors import LedgerDamaged, LedgerError
from dpproof.ledger.ledger import Ledger


def test_a_ledger_of_three_ways_is_verified_and_spent_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget divided before there were Renyi ways holds, and keeps its three."""
    goal = {"epsilon": Fraction(3), "delta": Fraction(1, 10**6)}
    shares = {"basic": 2, "zcdp": 4, "gdp": 4}
    older = {
        way: limits(**{**goal, "delta": goal["delta"] / part}, ways=[way])[way]
        for way, part in shares.items()
    }
    monkeypatch.setattr(several_filters, "ways", lambda **_: tuple(older))
    monkeypatch.setattr(several_filters, "limits", lambda **_: older)
    made = Ledger.create(tmp_path / "older", budget=dp.ApproxDP(epsilon=3, delta=goal["delta"]))
    table = dp.Gaussian(sigma=40, sensitivity=dp.L2(1)).guarantee()
    made.spend(table, key="a")
    monkeypatch.undo()

    made.spend(table, key="b")

    assert set(made.status().budgets[0].ways) == set(shares)
    assert made.verify().entries == 3
    assert made.status().budgets[0].guarantee.certify().claim["epsilon"] == "3"


@pytest.mark.parametrize(("factor", "holds"), [(1 - 1e-7, True), (1 + 1e-6, False)])
def test_limits_of_other_roundings_are_verified_by_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, *, holds: bool
) -> None:
    """A budget divided below today's limits still holds; one above what is proved does not."""

    def other(**goal: Any) -> dict[str, tuple[Fraction, ...]]:  # noqa: ANN401  # as limits
        (rho,) = limits(**goal)["zcdp"]
        return {**limits(**goal), "zcdp": (rho * Fraction(factor),)}

    monkeypatch.setattr(several_filters, "limits", other)
    made = Ledger.create(tmp_path / "older", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    made.spend(dp.Gaussian(sigma=40, sensitivity=dp.L2(1)).guarantee(), key="a")
    monkeypatch.undo()

    if holds:
        assert made.verify().entries == 2
    else:
        with pytest.raises(LedgerDamaged, match="more than the budget"):
            made.verify()


@pytest.mark.parametrize(
    "forged",
    [
        {"limits": {"basic": ["100", "0"]}},
        {"goal": {"notion": "pure-dp", "epsilon": "-1"}},
        {"proposed": {"goal": {"notion": "pure-dp", "epsilon": "9"}, "by": "ann"}},
    ],
)
def test_a_budget_that_is_opened_above_its_goal_is_found(
    tmp_path: Path, forged: dict[str, Any]
) -> None:
    """With hashes that fit: limits above a goal, a goal that is none, a name that never signed."""
    export = Ledger.create(tmp_path / "made", budget=dp.PureDP(epsilon=1)).export()
    (made,) = export["entries"]
    budgets = made["entry"]["opened"]
    state = {"format": 2, "names": [0, ""], "open_names": False, "relation": "add-remove"}
    assert made["state"] == digest(canonical({**state, "budgets": budgets}))
    budgets["[null,null]"] |= forged
    made["state"] = digest(canonical({**state, "budgets": budgets}))
    body = canonical({"entry": made["entry"], "state": made["state"]})
    made["hash"] = linked(START, body)

    with pytest.raises(LedgerDamaged, match="first entry"):
        Ledger.from_export(export, tmp_path / "imported")


def test_entries_of_another_form_are_damage(tmp_path: Path) -> None:
    """What is no object where one belongs is refused as all that does not fit."""
    export = Ledger.create(tmp_path / "made", budget=dp.PureDP(epsilon=1)).export()
    (made,) = export["entries"]
    for opened in ("1", 1, None):
        entry = {**made["entry"], "opened": opened}
        link = linked(START, canonical({"entry": entry, "state": made["state"]}))
        forged = {**export, "entries": [{**made, "entry": entry, "hash": link}]}
        with pytest.raises(LedgerDamaged, match="first entry"):
            Ledger.from_export(forged, tmp_path / "imported")
    with pytest.raises(LedgerError, match="is not what dpproof ledger export"):
        Ledger.from_export({**export, "certificates": []}, tmp_path / "imported")
