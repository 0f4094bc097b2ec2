"""Files of ledgers: who may read them, who waits, and formats that are not this one."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from dpproof.ledger import places
from dpproof.ledger.chain import canonical, digest
from dpproof.ledger.ledger import Ledger
from tests.dpproof.ledger.builders import run

PART = dp.ZCDP(rho=Fraction(1, 64))
# What an auditor runs who may read only, as another user where this one may write everything.
AUDIT = """
import os, sys
import urllib.parse  # which 3.13 looks for late, where nobody may read
import dpproof as dp

def audit(place, say):
    ledger = dp.Ledger.open(place)
    say(ledger.status().entries, ledger.verify().entries, len(ledger.export()["entries"]))
    say(len(ledger.certificates("a")), len(ledger.log()))
    try:
        ledger.spend(dp.ZCDP(rho=1 / 64), key="b")
    except dp.LedgerError as refusal:
        say(str(refusal).replace(place, "it"))

audit(sys.argv[2], lambda *_: None)  # imports everything
if os.geteuid() == 0:
    os.setgroups([])
    os.setuid(65534)
audit(sys.argv[1], print)
"""


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """A new ledger with one spend, in a folder that other users may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "folder").mkdir(mode=0o755)
        made = Ledger.create(Path(folder) / "folder" / "ledger", budget=dp.ZCDP(rho=1))
        made.spend(PART, key="a")
        yield made
        made.close()


@pytest.mark.skipif(os.name == "nt", reason="folders have other permissions there")
@pytest.mark.parametrize("open_", [False, True], ids=["closed", "while it is open"])
def test_a_folder_that_may_not_be_written_is_read(
    ledger: Ledger, tmp_path: Path, *, open_: bool
) -> None:
    """Everything that reads works there, and a spend is refused; nothing is written."""
    place = Path(ledger.place)
    if not open_:
        ledger.close()
    for one in place.parent.iterdir():
        one.chmod(0o444)
    place.parent.chmod(0o555)
    files = sorted(place.parent.iterdir())
    other = Ledger.create(tmp_path / "other", budget=dp.ZCDP(rho=1))
    other.spend(PART, key="a")
    found = subprocess.run(
        [sys.executable, "-c", AUDIT, str(place), other.place],
        capture_output=True,
        text=True,
        check=False,
    )
    place.parent.chmod(0o755)
    refusal = "it: attempt to write a readonly database; nothing was spent"
    assert (found.stdout.splitlines(), found.stderr) == (["2 2 2", "1 2", refusal], "")
    assert sorted(place.parent.iterdir()) == files


def test_a_file_that_is_written_while_it_is_read_without_locks_is_refused(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that was half read is called a ledger, or a damaged one."""
    ledger.close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    reader = Ledger.open(ledger.place)
    assert reader.status().entries == 2
    with (
        pytest.raises(dp.LedgerError, match="written while it was read"),
        reader._database.transaction(reading=True),
    ):
        os.utime(ledger.place, ns=(1, 1))
    assert reader.status().entries == 2


def test_a_file_that_is_written_while_it_is_copied_without_locks_is_refused(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A copy of what was half written is not called a backup."""
    ledger.close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    reader, connect = Ledger.open(ledger.place), sqlite3.connect
    reader.backup(tmp_path / "whole")

    def writing(place: str, **how: Any) -> Any:  # noqa: ANN401
        if place == str(tmp_path / "half"):
            os.utime(ledger.place, ns=(1, 1))
        return connect(place, **how)

    monkeypatch.setattr(sqlite3, "connect", writing)
    with pytest.raises(dp.LedgerError, match="written while it was read"):
        reader.backup(tmp_path / "half")


def test_a_file_that_may_not_be_seen_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may not enter its folder is told so in a line."""

    def forbidden(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", forbidden)
    with pytest.raises(dp.LedgerError, match="Permission denied; nothing was read or spent"):
        Ledger.open("theirs/ledger")


def test_writers_queue_by_a_file_with_the_mode_of_the_ledger(ledger: Ledger) -> None:
    """Whoever may write the ledger may queue; what cannot be opened spends nothing."""
    queue = Path(f"{ledger.place}-queue")
    queue.unlink()
    Path(ledger.place).chmod(0o660)
    ledger.spend(PART, key="b")
    assert queue.stat().st_mode & 0o777 == 0o660
    queue.unlink()
    queue.mkdir()
    with pytest.raises(dp.LedgerError, match="nothing was spent"):
        ledger.spend(PART, key="c")
    assert ledger.status().committed == ("a", "b")


@pytest.mark.skipif(os.name == "nt", reason="there a writer polls")
def test_a_writer_that_holds_its_turn_too_long_is_passed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is fairness alone: after a while SQLite's own lock decides."""
    monkeypatch.setattr(places, "_WAIT", 0.2)
    held = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX)"
    command = [sys.executable, "-c", f"{held}; print(flush=True); input()", f"{ledger.place}-queue"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        start, before = time.monotonic(), threading.active_count()
        ledger.spend(PART, key="b")
        assert 0.2 <= time.monotonic() - start < 20
        other.communicate(b"\n")
    for _ in range(200):
        if threading.active_count() == before:
            break
        time.sleep(0.01)
    assert threading.active_count() == before
    ledger.spend(PART, key="c")


def test_names_that_were_changed_are_found(ledger: Ledger) -> None:
    """By whoever asks for them before a limit, and by a verification."""
    ledger.spend(PART, key="b", dataset="x")
    run(ledger, "DELETE FROM names WHERE number = 2")
    with pytest.raises(dp.LedgerDamaged, match="names that were spent on"):
        ledger.limit(dp.ZCDP(rho=1), dataset="x")
    with pytest.raises(dp.LedgerDamaged, match="names that were spent on"):
        ledger.verify()


@pytest.mark.parametrize(("form", "named"), [(3, "a newer version"), (1, "before its first rel")])
def test_another_format_is_refused_as_such(
    form: int, named: str, ledger: Ledger, tmp_path: Path
) -> None:
    """Not as damage: whoever reads it is told what wrote it; of its export as well."""
    exported = ledger.export()
    ((text,),) = run(ledger, "SELECT state FROM head")
    state = canonical(json.loads(text) | {"format": form, "unknown": []})
    run(ledger, "UPDATE head SET state = ?", state)
    body = canonical({"state": digest(state), "others": "than here"})
    run(ledger, "UPDATE entries SET body = ? WHERE number = 2", body)
    for asked in (partial(Ledger.open, ledger.place), ledger.status, ledger.log, ledger.verify):
        with pytest.raises(dp.LedgerError, match=named) as refusal:
            asked()
        assert not isinstance(refusal.value, dp.LedgerDamaged)
    with pytest.raises(dp.LedgerError, match=named):
        ledger.spend(PART, key="b")

    exported["entries"][0]["entry"]["format"] = form
    with pytest.raises(dp.LedgerError, match="of this version") as refusal:
        Ledger.from_export(exported, tmp_path / "imported")
    assert not isinstance(refusal.value, dp.LedgerDamaged)


@pytest.mark.slow
def test_what_a_spend_rewrites_is_as_short_after_many_names(tmp_path: Path) -> None:
    """The state after 400 principals is that after 50, but for longer numbers."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=10**6))
    sizes = []
    for number in range(400):
        ledger.spend(PART, key=f"k{number}", principal=f"person {number}")
        if number in (49, 399):
            with closing(sqlite3.connect(tmp_path / "ledger")) as reader:
                sizes += reader.execute("SELECT length(state) FROM head").fetchone()
    assert sizes[1] < sizes[0] + 100
    assert ledger.verify().entries == 401
