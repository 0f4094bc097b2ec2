"""A killed audit goes on where it was, and only that audit does."""

from __future__ import annotations

import importlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant import GDP
from dpproof.auditing import Outcome, Pair, Report, StoreRefused, Unidentified
from tests.architecture.tree import ROOT
from tests.auditing.samplers import discrete_laplace, laplace, textbook_laplace

SLOW = """
import time
import numpy as np
from dpproof import auditing

pause = 0.02
calls = open('calls', 'w')

def train(value, size, rng):
    time.sleep(pause)
    calls.write("x")
    calls.flush()
    return np.rint((value + rng.laplace(size=size)) * 2**30) / 2**30

def run(store):
    return auditing.audit(train, (0.0, 1.0), (1, 0), samples=150, seed=5, chunk=3, store=store)
"""


def stored(path: Path) -> int:
    """How many chunks a file has."""
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("SELECT count(*) FROM chunks").fetchone()[0])


@pytest.mark.slow
def test_a_killed_audit_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed without a warning, it draws what is missing and reports what it would have."""
    (tmp_path / "slow_training.py").write_text(SLOW, encoding="utf-8")
    file = tmp_path / "killed"
    killed = subprocess.Popen(
        [sys.executable, "-c", "import slow_training; slow_training.run('killed')"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])},
    )
    calls = tmp_path / "calls"
    while not calls.exists() or calls.stat().st_size < 50:
        assert killed.poll() is None
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = stored(file)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    training = importlib.import_module("slow_training")
    monkeypatch.setattr(training, "pause", 0.0)
    with training.calls:
        resumed, whole = training.run(file), training.run(tmp_path / "whole")

    assert killed.returncode == -signal.SIGKILL
    assert 20 <= before < stored(file) == stored(tmp_path / "whole")
    assert {**resumed.to_dict(), "seconds": 0} == {**whole.to_dict(), "seconds": 0}


def run(store: Path, **changes: Any) -> Report:  # noqa: ANN401
    """A quick audit with a store."""
    options: dict[str, Any] = {
        "sampler": discrete_laplace,
        "pair": (0, 1),
        "claim": (1, 0),
        "samples": 200,
        "seed": 1,
        **changes,
    }
    return auditing.audit(**options, store=store)


@pytest.mark.slow
def test_nothing_is_drawn_twice(tmp_path: Path) -> None:
    """A finished audit gives its report again without a call of the sampler."""
    calls: list[int] = []

    def sampler(value: int, size: int, rng: np.random.Generator) -> object:
        calls.append(size)
        return discrete_laplace(value, size, rng)

    first, again = (run(tmp_path / "it", sampler=sampler, version="1") for _ in "ab")

    assert sum(calls) == first.trials
    assert {**first.to_dict(), "seconds": 0} == {**again.to_dict(), "seconds": 0}
    assert first.to_dict() == {**run(tmp_path / "other").to_dict(), "seconds": first.seconds}


def test_a_fresh_seed_is_the_files(tmp_path: Path) -> None:
    """Without a seed an audit takes the one that the file began with."""
    first, again = (run(tmp_path / "it", seed=None) for _ in "ab")

    assert first.seed == again.seed
    assert run(tmp_path / "other", seed=None).seed != first.seed


def test_more_time_goes_on(tmp_path: Path) -> None:
    """An audit whose time ended is continued with more, to the report of one that had enough."""

    def sampler(value: int, size: int, rng: np.random.Generator) -> object:
        time.sleep(delay[0])
        return discrete_laplace(value, size, rng)

    delay = [0.005]
    hurried = run(tmp_path / "it", sampler=sampler, version="1", chunk=4, seconds=0.2)
    delay[0] = 0.0
    patient = run(tmp_path / "it", sampler=sampler, version="1", chunk=4)
    whole = run(tmp_path / "whole", sampler=sampler, version="1", chunk=4)

    assert hurried.outcome is Outcome.INCONCLUSIVE
    assert 0 < hurried.trials < 400
    assert {**patient.to_dict(), "seconds": 0} == {**whole.to_dict(), "seconds": 0}


OTHERS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "code": ("sampler", lambda: {"sampler": textbook_laplace}),
    "a constant of the code": ("sampler", lambda: {"sampler": laplace(2.0)}),
    "version": ("sampler", lambda: {"version": "2"}),
    "features": ("sampler", lambda: {"features": np.abs}),
    "pair": ("pair", lambda: {"pair": (0, 2)}),
    "name of the pair": ("pair", lambda: {"pair": Pair(0, 1, "another")}),
    "epsilon": ("claim", lambda: {"claim": (1.5, 0)}),
    "delta": ("claim", lambda: {"claim": (1, 1e-6)}),
    "notion": ("claim", lambda: {"claim": GDP(mu=1)}),
    "where epsilon is reported": ("settings", lambda: {"delta": 1e-3}),
    "samples": ("settings", lambda: {"samples": 500}),
    "significance": ("settings", lambda: {"significance": 0.01}),
    "chunk": ("settings", lambda: {"chunk": 7}),
    "pilot": ("settings", lambda: {"pilot": 0.3}),
    "witnesses": ("auditor", lambda: {"witnesses": [auditing.Thresholds()]}),
    "seed": ("seed", lambda: {"seed": 2}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a finished audit."""
    path = tmp_path_factory.mktemp("stores") / "it"
    run(path, sampler=laplace(1.0), samples=100)
    return path


