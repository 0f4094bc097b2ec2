"""What the entry of a spend covers."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp

SMALL, LARGE = dp.ZCDP(rho=Fraction(1, 100)), dp.ZCDP(rho=Fraction(9, 10))
OLDER = Path(__file__).with_name("without_requests.sql")


def run(ledger: dp.Ledger, sql: str, *values: str) -> list[tuple[str]]:
    """Change the file of a ledger."""
    ledger.close()
    with sqlite3.connect(ledger.place) as connection:
        rows = connection.execute(sql, values).fetchall()
    connection.close()
    return rows


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    """A ledger of rho 1 with a small spend that is pending."""
    made = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1))
    made.reserve(SMALL, key="small")
    return made


@pytest.fixture
def older(tmp_path: Path) -> dp.Ledger:
    """A ledger of before entries had requests: a key committed, a key pending."""
    connection = sqlite3.connect(tmp_path / "older")
    connection.executescript(OLDER.read_text(encoding="utf-8"))
    connection.close()
    return dp.Ledger.open(tmp_path / "older")


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


def test_older_ledgers_are_read_and_spent_from(older: dp.Ledger) -> None:
    """Their keys and ways go on; verification names the keys whose request is uncovered."""
    part = dp.ZCDP(rho=Fraction(1, 50))
    assert older.verify().uncovered == ("first", "second")
    with pytest.raises(dp.AlreadySpent):
        older.spend(part, key="first", dataset="patients", principal="ann")
    older.reserve(part, key="second", dataset="other").commit()  # was spent on before
    older.spend(part, key="third", dataset="patients")
    with pytest.raises(dp.LedgerError, match="did you mean 'patients'"):
        older.spend(part, key="fourth", dataset="patient")

    found = older.verify()
    assert (found.entries, found.uncovered) == (7, ("first", "second"))
    (whole,) = (one for one in older.status().budgets if one.dataset is None)
    assert set(whole.ways) == {"basic", "zcdp"}
