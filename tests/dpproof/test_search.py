"""Priced searches over code of one's own."""

from __future__ import annotations

import copy
import json
import os
import pickle
import stat
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpproof as dp
from dpproof.accountant.errors import NotShared
from dpproof.errors import InputError
from dpproof.mechanisms import ReplayRng
from dpproof.search import PricedSearch, identified, sample_runs
from tests.architecture.tree import ROOT

ONCE = dp.GDP(mu=0.5)
LAW = dp.TruncatedNegativeBinomial(eta=1, gamma=0.25)


def search(place: Path, **given: Any) -> PricedSearch[str]:  # noqa: ANN401  # other arguments
    """A search over three words."""
    return PricedSearch(
        given.pop("once", ONCE), **{"runs": LAW, "candidates": "abc", "place": place, **given}
    )


def test_the_best_of_all_runs_is_returned(tmp_path: Path) -> None:
    """By its score, the first of equals; it costs what select says, once all runs are done."""
    found = search(tmp_path / "state", runs=dp.FixedRuns(count=4))
    scores = iter([1.0, 3.0, 2.0, 3.0])
    drawn = []
    for run in found:
        with pytest.raises(InputError, match="runs are left"):
            found.best()
        drawn.append(run.candidate)
        run.finish(next(scores), result=run.number)
    assert found.best() == (drawn[1], 2)
    assert found.guarantee() == dp.select(ONCE, dp.FixedRuns(count=4))


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Another process makes the runs that are left, the interrupted one with its candidate."""
    place = tmp_path / "state"
    first = search(place, rng=ReplayRng(4))
    planned = json.loads(place.read_text())["candidates"]
    assert len(planned) > 2
    seen = []
    for run in first:
        if run.number == 2:
            break  # interrupted
        seen.append(run.candidate)
        run.finish(1.0, result="first")
    for run in search(place):
        seen.append(run.candidate)
        run.finish(0.0)
    assert seen == ["abc"[one] for one in planned]
    assert search(place).best() == (seen[0], "first")
    assert list(search(place)) == []
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_no_run_has_no_best(tmp_path: Path) -> None:
    """A law that allows no run may draw none."""
    found = search(tmp_path / "state", runs=dp.PoissonRuns(rate=1e-9), rng=ReplayRng(1))
    assert list(found) == []
    assert found.best() is None


def test_candidates_are_drawn_uniformly(tmp_path: Path) -> None:
    """3,000 draws of three candidates: each within 6 deviations, a false alarm below 1e-8."""
    found = search(tmp_path / "state", runs=dp.FixedRuns(count=3_000), rng=ReplayRng(5))
    drawn = Counter(json.loads((tmp_path / "state").read_text())["candidates"])
    assert set(drawn) == {0, 1, 2}
    assert all(abs(count - 1000) < 6 * (3000 * 2 / 9) ** 0.5 for count in drawn.values())
    assert len(found.guarantee().derivation.premises) == 1


def test_refusals(tmp_path: Path) -> None:
    """Runs that are skipped or finished twice, scores that are none, states of other searches."""
    place = tmp_path / "state"
    found = search(place, runs=dp.FixedRuns(count=3))
    runs = iter(found)
    first = next(runs)
    for bad in (float("nan"), "1", None):
        with pytest.raises(dp.DataError, match="score"):
            first.finish(bad)  # type: ignore[arg-type]  # bad on purpose
    with pytest.raises(dp.DataError, match="range of floats"):
        first.finish(10**400)
    itself: list[Any] = []
    itself.append(itself)
    for held in (object(), itself, {(1, 2): 3}, 10**5000):
        with pytest.raises(InputError, match="JSON can hold"):
            first.finish(1.0, result=held)
    first.finish(1.0)
    with pytest.raises(InputError, match="finished before"):
        first.finish(2.0)
    next(runs)
    with pytest.raises(InputError, match="finish a run before the next"):
        next(runs)
    fixed = {"runs": dp.FixedRuns(count=3)}
    for other in ({}, {"candidates": "abd", **fixed}, {"once": dp.GDP(mu=1), **fixed}):
        with pytest.raises(InputError, match="state of this search"):
            search(place, **other)
    place.write_text("{")
    with pytest.raises(InputError, match="state of this search"):
        search(place, **fixed)
    with pytest.raises(dp.ParameterError, match="at least one candidate"):
        search(tmp_path / "other", candidates=())
    wrong: dict[str, Any] = {
        "candidates": (np.ones(3), 5),
        "place": (None,),
        "once": (None, dp.Gaussian),
    }
    for name, values in wrong.items():
        for value in values:
            given: dict[str, Any] = {"place": tmp_path / "other", name: value}
            with pytest.raises(dp.ParameterError, match=name):
                search(**given)
    with pytest.raises(dp.ParameterError, match="law"):
        sample_runs(3)  # type: ignore[arg-type]  # bad on purpose
    with pytest.raises(InputError, match="cannot write"):
        search(tmp_path / "nowhere" / "state")


RACER = """
import sys
import dpproof as dp
from dpproof.errors import InputError
from dpproof.search import PricedSearch