def dump(path: Path) -> list[str]:
    """Everything that a database has."""
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


@pytest.mark.parametrize("name", OTHERS)
def test_refuses_other_audits(name: str, made: Path) -> None:
    """Whatever differs is named, and the file stays what it is."""
    different, change = OTHERS[name]
    content = dump(made)
    with pytest.raises(StoreRefused, match=rf"differs in: .*\b{different}\b"):
        run(made, **{"sampler": laplace(1.0), "samples": 100, **change()})

    assert dump(made) == content


def test_refuses_files_of_something_else(tmp_path: Path) -> None:
    """No database, another database, no folder."""
    (tmp_path / "text").write_text("hello, this is a text\n" * 100, encoding="utf-8")
    auditing.EvidenceStore(tmp_path / "evidence")
    for path in ("text", "evidence", "nowhere/it"):
        with pytest.raises(StoreRefused, match=path):
            run(tmp_path / path)


def test_refuses_a_file_in_use(tmp_path: Path) -> None:
    """Two audits at once would draw the same trials."""

    def sampler(value: int, size: int, rng: np.random.Generator) -> object:
        with pytest.raises(StoreRefused, match="locked"):
            run(tmp_path / "it")
        return discrete_laplace(value, size, rng)

    run(tmp_path / "it", sampler=sampler, version="1")


def test_refuses_chunks_of_another_size(tmp_path: Path) -> None:
    """A damaged file is no source of trials."""
    run(tmp_path / "it")
    with closing(sqlite3.connect(tmp_path / "it")) as database, database:
        database.execute("UPDATE chunks SET position = position + 1000 WHERE position = 0")
        database.execute("UPDATE chunks SET position = 0 WHERE position = 2")
    with pytest.raises(StoreRefused, match="trials at 0"):
        run(tmp_path / "it")


def test_refuses_what_it_cannot_tell_apart(tmp_path: Path) -> None:
    """Data without a state needs a name; code without a source needs a version."""
    made = {"__name__": "made_of_nothing"}
    exec("def sampler(value, size, rng):\n    return rng.normal(size=size)", made)  # noqa: S102
    with pytest.raises(Unidentified, match="made_of_nothing"):
        run(tmp_path / "it", sampler=made["sampler"])
    with pytest.raises(Unidentified, match="generator"):
        run(tmp_path / "it", pair=((_ for _ in [1]), 1))

    assert run(tmp_path / "it", sampler=made["sampler"], version="1").trials == 400
