"""Questions about tables: what neighbours move, prices by two routes, frames of several kinds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpproof as dp
from dpproof.accountant.errors import MissingDependency, ParameterError
from dpproof.commands.budget import total
from dpproof.tables import BoundedRows, Count, Mean, Plan, QuantileOf, Question, Sum

narwhals = pytest.importorskip("narwhals")
polars = pytest.importorskip("polars")

TOWNS, KINDS = ["A", "B", "C"], [1, 2]
QUIET = 1e-6  # noise that whole numbers round away
TABLE = [Count(noise=QUIET), Count(noise=QUIET, users=True)]
VALUES: dict[str, Any] = {"column": "x", "lower": -1, "upper": 4, "noise": QUIET}


def drawn(rng: np.random.Generator, rows: int) -> dict[str, list[Any]]:
    """A table with users, groups and numbers, some missing or of no group."""
    return {
        "user": [None if k == 0 else f"u{k}" for k in rng.integers(0, 9, rows).tolist()],
        "town": rng.choice([*TOWNS, "elsewhere"], rows).tolist(),
        "kind": rng.integers(0, 3, rows).tolist(),
        "x": [None if k == 0 else float(v) for k, v in zip(rng.integers(0, 6, rows).tolist(),
              rng.normal(1, 3, rows), strict=True)],
    }  # fmt: skip


def plan(*questions: Question, groups: int = 2, rows: int = 3) -> Plan:
    """Six groups."""
    return Plan(
        user="user",
        keys={"town": TOWNS, "kind": KINDS},
        questions=questions,
        groups_per_user=groups,
        rows_per_group=rows,
    )


def parts(asked: Plan) -> tuple[Any, ...]:
    """Return the mechanisms of a plan, each with its query."""
    return asked.mechanism().parts


def without(table: dict[str, list[Any]], user: str) -> dict[str, list[Any]]:
    """The table without the rows of one user."""
    kept = [place for place, one in enumerate(table["user"]) if one != user]
    return {name: [values[place] for place in kept] for name, values in table.items()}


@pytest.mark.parametrize("seed", range(5))
def test_answers_without_noise_are_those_of_a_loop_over_rows(seed: int) -> None:
    """Where nothing is dropped, with noise too small to see: counts, users, sums and means."""
    table = drawn(np.random.default_rng(seed), 60)
    asked = plan(*TABLE, Sum(**VALUES), Mean(**VALUES), groups=6, rows=60)
    answers = asked.release(polars.DataFrame(table)).rows()
    rows, values = Counter[Any](), Counter[Any]()
    users: set[Any] = set()
    sums: dict[Any, float] = defaultdict(float)
    for user, town, kind, x in zip(*table.values(), strict=True):
        group = (town, kind)
        if user is None or town not in TOWNS or kind not in KINDS:
            continue
        rows[group] += 1
        users.add((user, *group))
        if x is not None:
            values[group] += 1
            sums[group] += min(max(x, -1.0), 4.0)
    for town, kind, count, people, summed, mean in answers:
        group = (town, kind)
        assert count == rows[group]
        assert people == sum(one[1:] == group for one in users)
        assert summed == pytest.approx(sums[group], abs=0.02)
        if values[group]:
            assert mean == pytest.approx(sums[group] / values[group], abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_a_user_moves_every_question_by_its_sensitivity_at_most(seed: int) -> None:
    """What one user adds is within the plan's bounds, and is all that neighbours differ by."""
    table = drawn(np.random.default_rng(100 + seed), 900)
    whose = zip(table["user"], table["x"], strict=True)
    table["x"] = [4.0 if user == "u3" else x for user, x in whose]
    places = [place for place, one in enumerate(table["user"]) if one == "u3"]
    alone = {name: [values[place] for place in places] for name, values in table.items()}
    asked = plan(Sum(**VALUES), *TABLE, Mean(**VALUES), groups=2, rows=3)
    rows = asked.bounded(polars.DataFrame(alone))
    per_group = Counter(rows.groups.tolist())
    assert len(per_group) == 2
    assert max(per_group.values()) <= 3
    for part in parts(asked):
        change = np.asarray(part.query(rows), dtype=float)
        if isinstance(part, dp.Histogram):
            assert np.count_nonzero(change) <= part.contributions
            assert change.max() <= part.largest
        else:
            assert 0.8 < np.linalg.norm(change) / float(part.sensitivity.value) <= 1
    everything = plan(Sum(**VALUES), *TABLE, Mean(**VALUES), groups=6, rows=900)
    three = [table, without(table, "u3"), alone]
    one, other, theirs = (everything.bounded(polars.DataFrame(rows)) for rows in three)
    for part in parts(everything):
        difference = np.subtract(part.query(one), part.query(other))
        assert difference == pytest.approx(part.query(theirs), abs=1e-9)


