"""No command shows a value of the datasets that it is given."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

import pytest

import dpproof as dp
from dpproof import tables
from tests.contracts.markers import NUMBER, TEXT, WHOLE, bad_data, leaks, marked
from tests.dpproof.command import Command

AUDIT_FILE = """
[audit]
sampler = "marked_code:{sampler}"
pair = {pair}
epsilon = 0.1
samples = 400
significance = 0.05
"""
AUDITED_CODE = f"""
def counts(data, size, rng):
    return len(data) + rng.laplace(size=size)

def quotes(data, size, rng):
    raise ValueError(f"cannot read {{data}}")

def pair():
    raise ValueError("{TEXT}")
"""


@pytest.mark.parametrize("sampler", ["counts", "quotes", "missing"])
@pytest.mark.parametrize(
    "pair", [f"[[{NUMBER}, 2.0], [2.0]]", f'[["{TEXT}"], [{WHOLE}]]', '"marked_code:pair"']
)
def test_no_command_shows_data(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str, pair: str
) -> None:
    """Neither stream of ``dpproof audit`` has a value of the datasets, of the file or of code."""
    (tmp_path / "marked_code.py").write_text(AUDITED_CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audit.toml").write_text(AUDIT_FILE.format(sampler=sampler, pair=pair))
    for form in ((), ("--json",)):
        outcome = command.run("audit", "audit.toml", *form)

        assert outcome.out or outcome.err
        assert not marked(outcome.out + outcome.err)


def test_no_table_shows_data() -> None:
    """Questions about a table, on data of many kinds and on columns that have it."""
    plan = tables.Plan(
        user="user",
        keys={"town": ["A"]},
        questions=[tables.Count(noise=1), tables.Sum(column="x", lower=0, upper=1, noise=1)],
        groups_per_user=1,
        rows_per_group=1,
    )
    mechanism = plan.mechanism()
    columns = ({"user": [one], "town": [two], "x": [NUMBER]} for one in bad_data() for two in "A?")
    for data in (*bad_data(), *columns, {"user": [1], "town": [TEXT], "x": [TEXT]}):
        assert not leaks(partial(mechanism.release, data)), type(data)


def test_no_search_shows_scores_or_results(tmp_path: Path) -> None:
    """The score and the result of a run, of many kinds; neither is in a representation."""
    law = dp.FixedRuns(count=1)
    for number, data in enumerate(bad_data()):
        place = tmp_path / f"{number}.json"
        search = dp.PricedSearch(dp.PureDP(epsilon=1), runs=law, candidates=[1], place=place)
        run = next(iter(search))
        assert not leaks(partial(run.finish, cast("float", data)))
        assert not leaks(partial(run.finish, 1.0, result=data))
        assert not marked(f"{run!r} {search!r}")
