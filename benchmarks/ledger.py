"""Spends of a ledger: the time of one, how long many spenders wait, and how many a second go."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Final, final

import pytest

from benchmarks.report import Goal, Progress, Section, seconds
from benchmarks.worker import Workers
from dpproof.accountant import L1, L2, ZCDP, AddRemove, ApproxDP, Guarantee, Poisson
from dpproof.ledger.ledger import Ledger
from dpproof.ledger.places import SQLiteDatabase
from dpproof.mechanisms import Gaussian, Laplace
from tests.dpproof.ledger import servers

LOCAL, RATE = 0.005, 200.0  # seconds a spend in a file, spends a second on PostgreSQL
CLIENTS: Final = (1, 4, 16)
_SPENDS: Final = 200  # of one measurement, by all clients together
_WARM: Final = 5
_EACH: Final = 40  # spends of each client that waits, in a round
_LATE, _LAST = 0.1, 1.0  # seconds of 99 % of all spends, and of the longest

_TRAININGS: Final = "(epsilon, delta), trainings"
_TRAINED, _NOISES = 0.05, (1.0, 2.0, 3.7)  # processor seconds of a new DP-SGD; in turn


def _training(number: int) -> Guarantee[AddRemove]:
    """Return one of many different trainings, of little to much noise in turn."""
    noise = _NOISES[number % len(_NOISES)] + number / 10_000
    one = Gaussian(sigma=noise, sensitivity=L2(1)).subsample(Poisson(sampling_rate=512 / 250_000))
    return one.repeat(4883).guarantee()


_LAPLACE: Final = Laplace(scale=20, sensitivity=L1(1)).guarantee()
_SPENT: Final[dict[str, tuple[Guarantee[AddRemove], Callable[[int], Guarantee[AddRemove]]]]] = {
    "rho of zCDP": (ZCDP(rho=10**6), lambda _: ZCDP(rho=Fraction(1, 64))),
    "a Gaussian's rho": (ZCDP(rho=10**6), lambda i: _gaussian(i).guarantee()),
    "(epsilon, delta), the same Laplace": (ApproxDP(epsilon=100, delta=1e-6), lambda _: _LAPLACE),
    "(epsilon, delta), Gaussians": (
        ApproxDP(epsilon=100, delta=1e-6),
        lambda i: _gaussian(i).guarantee(),
    ),
    _TRAININGS: (ApproxDP(epsilon=1000, delta=1e-6), _training),
}


def _gaussian(number: int) -> Gaussian[AddRemove]:
    """Return one of many different Gaussians."""
    return Gaussian(sigma=10 + Fraction(number, 1000), sensitivity=L2(1))


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of one spend in a file, in seconds.

    Attributes:
        wall: until it is on the disk.
        cpu: of the processor.
        disk: of one write of 8 kB that is flushed, in the same folder, in turn.
    """

    wall: float
    cpu: float
    disk: float


