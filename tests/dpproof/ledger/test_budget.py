"""Budgets as a ledger keeps them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import dpproof as dp


def test_sums_of_many_denominators_stay_short(tmp_path: Path) -> None:
    """A ledger goes on after a sum of fractions that no two of share; costs are rounded up."""
    ledger = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1))
    parts = [Fraction(1, 2**250 + 2 * number + 1) for number in range(12)]
    for number, part in enumerate(parts):
        ledger.spend(dp.ZCDP(rho=part), key=str(number))

    (spent,) = ledger.status().budgets[0].ways["zcdp"].spent
    assert 0 <= spent - sum(parts) <= Fraction(12, 2**256)
    assert ledger.verify().uncertified == ()