def test_what_is_kept_of_a_user_depends_on_that_user_alone() -> None:
    """Each of four rows is kept half the time, with others in the table and without.

    False alarms: 1e-8, Hoeffding over 300 draws twice.
    """
    table: dict[str, list[Any]] = {
        "user": ["a"] * 4 + ["b"] * 5,
        "town": ["A"] * 9,
        "kind": [1] * 9,
        "x": [0.0, 1, 2, 3, *[9] * 5],
    }
    asked = plan(Sum(column="x", lower=0, upper=9), groups=1, rows=2)
    rng, draws = np.random.default_rng(), 300
    room = math.sqrt(math.log(16 / 1e-8) / (2 * draws))
    for one in (table, without(table, "b")):
        frame, kept = polars.DataFrame(one), Counter[float]()
        for _ in range(draws):
            kept.update(asked.bounded(frame, rng=rng).columns["x"].tolist())
        for value in range(4):
            assert abs(kept[float(value)] / draws - 0.5) < room


def test_the_plan_and_its_pipeline_file_cost_the_same() -> None:
    """By the mechanisms, by the file, and for sums by mu = 1 / noise."""
    asked = plan(Count(), Count(users=True), Sum(column="x", lower=0, upper=9),
                 Mean(column="x", lower=0, upper=9)).within(epsilon=1, delta=1e-6)  # fmt: skip
    epsilon = asked.guarantee().epsilon(delta=1e-6)
    stages = asked.priced().stages
    file = total([stage.guarantee(dp.AddRemove()) for stage in stages]).epsilon(delta=1e-6)
    assert 0.999 < epsilon.upper <= 1
    assert file.upper == pytest.approx(epsilon.upper, rel=1e-9)
    single = plan(Sum(column="x", lower=-2, upper=1, noise=4)).guarantee()
    normal = dp.GDP(mu=Fraction(1, 4)).epsilon(delta=1e-6)
    assert single.epsilon(delta=1e-6).upper == pytest.approx(normal.upper, rel=1e-6)


def test_quantiles_of_groups_cost_as_much_as_one_of_them() -> None:
    """A user with one row is in one group; several rows are refused."""
    asked = plan(QuantileOf(column="x", q=0.5, candidates=range(10), noise=2), groups=1, rows=1)
    assert asked.guarantee().epsilon(delta=0).upper == pytest.approx(1)
    table = {"user": list(range(90)), "town": ["A"] * 45 + ["B"] * 45, "kind": [1] * 90,
             "x": [3.0] * 45 + [7.0] * 45}  # fmt: skip
    loud = plan(QuantileOf(column="x", q=0.5, candidates=range(10), noise=0.05), groups=1, rows=1)
    answers = {row[:2]: row[2] for row in loud.release(polars.DataFrame(table)).rows()}
    assert answers["A", 1] == 3
    assert answers["B", 1] == 7
    with pytest.raises(ParameterError, match="1 and 1 where a quantile"):
        plan(QuantileOf(column="x", q=0.5, candidates=range(10)))


@pytest.mark.parametrize("library", ["pandas", "polars", "lazy", "pyarrow", "duckdb"])
def test_frames_of_several_libraries_give_the_same_answers(library: str) -> None:
    """Row for row, where nothing is dropped and the noise is too small to see."""
    table = drawn(np.random.default_rng(7), 50)
    asked = plan(*TABLE, Sum(**VALUES), groups=6, rows=50)
    expected = asked.release(polars.DataFrame(table)).to_dict(as_series=False)
    frame: Any = polars.DataFrame(table)
    if library == "lazy":
        frame = frame.lazy()
    elif library != "polars":
        module = pytest.importorskip(library)
        pytest.importorskip("pyarrow")
        frame = {
            "pandas": lambda: module.DataFrame(table),
            "pyarrow": lambda: module.table(table),
            "duckdb": lambda: module.from_arrow(polars.DataFrame(table).to_arrow()),
        }[library]()
    answers = narwhals.from_native(asked.release(frame)).to_dict(as_series=False)
    assert answers.keys() == expected.keys()
    for name, values in expected.items():
        assert answers[name] == pytest.approx(values, abs=0.02), name


def test_values_that_are_no_group_no_user_and_no_number_are_left_out() -> None:
    """Cells of lists, nan and infinity raise nothing and print nothing."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "user": [["u"], None, float("nan"), "a", ("b", []), "c", Decimal("sNaN")],
        "town": ["A", "A", "A", ["A"], "A", "A", "A"],
        "kind": [1] * 7,
        "x": [1.0, 1.0, 1.0, 1.0, 1.0, math.inf, 1.0],
    })  # fmt: skip
    rows = plan(Sum(**VALUES)).bounded(frame)
    assert rows.columns["x"].tolist() == [math.inf]
    assert parts(plan(Sum(**VALUES)))[0].query(rows)[0] == pytest.approx(4.0)


def test_an_audit_agrees_with_the_plan_and_refutes_half_its_noise() -> None:
    """On neighbours with one user more; 1e-8 is the audit's probability of a false alarm."""
    table: dict[str, list[Any]] = {
        "user": ["a"] * 3 + ["b"],
        "town": ["A"] * 4,
        "kind": [1] * 4,
        "x": [4.0] * 4,
    }
    honest, broken = (plan(Sum(**{**VALUES, "noise": noise}), groups=1) for noise in (1, 0.5))
    frames = (polars.DataFrame(table), polars.DataFrame(without(table, "a")))
    one, other = (honest.bounded(frame) for frame in frames)
    claim = honest.guarantee()
    for asked, holds in ((honest, True), (broken, False)):
        report = dp.audit(
            asked.mechanism().sampler(), (one, other), claim, samples=4000, significance=1e-8
        )
        assert (report.outcome is not dp.Outcome.VIOLATION) is holds


