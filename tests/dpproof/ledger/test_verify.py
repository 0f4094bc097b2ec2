"""What a verification of a ledger proves again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from dpproof.accountant.adaptive import several_filters
from dpproof.accountant.adaptive.several_filters import limits
from dpproof.ledger.errors import LedgerDamaged
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
