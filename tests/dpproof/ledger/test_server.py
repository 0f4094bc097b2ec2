"""The same ledger on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import dpproof as dp
from dpproof.ledger.errors import AlreadySpent, LedgerError
from dpproof.ledger.ledger import Ledger
from tests.dpproof.ledger import servers

PART = dp.ZCDP(rho=Fraction(1, 64))


@pytest.fixture(params=["embedded", "system's"], scope="module")
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a fresh PostgreSQL server."""
    with servers.embedded() if request.param == "embedded" else servers.systems() as found:
        yield found


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
    other = url.replace("/postgres?", "/other?")
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE other")
    ledger = Ledger.create(other, budget=dp.ZCDP(rho=1))
    ledger.spend(PART, key="before")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'other'"
        )
    engine.dispose()
    with pytest.raises(LedgerError, match="nothing was spent"):
        ledger.spend(PART, key="cut")
    assert ledger.spend(PART, key="after")
    assert set(ledger.status().committed) == {"before", "after"}
    assert ledger.verify().entries == 3
    ledger.close()


def test_a_url_without_a_driver_is_refused() -> None:
    """A database that cannot be used is a refusal that says so."""
    with pytest.raises(LedgerError, match=r"SQLAlchemy|database"):
        Ledger.open("nothing+at-all://here")