def test_the_file_says_the_numbers_of_the_mechanisms_to_the_last_digit() -> None:
    """Sensitivity and noise are floats at or above those of tables.md, as a file is read."""
    for noise in (Fraction(1, 3), 0.7, 3):
        asked = plan(Sum(column="x", lower=-2, upper=0.1, noise=noise))
        mechanism, stage = parts(asked)[0], asked.priced().stages[0]
        said = stage.releases[0].values
        assert said["sigma"] == mechanism.sigma
        assert said["sensitivity"] == mechanism.sensitivity.value
        assert mechanism.sensitivity.value**2 >= 2 * (3 * 2) ** 2
        assert mechanism.sigma >= Fraction(noise) * mechanism.sensitivity.value


def test_whole_numbers_of_eight_bits_let_no_user_have_more_rows() -> None:
    """The product of 16 and 16 is 0 in eight bits, and a quantile then cost as for one row."""
    many: dict[str, Any] = {"groups_per_user": np.int8(16), "rows_per_group": np.int8(16)}
    quantile = QuantileOf(column="x", q=0.5, candidates=[1.0, 2.0])
    with pytest.raises(ParameterError, match="1 and 1"):
        Plan(user="user", keys={"kind": range(20)}, questions=[quantile], **many)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "arrow in pandas"])
def test_no_value_of_a_column_raises(library: str) -> None:
    """Numbers beyond 2^53 and years beyond 9999 are rows like others."""
    pyarrow = pytest.importorskip("pyarrow")
    when = pyarrow.array([2**62, 0, None, 0], pyarrow.timestamp("us"))
    table = pyarrow.table({"user": [1, 2, 3, 4], "when": when, "x": [2**53 + 1, 1, 1, None]})
    if library == "arrow in pandas":
        table = table.to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype)
    frame = polars.from_arrow(table) if library == "polars" else table
    start = datetime(1970, 1, 1)  # noqa: DTZ001  # as the column has none
    asked = Plan(user="user", keys={"when": [start]}, questions=[Sum(**VALUES)])
    np.testing.assert_equal(asked.bounded(frame).columns["x"], [1.0, math.nan])
    everything = Plan(user="user", questions=[Sum(**VALUES)]).bounded(frame)
    assert everything.columns["x"][0] == 2.0**53
    assert str(2**53) not in repr(everything)


def test_times_name_no_users() -> None:
    """Two times less than a microsecond apart are one in Python: two users would be one."""
    times = polars.Series([1, 2]).cast(polars.Datetime("ns"))
    with pytest.raises(ParameterError, match="plain values"):
        Plan(user="user", questions=[Count()]).bounded(polars.DataFrame({"user": times}))


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ({"questions": []}, "at least one"),
        ({"questions": [Count(), Count()]}, "different names"),
        ({"questions": [3]}, "Count, Sum"),
        ({"keys": {"town": []}}, "public values"),
        ({"keys": {"town": ["A", "A"]}}, "public values"),
        ({"groups_per_user": 0}, "groups_per_user"),
        ({"rows_per_group": 1.5}, "rows_per_group"),
    ],
)
def test_plans_are_refused_before_there_is_data(change: dict[str, Any], allowed: str) -> None:
    """Each parameter outside its domain."""
    given = {"user": "user", "questions": [Count()], **change}
    with pytest.raises(ParameterError, match=allowed):
        Plan(**given)


def test_frames_that_do_not_fit_are_refused_without_a_value() -> None:
    """A missing column, text for numbers, and what is no frame."""
    asked = plan(Sum(**VALUES))
    table = drawn(np.random.default_rng(1), 9)
    for frame in (
        polars.DataFrame({**table, "x": ["SECRET"] * 9}),
        polars.DataFrame(table).drop("town"),
        polars.DataFrame({**table, "user": [["SECRET"]] * 9}),
        table,
    ):
        with pytest.raises(ParameterError) as refusal:
            asked.release(frame)
        assert "SECRET" not in str(refusal.value)
    for bounds in ((1, 1), (2, 1), (-1e100, 1), (math.nan, 1)):
        with pytest.raises(ParameterError):
            Sum(column="x", lower=bounds[0], upper=bounds[1])


def test_narwhals_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(MissingDependency, match=r"dpproof\[tables\]"):
        plan(Count()).release(object())


def test_kept_rows_hold_no_users() -> None:
    """What mechanisms see has groups, numbers and no name."""
    assert set(BoundedRows.__slots__) == {"groups", "size", "columns", "first"}