def spends(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Spend from new ledgers, and write down what that takes."""
    del workers
    section = Section(
        name="ledger",
        title="Spends of a ledger, reserved and committed, on the disk when the call returns",
        columns=("ledger", "what is spent", "clients", "a spend", "processor", "a second"),
    )
    local = {}
    for name, (budget, part) in _SPENT.items():
        progress(f"a file: {name}")
        times = _SPENDS // 2 * repeats // (8 if name == _TRAININGS else 1)
        local[name] = found = _in_a_file(budget, part, times)
        rate = f"{1 / found.wall:.0f}"
        section.rows.append(
            ("a file (SQLite)", name, "1", seconds(found.wall), seconds(found.cpu), rate)
        )
        section.data.append(
            {"what": name, "wall": found.wall, "cpu": found.cpu, "disk": found.disk}
        )
    rates = _on_servers(section, repeats, progress)
    disk = statistics.median(found.disk for found in local.values())
    section.notes.append(
        "Medians. Of the time of a spend in a file the disk took what one flush takes: a write of "
        f"8 kB alone, flushed in the same folder in turn with the spends, took {seconds(disk)}."
    )
    section.goals = [
        Goal(
            f"spend from a file, {name}",
            f"< {seconds(LOCAL)}",
            f"{seconds(found.wall)} (processor {seconds(found.cpu)}, "
            f"a flush {seconds(found.disk)})",
            found.wall < LOCAL,
        )
        for name, found in local.items()
        if name != _TRAININGS
    ] + [
        Goal(
            f"spends a second on PostgreSQL, {clients} clients",
            f">= {RATE:.0f}",
            f"{rate:.0f}",
            rate >= RATE,
        )
        for clients, rate in rates.items()
    ]
    cpu = local[_TRAININGS].cpu
    limit = f"< {seconds(_TRAINED)}"
    section.goals.append(Goal("processor of a new training", limit, seconds(cpu), cpu < _TRAINED))
    return section


def _in_a_file(
    budget: Guarantee[AddRemove], part: Callable[[int], Guarantee[AddRemove]], times: int
) -> Measured:
    """Spend from a new file, in turn with a write that is flushed."""
    walls, cpus, disk = [], [], []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ledger = Ledger.create(Path(folder) / "ledger", budget=budget)
        stack.callback(ledger.close)
        file = os.open(Path(folder) / "flushed", os.O_WRONLY | os.O_CREAT)
        stack.callback(os.close, file)
        for number in range(times + _WARM):
            one = part(number)
            wall, cpu = time.perf_counter(), time.process_time()
            ledger.spend(one, key=f"k{number}")
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
            wall = time.perf_counter()
            os.write(file, b"\0" * 8192)
            os.fsync(file)
            disk.append(time.perf_counter() - wall)
    return Measured(*(statistics.median(one[_WARM:]) for one in (walls, cpus, disk)))


def _on_servers(section: Section, repeats: int, progress: Progress) -> dict[int, float]:
    """Return the median rate of each number of clients on the first server there is."""
    for server in (servers.systems, servers.embedded):
        try:
            with server() as url:
                ledger = Ledger.create(url, budget=ZCDP(rho=10**6))
                ledger.close()
                return _rates(url, section, repeats, progress)
        except pytest.skip.Exception as reason:
            section.notes.append(f"Not measured: {reason}.")
    return {}


def _rates(url: str, section: Section, repeats: int, progress: Progress) -> dict[int, float]:
    """Let processes spend at once from one ledger on a server."""
    rates = {}
    for clients in CLIENTS:
        found = []
        for run in range(repeats):
            progress(f"PostgreSQL: {clients} clients")
            found.append(_at_once(url, clients, _SPENDS // clients, f"{clients}.{run}"))
        rates[clients] = rate = statistics.median(one.rate for one in found)
        cpu = statistics.median(one.cpu for one in found)
        texts = (str(clients), seconds(clients / rate), seconds(cpu), f"{rate:.0f}")
        section.rows.append(("PostgreSQL", "rho of zCDP", *texts))
        section.data.append({"clients": clients, "rate": rate, "cpu": cpu})
    return rates


def waits(workers: Workers, repeats: int, progress: Progress) -> Section:
    """Let processes spend at once from one file as fast as they can, and measure their waits."""
    del workers
    section = Section(
        name="waits",
        title="Spends from one file by many processes, each as fast as it can",
        columns=(
            *("clients", "median", "99 %", "longest", "processor", "lock held", "lock waited for"),
            *("a second", "median, of one client's"),
        ),
    )
    alone = 0.0
    for clients in CLIENTS:
        with tempfile.TemporaryDirectory() as folder:
            place = str(Path(folder) / "ledger")
            Ledger.create(place, budget=ZCDP(rho=10**6)).close()
            progress(f"{clients} clients")
            found = _at_once(place, clients, _EACH * repeats, str(clients))
        times = sorted(end - start for start, end in found.turns)
        median, late, last = (times[int(share * (len(times) - 1))] for share in (0.5, 0.99, 1.0))
        alone = alone or median
        asked, held = (statistics.median(one) for one in zip(*found.locks, strict=True))
        numbers = [median, late, last, found.cpu, held, asked]
        texts = (*map(seconds, numbers), f"{found.rate:.0f}", f"{median / alone:.1f}")
        section.rows.append((str(clients), *texts))
        section.data.append(dict(zip(section.columns, (clients, *numbers), strict=False)))
    name = f"spend from a file, {clients} clients"
    section.goals = [
        Goal(f"{name}, 99 %", f"< {seconds(_LATE)}", seconds(late), late < _LATE),
        Goal(f"{name}, longest", f"< {seconds(_LAST)}", seconds(last), last < _LAST),
    ]
    section.notes.append(
        "Who waits in turn waits for all others: n clients take n times the time of one, and more "
        "where they have to share the processors. Medians of the processor and of the lock."
    )
    return section


@final
@dataclass(frozen=True, slots=True)
class _AtOnce:
    """Spends of many processes at once.

    Attributes:
        turns: when each spend began and ended.
        cpu: processor seconds of a spend.
        locks: of each transaction in a file, the seconds until it had the lock, and with it.
    """

    turns: list[tuple[float, float]]
    cpu: float
    locks: list[tuple[float, float]]

    @property
    def rate(self) -> float:
        """Return spends a second of all together."""
        began, ended = min(one for one, _ in self.turns), max(one for _, one in self.turns)
        return len(self.turns) / (ended - began)


def _at_once(place: str, clients: int, each: int, name: str) -> _AtOnce:
    """Let processes spend at once, so many times each."""
    context: Any = multiprocessing.get_context("spawn")
    start, results = context.Barrier(clients), context.Queue()
    processes = [
        context.Process(target=_client, args=(place, f"{name}.{one}", each, start, results))
        for one in range(clients)
    ]
    for one in processes:
        one.start()
    told = [results.get(timeout=300) for _ in processes]
    for one in processes:
        one.join()
    turns, cpu, locks = zip(*told, strict=True)
    every = itertools.chain.from_iterable
    return _AtOnce([*every(turns)], sum(cpu) / (clients * each), [*every(locks)])


def _client(
    place: str, name: str, times: int, start: Barrier, results: Queue[tuple[Any, float, Any]]
) -> None:
    """Spend from a ledger, from when all others do."""
    ledger, turns = Ledger.open(place), []
    for number in range(_WARM):
        ledger.spend(ZCDP(rho=Fraction(1, 64)), key=f"{name}.warm{number}")
    with _timed_locks() as locks:
        start.wait(300)
        cpu = time.process_time()
        for number in range(times):
            began = time.time()
            ledger.spend(ZCDP(rho=Fraction(1, 64)), key=f"{name}.{number}")
            turns.append((began, time.time()))
        results.put((turns, time.process_time() - cpu, locks))
    ledger.close()


@contextmanager
def _timed_locks() -> Iterator[list[tuple[float, float]]]:
    """Time this process's turns at files: how long it waits for each, and how long it has it."""
    locks, turn = [], SQLiteDatabase._turn  # noqa: SLF001  # what is measured

    @contextmanager
    def timed(database: SQLiteDatabase) -> Iterator[None]:
        asked = time.perf_counter()
        with turn(database):
            given = time.perf_counter()
            yield
        locks.append((given - asked, time.perf_counter() - given))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SQLiteDatabase, "_turn", timed)
        yield locks
