"""Priced searches over code of one's own."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from dpproof.errors import InputError
from dpproof.mechanisms import ReplayRng
from dpproof.search import PricedSearch, sample_runs

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
    first = search(place, rng=ReplayRng(3))
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
    with pytest.raises(TypeError):
        first.finish(1.0, result=object())
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
    with pytest.raises(dp.ParameterError, match="law"):
        sample_runs(3)  # type: ignore[arg-type]  # bad on purpose
    with pytest.raises(InputError, match="cannot write"):
        search(tmp_path / "nowhere" / "state")
