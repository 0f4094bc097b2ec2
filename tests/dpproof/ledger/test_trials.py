"""Ledgers whose connections are cut, whose disk is full, and whose writers are many."""

from __future__ import annotations

import contextlib
import json
import random
import secrets
import socket
import subprocess
import sys
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp
from dpproof.ledger.errors import LedgerError
from dpproof.ledger.ledger import Ledger
from tests.dpproof.ledger import servers

PART = dp.ZCDP(rho=Fraction(1, 64))
CUTS, CLIENTS, MOST_SPENDS = 90, 8, 600  # of a trial, at least, and at most


def seeded() -> random.Random:
    """Randomness whose seed is shown if a test fails."""
    seed = secrets.randbits(32)
    print("seed", seed)  # noqa: T201
    return random.Random(seed)  # noqa: S311  # draws no noise


class Cutter:
    """A proxy that cuts each connection after some bytes, of either direction."""

    def __init__(self, server: str, chance: random.Random) -> None:
        self.server, self.chance, self.cuts = server, chance, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.server)
                bytes_left = [self.chance.randrange(2_000, 40_000)]
                for source, sink in ((client, server), (server, client)):
                    given = (source, sink, bytes_left)
                    threading.Thread(target=self._pass_on, args=given, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, bytes_left: list[int]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                sink.sendall(data[: max(0, bytes_left[0])])
                bytes_left[0] -= len(data)
                if bytes_left[0] <= 0:
                    self.cuts += 1
                    break
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    """The URL of a server that listens on a socket of the file system."""
    with servers.embedded() as url:
        yield url


@pytest.mark.slow
def test_connections_that_are_cut_lose_nothing(place: str) -> None:
    """What was acknowledged is there, what was refused is not, and every sum is exact."""
    folder = place.partition("?host=")[2]
    cutter = Cutter(f"{folder}/.s.PGSQL.5432", seeded())
    straight = Ledger.create(place, budget=dp.ZCDP(rho=10**6))
    through = f"postgresql+psycopg://postgres@127.0.0.1:{cutter.port}/postgres?sslmode=disable"

    def spend(client: int) -> list[tuple[str, str]]:
        told = []
        ledger: Ledger | None = None
        for number in range(MOST_SPENDS):
            key = f"{client}.{number}"
            try:
                ledger = ledger or Ledger.open(through)
                ledger.spend(PART, key=key)
                told.append((key, "acknowledged"))
            except LedgerError as refusal:
                words = ("nothing was spent", "is not known")
                (known,) = (one for one in words if one in str(refusal))
                told.append((key, known))
            if cutter.cuts > CUTS:
                break
        if ledger is not None:
            ledger.close()
        return told

    with ThreadPoolExecutor(CLIENTS) as pool:
        told = dict(one for each in pool.map(spend, range(CLIENTS)) for one in each)
    cutter.listener.close()
    committed = set(straight.status().committed)
    counts = Counter(told.values())
    print(counts, cutter.cuts)  # noqa: T201  # shown if the test fails
    assert counts["acknowledged"] > CUTS < cutter.cuts
    for key, outcome in told.items():
        assert outcome == "is not known" or (key in committed) == (outcome == "acknowledged")
    assert committed <= told.keys()
    spent = straight.status().budgets[0].ways["zcdp"].spent
    assert spent == (len(committed) * PART.rho,)
    assert straight.verify().entries == 1 + len(committed)
    straight.close()


@pytest.mark.slow
def test_two_ledgers_share_a_database(place: str) -> None:
    """By a prefix of their tables, by a schema, or by both; a bad one is refused."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(place, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE SCHEMA audit")
    engine.dispose()
    for number, tables in enumerate(("team_", "audit.", "audit.team_"), start=1):
        ledger = Ledger.create(f"{place}#{tables}", budget=dp.ZCDP(rho=number))
        for key in range(number):
            ledger.spend(PART, key=str(key))
        ledger.close()
    for number, tables in enumerate(("team_", "audit.", "audit.team_"), start=1):
        found = Ledger.open(f"{place}#{tables}")
        assert len(found.status().committed) == number
        assert found.verify().entries == number + 1
        found.close()
    for bad in ("team", "a.b.", "x;--_", "A_", "1_"):
        with pytest.raises(LedgerError, match="begins the names of tables"):
            Ledger.open(f"{place}#{bad}")


# Spends until its file may not grow, says what came of each, and goes on where it may again.
FULL = """
import json, resource, sys
from fractions import Fraction
import dpproof as dp

part = dp.ZCDP(rho=Fraction(1, 64))
ledger = dp.Ledger.open(sys.argv[1])
ledger.spend(part, key="warm")
told = {"warm": ""}
for number in range(1200):
    limit = [150_000, 400_000, resource.RLIM_INFINITY][min(2, number // 500)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        ledger.spend(part, key=str(number))
        told[str(number)] = ""
    except dp.LedgerError as refusal:
        told[str(number)] = str(refusal)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes there")
def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path) -> None:
    """Hundreds of refusals, each said to have spent nothing; with space it goes on."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=10**6))
    found = subprocess.run(
        [sys.executable, "-c", FULL, ledger.place], capture_output=True, text=True, check=True
    )
    told: dict[str, str] = json.loads(found.stdout)
    refused = {key: one for key, one in told.items() if one}
    assert len(refused) > 200
    assert all("nothing was spent" in one for one in refused.values())
    assert not [key for key in refused if key.isdigit() and int(key) >= 1000]
    assert set(ledger.status().committed) == told.keys() - refused.keys()
    spent = ledger.status().budgets[0].ways["zcdp"].spent
    assert spent == ((len(told) - len(refused)) * PART.rho,)
    assert ledger.verify().entries == 1 + len(told) - len(refused)


# Sixteen writers; prints when each of their spends began and when it ended.
WRITERS = """
import json, multiprocessing, sys, time
from fractions import Fraction
import dpproof as dp

part = dp.ZCDP(rho=Fraction(1, 64))

def write(name):
    ledger = dp.Ledger.open(sys.argv[1])
    ledger.reserve(part, key=f"warm {name}").release()
    ready.wait()
    turns = []
    for number in range(40):
        start = time.monotonic()
        ledger.spend(part, key=f"{name}.{number}")
        turns.append((start, time.monotonic()))
    told.put(turns)

dp.Ledger.open(sys.argv[1]).reserve(part, key="warm").release()
context = multiprocessing.get_context("fork")
ready, told = context.Barrier(16), context.Queue()
writers = [context.Process(target=write, args=(name,)) for name in range(16)]
for one in writers:
    one.start()
print(json.dumps([turn for _ in writers for turn in told.get()]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there a writer polls, and nobody forks")
def test_sixteen_writers_wait_in_turn(tmp_path: Path) -> None:
    """Nobody lets four rounds of others come first; by one lock for all some let 142 of 640."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ZCDP(rho=10**6))
    command = [sys.executable, "-c", WRITERS, ledger.place]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    turns: list[tuple[float, float]] = json.loads(found.stdout)
    given = sorted(end for _, end in turns)
    before = sorted(bisect_left(given, end) - bisect_left(given, start) for start, end in turns)
    waits = sorted(end - start for start, end in turns)
    print(before[633], before[-1], waits[633], waits[-1])  # noqa: T201
    assert len(turns) == 640
    assert before[-1] < 64
    assert len(ledger.status().committed) == 640
