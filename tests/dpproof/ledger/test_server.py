"""The same ledger on PostgreSQL."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

import dpproof as dp
from dpproof.ledger import places, spending
from dpproof.ledger.errors import AlreadySpent, LedgerError
from dpproof.ledger.ledger import Ledger
from dpproof.ledger.places import LOCK, Execute
from tests.dpproof.ledger import servers

PART = dp.ZCDP(rho=Fraction(1, 64))


@pytest.fixture(params=["embedded", "system's"], scope="module")
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a fresh PostgreSQL server."""
    with servers.embedded() if request.param == "embedded" else servers.systems() as found:
        yield found


def _run(url: str, sql: str) -> None:
    """Run a statement outside a ledger."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(sql)
    engine.dispose()


def _fresh(url: str, name: str) -> str:
    """Make a database on the server, and return its URL."""
    _run(url, f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")


def _spend(url: str, first: int) -> int:
    """Spend sixteen keys, eight of them in common with the next, and count what was committed."""
    ledger, done = Ledger.open(url), 0
    for number in range(first, first + 16):
        try:
            with ledger.reserve(PART, key=f"k{number}"):
                pass
        except (AlreadySpent, dp.BudgetExceeded):
            continue
        done += 1
    ledger.close()
    return done


@pytest.mark.slow
def test_sixteen_spenders_on_a_server(url: str) -> None:
    """They spend what there is, every key once, and no more; a second ledger is refused."""
    ledger = Ledger.create(url, budget=dp.ZCDP(rho=1))
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(url, budget=dp.ZCDP(rho=1))
    with ThreadPoolExecutor(16) as pool:
        done = sum(pool.map(lambda one: _spend(url, 8 * one), range(16)))
    status = ledger.status()

    assert done == len(status.committed) == 64
    assert status.budgets[0].remaining == 0
    with pytest.raises(dp.BudgetExceeded):
        ledger.reserve(PART, key="more")
    assert ledger.verify().entries == status.entries
    ledger.close()


@pytest.mark.slow
def test_a_lost_connection_spends_nothing_and_is_made_anew(url: str) -> None:
    """A spend whose connection is cut is refused, one after it goes through, and all is intact."""
    ledger = Ledger.create(_fresh(url, "other"), budget=dp.ZCDP(rho=1))
    ledger.spend(PART, key="before")
    _run(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'other'")
    with pytest.raises(LedgerError, match="nothing was spent"):
        ledger.spend(PART, key="cut")
    assert ledger.spend(PART, key="after").fresh
    assert set(ledger.status().committed) == {"before", "after"}
    assert ledger.verify().entries == 3
    ledger.close()


def _spend_until_lost(url: str, name: str, told: list[str]) -> None:
    """Spend until the server is gone, and tell the keys of the calls that came back."""
    ledger = Ledger.open(url)
    with contextlib.suppress(LedgerError):
        for number in itertools.count():
            ledger.spend(PART, key=f"{name}.{number}")
            told.append(f"{name}.{number}")
    ledger.close()


@pytest.mark.slow
def test_a_server_that_crashes_keeps_what_it_said_it_kept(url: str) -> None:
    """Its memory is lost and its log is read again: a spend whose call came back is there."""
    psycopg = pytest.importorskip("psycopg")
    ledger = Ledger.create(_fresh(url, "crashes"), budget=dp.ZCDP(rho=10**6))
    for run in range(3):
        told: list[str] = []
        with ThreadPoolExecutor(4) as pool:
            for spender in range(4):
                pool.submit(_spend_until_lost, ledger.place, f"{run}.{spender}", told)
            while len(told) < 16:
                time.sleep(0.01)
            with psycopg.connect(url.replace("+psycopg", "")) as victim:
                os.kill(victim.info.backend_pid, signal.SIGKILL)  # the others are ended for it
        ledger.close()
        for _ in range(1000):  # until the log was read, which a slow disk makes long
            with contextlib.suppress(LedgerError):
                status = ledger.status()
                break
            time.sleep(0.1)
        assert set(told) <= set(status.committed)
        assert len([key for key in status.committed if key.startswith(f"{run}.")]) <= len(told) + 4
    assert status.budgets[0].ways["zcdp"].spent == (len(status.committed) * PART.rho,)
    assert ledger.verify().entries == status.entries
    ledger.close()


@pytest.mark.slow
def test_a_client_that_stalls_is_undone_by_the_server(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Who waits for its lock is refused after a while, and goes on when the server has ended it."""
    monkeypatch.setattr(places, "_LOCK_WAIT", "200ms")
    monkeypatch.setattr(places, "_STALL", "15s")
    stalled = Ledger.create(_fresh(url, "stalls"), budget=dp.ZCDP(rho=1))
    waiting = Ledger.open(stalled.place)
    waiting.spend(PART, key="first")

    def stall() -> None:
        with stalled._database.transaction() as execute:
            execute(LOCK)
            with pytest.raises(LedgerError, match="lock timeout; nothing was spent"):
                waiting.spend(PART, key="a")
            for _ in range(1000):  # until the server ends the other
                with contextlib.suppress(LedgerError):
                    waiting.spend(PART, key="b")
                    break
            execute("SELECT 1")

    with pytest.raises(LedgerError, match="nothing was spent"):
        stall()
    assert waiting.status().committed == ("first", "b")
    stalled.spend(PART, key="c")
    assert waiting.verify().entries == 4
    assert "error ignored" not in caplog.text
    stalled.close()
    waiting.close()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_the_isolation_of_the_server_does_not_matter(url: str, level: str) -> None:
    """Four spenders at once lose nothing to a default under which the server would refuse them."""
    name = f"isolated_{level.replace(' ', '_')}"
    place = _fresh(url, name)
    _run(url, f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    ledger = Ledger.create(place, budget=dp.ZCDP(rho=1))

    def spend(first: int) -> None:
        opened = Ledger.open(place)
        for number in range(8):
            opened.spend(PART, key=f"{first}.{number}")
        opened.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spend, range(4)))
    assert len(ledger.status().committed) == 32
    assert ledger.verify().entries == 33
    for reading, stated in ((False, "read committed"), (True, "repeatable read")):
        with ledger._database.transaction(reading=reading) as execute:
            assert execute("SHOW transaction_isolation") == [(stated,)]
    ledger.close()


@pytest.mark.slow
def test_what_the_server_undid_for_another_is_repeated(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spend that lost a deadlock is made again, and refused if it always loses."""
    ledger = Ledger.create(_fresh(url, "deadlocks"), budget=dp.ZCDP(rho=1))
    raised = "RAISE EXCEPTION ''deadlock detected'' USING ERRCODE = ''40P01''"
    lost = f"DO 'BEGIN {raised}; END'"
    times, read = [2], spending.read_under_lock

    def losing(execute: Execute, *more: Any) -> Any:  # noqa: ANN401  # as what it replaces
        if times[0] > 0:
            times[0] -= 1
            execute(lost)
        return read(execute, *more)

    monkeypatch.setattr(spending, "read_under_lock", losing)
    assert ledger.spend(PART, key="a").fresh
    times[0] = 99
    with pytest.raises(LedgerError, match="deadlock detected; nothing was spent"):
        ledger.spend(PART, key="b")
    monkeypatch.undo()
    assert ledger.status().committed == ("a",)
    ledger.close()


def test_a_url_without_a_driver_is_refused() -> None:
    """A database that cannot be used is a refusal that says so."""
    with pytest.raises(LedgerError, match=r"SQLAlchemy|database"):
        Ledger.open("nothing+at-all://here")
