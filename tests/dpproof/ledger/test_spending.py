"""What the entry of a spend covers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp
from tests.dpproof.ledger.builders import run

SMALL, LARGE = dp.ZCDP(rho=Fraction(1, 100)), dp.ZCDP(rho=Fraction(9, 10))


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    """A ledger of rho 1 with a small spend that is pending."""
    made = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1))
    made.reserve(SMALL, key="small")
    return made


def test_a_key_whose_request_was_exchanged_is_found(ledger: dp.Ledger, tmp_path: Path) -> None:
    """It neither runs for another mechanism nor passes a verification."""
    other = dp.Ledger.create(tmp_path / "other", budget=dp.ZCDP(rho=1))
    other.reserve(LARGE, key="small")
    ((digest,),) = run(other, "SELECT digest FROM spends")
    run(ledger, "UPDATE spends SET digest = ?", digest)

    with pytest.raises(dp.LedgerDamaged, match="does not stand for what its entry says"):
        ledger.reserve(LARGE, key="small")
    with pytest.raises(dp.LedgerDamaged, match="keys are not those"):
        ledger.verify()


def test_a_key_whose_owner_was_exchanged_is_found(ledger: dp.Ledger) -> None:
    """Which attempt may commit is in the entries, also after it was taken over."""
    ledger.reserve(SMALL, key="small")
    assert ledger.verify().entries == 3
    run(ledger, "UPDATE spends SET owner = 'f' || substr(owner, 2) || 'f'")

    with pytest.raises(dp.LedgerDamaged, match="keys are not those"):
        ledger.verify()


def test_a_pending_key_that_is_spent_is_in_the_entries(ledger: dp.Ledger) -> None:
    """It is taken over and committed by one entry, and paid for once."""
    assert ledger.spend(SMALL, key="small").fresh
    assert not ledger.spend(SMALL, key="small", idempotent=True).fresh
    with pytest.raises(dp.AlreadySpent, match="run nothing for it again"):
        ledger.spend(SMALL, key="small")

    assert ledger.verify().entries == 3
    assert ledger.status().budgets[0].ways["zcdp"].spent == (SMALL.rho,)