runs = dp.FixedRuns(count=int(sys.argv[2]))
for line in sys.stdin:
    found = PricedSearch(dp.GDP(mu=0.5), runs=runs, candidates="abc", place=sys.argv[1])
    run = next(iter(found))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        run.finish(0.0, result="x" * 500_000)
        print("kept", flush=True)
    except InputError as refusal:
        print(" ".join(str(refusal).split()[-6:]), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such lock")
def test_one_of_two_processes_finishes_a_run(tmp_path: Path) -> None:
    """The other one is told to open the file again, whenever both write at once."""
    place, rounds = tmp_path / "state", 25
    search(place, runs=dp.FixedRuns(count=rounds))
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(place), str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for _ in range(2)
    ]
    for done in range(rounds):
        said = []
        for _ in ("open", "finish"):
            for one in racers:
                assert one.stdin is not None
                one.stdin.write("\n")
                one.stdin.flush()
            said = [one.stdout.readline().strip() for one in racers if one.stdout is not None]
        assert sorted(said) == ["continued elsewhere; open the file again", "kept"]
        assert json.loads(place.read_text())["done"] == done + 1
    for one in racers:
        one.communicate()
        assert one.returncode == 0


@pytest.mark.parametrize(
    "other",
    [
        {"once": dp.RDP(points=tuple((2 + place, 1 + place / 9) for place in range(40)))},
        {"once": dp.GDP(mu=Fraction(10**20 + 1, 2 * 10**20))},
        {"runs": dp.PoissonRuns(rate=Fraction(4 * 10**20 + 1, 10**20))},
        {"candidates": (*range(99), 100)},
        {"candidates": tuple(map(float, range(100)))},
    ],
)
def test_a_search_is_its_own_to_the_last_digit(tmp_path: Path, other: dict[str, Any]) -> None:
    """A guarantee, a law or candidates that a short repr does not tell apart are other ones."""
    rising = tuple((2 + place, 1 + place / 10) for place in range(40))
    own = {
        "once": dp.RDP(points=rising) if isinstance(other.get("once"), dp.RDP) else ONCE,
        "runs": dp.PoissonRuns(rate=4),
        "candidates": tuple(range(100)),
    }
    search(tmp_path / "state", **own)
    search(tmp_path / "state", **own)
    with pytest.raises(InputError, match="state of this search"):
        search(tmp_path / "state", **{**own, **other})


def test_values_are_told_apart_exactly() -> None:
    """By type, by every entry of an array, by keys of mappings whatever their order."""
    wide = np.zeros(5000)
    other = wide.copy()
    other[2500] = 1e-300
    values = [1, 1.0, True, "1", None, (1,), [1], {"a": 1}, {1: "a"}, {1}, wide, other]
    values += [wide.reshape(50, 100), wide.astype(np.float32), np.float64(1), 10**9999, 10**9998]
    values += [np.array([1], dtype=object), np.array([2], dtype=object), Fraction(1)]
    assert len({identified(one) for one in values}) == len(values)
    assert identified({"a": 1, "b": 2}) == identified({"b": 2, "a": 1})
    assert identified("a", "b") != identified("a, b") != identified(["a", "b"])


def test_what_is_kept_does_not_change(tmp_path: Path) -> None:
    """Neither by a change of the result that was given, nor of the one that was returned."""
    found = search(tmp_path / "state", runs=dp.FixedRuns(count=1))
    model = {"weights": [1, 2]}
    for run in found:
        run.finish(1.0, result=model)
    model["weights"].append(3)
    for _ in range(2):
        best = found.best()
        assert best is not None
        assert best[1] == {"weights": [1, 2]}
        best[1]["weights"].clear()


def test_runs_are_not_made_again(tmp_path: Path) -> None:
    """Not by a copy, by a second object on the file, by an older file, nor by a second creation."""
    place = tmp_path / "state"
    found = search(place, runs=dp.FixedRuns(count=2))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotShared, match="runs again"):
            copied(found)
    before, second = place.read_text(), search(place, runs=dp.FixedRuns(count=2))
    for run in found:
        run.finish(float(run.number), result=run.number)
    assert found.best() is not None
    with pytest.raises(InputError, match="continued elsewhere"):
        next(iter(second)).finish(9.0)
    with pytest.raises(InputError, match="continued elsewhere"):
        second.best()
    assert search(place, runs=dp.FixedRuns(count=2)).best() == found.best()
    place.write_text(before)
    with pytest.raises(InputError, match="continued elsewhere"):
        found.best()


def test_a_state_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that make the same file at once, the later is refused, and nothing is left beside."""
    place = tmp_path / "state"
    search(place)
    text = place.read_text()
    monkeypatch.setattr(Path, "exists", lambda _: False)  # as it was before the other made it
    with pytest.raises(InputError, match="cannot write"):
        search(place)
    assert place.read_text() == text
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize(
    "wrong",
    [
        {"done": "1"},
        {"done": True},
        {"done": 4},
        {"done": -1},
        {"done": 1},
        {"candidates": [0, 1, 3]},
        {"candidates": [0, 1, -1]},
        {"candidates": 3},
        {"best": {"score": 1.0, "candidate": 0, "result": None}},
        {"done": 1, "best": {"score": "1", "candidate": 0, "result": None}},
        {"done": 1, "best": {"score": 1.0, "candidate": 0}},
        {"format": "dpproof-search/0"},
    ],
)
def test_damaged_states_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """Fields of another type, out of range or at odds with each other."""
    place = tmp_path / "state"
    search(place, runs=dp.FixedRuns(count=3), rng=ReplayRng(1))
    state = json.loads(place.read_text())
    state["candidates"] = [0, 1, 2]
    place.write_text(json.dumps(state))
    search(place, runs=dp.FixedRuns(count=3))
    for damaged in ({**state, **wrong}, {k: v for k, v in state.items() if k not in wrong}):
        place.write_text(json.dumps(damaged))
        with pytest.raises(InputError, match="state of this search"):
            search(place, runs=dp.FixedRuns(count=3))
