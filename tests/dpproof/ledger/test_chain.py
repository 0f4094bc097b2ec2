"""A hash that is kept outside the ledger, and copies of the ledger."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import pytest

import dpproof as dp
from tests.dpproof.command import Command
from tests.dpproof.files import LAPLACE, PIPELINE

PART = dp.ZCDP(rho=0.01)


def test_a_cut_log_is_found_by_the_hash_that_was_kept(tmp_path: Path) -> None:
    """A copy without the log of a process that lives is an older ledger, which verifies."""
    place, head = tmp_path / "ledger", tmp_path / "head"
    ledger = dp.Ledger.create(place, budget=dp.ZCDP(rho=1), head_file=head)
    ledger.close()
    ledger.spend(PART, key="a")
    shutil.copy(place, tmp_path / "copy")  # the spend is in ledger-wal only

    assert dp.Ledger.open(tmp_path / "copy").verify().entries == 1
    with pytest.raises(dp.LedgerDamaged, match="its end was cut"):
        dp.Ledger.open(tmp_path / "copy", head_file=head)
    assert dp.Ledger.open(place, head_file=head).verify().entries == 2


def test_every_write_keeps_its_hash(tmp_path: Path) -> None:
    """Reservations, commits, releases, limits and spends, of this process and of a pickle."""
    head = tmp_path / "head"
    ledger = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1), head_file=head)

    def kept() -> bool:
        return head.read_text(encoding="ascii").strip() == ledger.status().head

    assert kept()
    ledger.limit(dp.ZCDP(rho=1), dataset="census")
    assert kept()
    with ledger.reserve(PART, key="a"):
        assert kept()
    assert kept()
    ledger.reserve(PART, key="b").release()
    assert kept()
    pickle.loads(pickle.dumps(ledger)).spend(PART, key="c")  # noqa: S301  # our own
    assert kept()
    assert sorted(one.name for one in tmp_path.iterdir() if "head" in one.name) == ["head"]


def test_a_hash_that_is_missing_or_anothers_is_refused(tmp_path: Path) -> None:
    """A ledger is opened with a hash that is there, and made with one that is not."""
    place, head = tmp_path / "ledger", tmp_path / "head"
    dp.Ledger.create(place, budget=dp.ZCDP(rho=1), head_file=head)
    with pytest.raises(dp.LedgerError, match="exists already"):
        dp.Ledger.create(tmp_path / "other", budget=dp.ZCDP(rho=1), head_file=head)
    assert not (tmp_path / "other").exists()
    with pytest.raises(dp.LedgerError, match="no hash of an entry"):
        dp.Ledger.open(place, head_file=tmp_path / "nothing")
    other = dp.Ledger.create(tmp_path / "other", budget=dp.ZCDP(rho=2))
    with pytest.raises(dp.LedgerDamaged, match="another ledger"):
        dp.Ledger.open(other.place, head_file=head)


def test_a_backup_has_what_is_in_the_log_only(tmp_path: Path, command: Command) -> None:
    """Made while a process lives, it has every spend; a file that is there is left alone."""
    head = str(tmp_path / "head")
    place, copy = tmp_path / "ledger", tmp_path / "copy"
    ledger = dp.Ledger.create(place, budget=dp.ZCDP(rho=1), head_file=head)
    ledger.spend(PART, key="a")

    assert command.run("ledger", "backup", str(place), str(copy)).status == 0
    assert command.run("ledger", "backup", str(place), str(copy)).status == 2
    opened = dp.Ledger.open(copy, head_file=head)
    assert opened.status() == ledger.status()
    assert opened.verify().entries == 2
    assert command.run("ledger", "verify", str(copy), "--head-file", head).status == 0
    ledger.spend(PART, key="b")
    assert command.run("ledger", "verify", str(copy), "--head-file", head).status == 1
    file = command.file(PIPELINE + LAPLACE)
    spend = ("ledger", "spend", str(copy), file, "--key", "c")
    assert command.run(*spend, "--head-file", head).status == 2
    assert command.run(*spend).status == 0


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    """Status, verification, export and certificates read what was there before it."""
    ledger = dp.Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=1))
    ledger.spend(PART, key="a")
    reader = dp.Ledger.open(tmp_path / "ledger")
    with ledger._database.transaction() as execute:
        execute("DELETE FROM entries")
        assert reader.verify().entries == reader.status().entries == 2
        assert len(reader.export()["entries"]) == 2
        assert reader.certificates("a")
        execute("ROLLBACK")
        execute("BEGIN")
