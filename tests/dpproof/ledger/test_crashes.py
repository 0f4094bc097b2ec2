"""Processes that are killed and processes that compete: nothing is lost, nothing paid twice."""

from __future__ import annotations

import secrets
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp
from dpproof.ledger.ledger import Ledger

SPENDER = """
import sys
import dpproof as dp
from dpproof.ledger.errors import AlreadySpent

ledger = dp.Ledger.open(sys.argv[1])
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    key = f"k{number}"
    try:
        with ledger.reserve(dp.ZCDP(rho=1 / 64), key=key):
            pass
        print(key, flush=True)
    except (AlreadySpent, dp.BudgetExceeded):
        print("refused", key, flush=True)
"""

KILLER = """
import itertools, os, random, signal, sys, time
import dpproof as dp

place, kills = sys.argv[1], int(sys.argv[2])
moments = random.Random(int(sys.argv[3]))
dp.Ledger.open(place).reserve(dp.ZCDP(rho=1 / 64), key="warm").release()
for run in range(kills):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        ledger = dp.Ledger.open(place)
        for number in itertools.count():
            with ledger.reserve(dp.ZCDP(rho=1 / 64), key=f"k{run}.{number}"):
                pass
            os.write(writer, f"k{run}.{number}\\n".encode())
    os.close(writer)
    time.sleep(moments.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.stdout.write(os.fdopen(reader).read())
"""


def survives(place: Path, kills: int) -> None:
    """Kill spenders at random points, and compare the ledger with what they said."""
    seed = secrets.randbits(32)
    print("seed", seed)  # noqa: T201  # shown if the test fails
    ledger = Ledger.create(place, budget=dp.ZCDP(rho=10**9))
    command = [sys.executable, "-c", KILLER, str(place), str(kills), str(seed)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    status, verified = ledger.status(), ledger.verify()

    assert set(told) <= set(status.committed)
    assert len(status.pending) + len(status.committed) - len(told) <= kills
    keys = (*status.committed, *status.pending)
    assert status.budgets[0].ways["zcdp"].spent == (Fraction(len(keys), 64),)
    assert verified.entries == status.entries


def test_spenders_killed_at_random_points(tmp_path: Path) -> None:
    """What a killed spender said to have committed is there, and every sum is right."""
    survives(tmp_path / "ledger", kills=4)


@pytest.mark.slow
def test_a_thousand_spenders_killed_at_random_points(tmp_path: Path) -> None:
    """The same, a thousand times."""
    survives(tmp_path / "ledger", kills=1000)


def spender(place: Path, first: int, count: int) -> subprocess.Popen[str]:
    """A process that spends 1/64 for each of some keys, and prints the keys that it committed."""
    command = [sys.executable, "-c", SPENDER, str(place), str(first), str(first + count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def compete(place: Path, spenders: int, each: int) -> None:
    """Let spenders with keys of their own, and some in common, empty a budget."""
    ledger = Ledger.create(place, budget=dp.ZCDP(rho=Fraction(each, 64) * spenders / 2))
    processes = [spender(place, each * one, each) for one in range(spenders)]
    processes += [spender(place, 0, each)]  # the first one's keys once more
    lines = [line for one in processes for line in one.communicate()[0].splitlines()]
    committed = [line for line in lines if line.startswith("k")]
    status = ledger.status()

    assert sorted(committed) == sorted(status.committed)  # each by one process alone
    assert len(committed) == spenders * each // 2
    assert status.budgets[0].remaining == 0
    assert ledger.verify().entries == status.entries


@pytest.mark.slow
def test_competing_spenders(tmp_path: Path) -> None:
    """Two spenders and one with the keys of another spend the whole budget and no more."""
    compete(tmp_path / "ledger", spenders=2, each=4)


@pytest.mark.slow
def test_sixteen_competing_spenders(tmp_path: Path) -> None:
    """The same with sixteen."""
    compete(tmp_path / "ledger", spenders=16, each=20)
