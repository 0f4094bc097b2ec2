"""What a verification of a ledger proves again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from accountant.adaptive.several_filters import limits
from dpproof.ledger import budget
from dpproof.ledger.errors import LedgerDamaged
from dpproof.ledger.ledger import Ledger


@pytest.mark.parametrize(("factor", "holds"), [(1 - 1e-7, True), (1 + 1e-6, False)])
def test_limits_of_other_roundings_are_verified_by_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, *, holds: bool
) -> None:
    """A budget divided below today's limits still holds; one above what is proved does not."""

    def other(**goal: Any) -> dict[str, tuple[Fraction, ...]]:  # noqa: ANN401  # as limits
        (rho,) = limits(**goal)["zcdp"]
        return {**limits(**goal), "zcdp": (rho * Fraction(factor),)}

    monkeypatch.setattr(budget, "limits", other)
    made = Ledger.create(tmp_path / "older", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    made.spend(dp.Gaussian(sigma=40, sensitivity=dp.L2(1)).guarantee(), key="a")
    monkeypatch.undo()

    if holds:
        assert made.verify().entries == 2
    else:
        with pytest.raises(LedgerDamaged, match="more than the budget"):
            made.verify()
