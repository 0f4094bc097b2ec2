"""Records in blocks: however they are cut, wherever they are added up, the bits are the same."""

from __future__ import annotations

import functools
import multiprocessing
import operator
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from dpproof.accountant import L2, AddRemove, FixedRuns, ReplaceOne, WithoutReplacement
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.mechanisms import (
    Additive,
    BatchPerceptron,
    BlockError,
    Blocks,
    BoundedMean,
    BoundedSum,
    ClassMeans,
    ClippedSum,
    Count,
    DiscreteGaussian,
    Featured,
    FourierFeatures,
    Gaussian,
    Histogram,
    KeslerPerceptron,
    LogisticObjective,
    MarginDescent,
    MeanHalfspace,
    Mechanism,
    NeedsAllRecords,
    NoisyLloyd,
    PhasedHinge,
    Projected,
    Quantile,
    Records,
    ReplayRng,
    SecondMoments,
    SignProjection,
    SoftmaxDescent,
    compose,
)
from dpproof.mechanisms.blocks import Sums
from dpproof.mechanisms.mechanism import flatten

ONE: dict[str, Any] = {"relation": AddRemove()}
OTHER: dict[str, Any] = {"relation": ReplaceOne()}
PERCEPTRON: dict[str, Any] = {"margin": 0.1, "steps": 4, "sigma": 2}
HALFSPACE: BatchPerceptron[Any] = BatchPerceptron(**PERCEPTRON, **ONE)


def cells(ages: NDArray[Any]) -> NDArray[Any]:
    """How many there are of each sign."""
    return np.array([(ages < 0).sum(), (ages >= 0).sum()])


MECHANISMS: dict[str, tuple[Mechanism[Any], str]] = {
    "perceptron": (HALFSPACE, "signs"),
    "samples": (BatchPerceptron(**PERCEPTRON, rate=0.3, **ONE), "signs"),
    "fixed size": (
        BatchPerceptron(
            **PERCEPTRON, batch=WithoutReplacement(sample_size=50, population_size=400), **OTHER
        ),
        "signs",
    ),
    "classes": (KeslerPerceptron(classes=3, **PERCEPTRON, **ONE), "classes"),
    "softmax": (SoftmaxDescent(classes=3, steps=4, sigma=2, **ONE), "classes"),
    "margin": (MarginDescent(margin=0.1, norm=1, steps=4, mu=1, **OTHER), "signs"),
    "mean": (MeanHalfspace(sigma=2, **ONE), "signs"),
    "features": (
        Featured(base=HALFSPACE, map=FourierFeatures(features=5, frequencies=8, width=1, seed=1)),
        "signs",
    ),
    "projected": (
        Projected(base=HALFSPACE, projection=SignProjection(features=5, dimension=3, seed=1)),
        "signs",
    ),
    "class means": (ClassMeans(classes=3, sigma=2, **ONE), "classes"),
    "moments": (SecondMoments(sigma=2, **ONE), "rows"),
    "clusters": (NoisyLloyd(centres=np.eye(5)[:3], steps=3, sigma=2, **ONE), "rows"),
    "sum": (BoundedSum(scale=2, lower=-1, upper=1, **ONE), "column"),
    "numbers": (BoundedMean(scale=2, lower=-1, upper=1, **ONE), "column"),
    "public size": (BoundedMean(scale=2, lower=-1, upper=1, **OTHER), "column"),
    "count": (DiscreteGaussian(sigma=2, sensitivity=L2(1), query=Count()), "column"),
    "clipped": (
        Gaussian(sigma=2, sensitivity=L2(1), query=ClippedSum(lower=-1, upper=1)),
        "column",
    ),
    "histogram": (Histogram(scale=2, query=Additive(cells), **ONE), "column"),
    "together": (compose(HALFSPACE, MeanHalfspace(sigma=3, **ONE)).repeat(2), "signs"),
}


def data(kind: str) -> tuple[NDArray[Any], ...]:
    """Rows with odd ones among them, and labels; the same whenever they are asked for."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(400, 5)).astype(np.float32)
    rows[[3, 77]], rows[100, 2], rows[399, 0] = 0, np.nan, np.inf
    if kind == "column":
        return (rows[:, 1] * 2,)
    if kind == "rows":
        return (rows,)
    labels = rng.integers(0, 3, 400) if kind == "classes" else np.sign(rng.normal(size=400))
    labels[5] = 9
    return rows, labels


def whole(kind: str) -> Any:  # noqa: ANN401
    """All at once, as a mechanism takes it."""
    columns = data(kind)
    return Records(*columns) if len(columns) > 1 else columns[0].astype(np.float64)


def released(mechanism: Mechanism[Any], given: object) -> list[float]:
    """Numbers of one release, by one source of words."""
    outputs = mechanism.release_many(given, 1, rng=ReplayRng(5))
    return list(np.nan_to_num(flatten(outputs)).ravel())


@pytest.mark.parametrize("name", MECHANISMS)
def test_blocks_change_no_bit(name: str, tmp_path: Path) -> None:
    """Of three sizes, views, files, functions, and read again for every step: one answer."""
    mechanism, kind = MECHANISMS[name]
    columns, expected = data(kind), released(mechanism, whole(kind))
    np.save(tmp_path / "rows.npy", columns[0])
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r"), *columns[1:]
    lists = list(Blocks.of(*columns, size=150).blocks)
    for given in (
        Blocks.of(*columns, size=1000),
        Blocks.of(*columns, size=37),
        Blocks.of(*mapped, size=200),
        Blocks(lists),
        Blocks([functools.partial(operator.getitem, lists, i) for i in range(len(lists))]),
    ):
        assert released(mechanism, given) == expected


def test_pieces_of_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are worked on in parts that end anywhere, sparse ones too, sampled or not."""
    rows, labels = data("signs")
    rows = np.nan_to_num(rows, posinf=0) * (np.abs(rows) > 0.5)
    for name in ("perceptron", "samples", "fixed size", "margin", "moments"):
        mechanism, kind = MECHANISMS[name]
        columns = (rows,) if kind == "rows" else (rows, labels)
        plain = columns[0].astype(np.float64) if kind == "rows" else Records(*columns)
        expected = released(mechanism, plain)
        with monkeypatch.context() as small:
            small.setattr("dpproof.mechanisms.blocks._PIECE", 13)
            small.setattr("dpproof.mechanisms.learning.records._PIECE", 21)
            others = sparse.csr_array(rows), *columns[1:]
            for given in (columns, others):
                made = Blocks.of(*given, size=150)
                for one in (made, replace(made, records=None)):
                    assert released(mechanism, one) == expected


class Spark:
    """Adds up as Spark's ``treeAggregate`` does: partial sums, from 0, in any order."""

    def map(self, function: Callable[..., Sums], /, *iterables: Any) -> Iterable[Sums]:  # noqa: ANN401
        """Return one sum of all blocks."""
        sums = [0 + function(*one) for one in zip(*iterables, strict=True)]
        return [sum(reversed(sums))]  # type: ignore[list-item]


def processes() -> ProcessPoolExecutor:
    """Two worker processes, started afresh."""
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.parametrize("name", MECHANISMS)
def test_executors_change_no_bit(name: str) -> None:
    """Threads, and a map that adds up some blocks itself."""
    mechanism, kind = MECHANISMS[name]
    columns, expected = data(kind), released(mechanism, whole(kind))
    with ThreadPoolExecutor(3) as threads:
        assert released(mechanism, Blocks.of(*columns, size=90, executor=threads)) == expected
    if name not in {"samples", "fixed size"}:  # they need the blocks one by one
        assert released(mechanism, Blocks.of(*columns, size=90, executor=Spark())) == expected


@pytest.mark.slow
def test_processes_change_no_bit() -> None:
    """What goes to other processes and comes back loses nothing."""
    with processes() as pool:
        for mechanism, kind in MECHANISMS.values():
            given = Blocks.of(*data(kind), size=150, executor=pool)
            assert released(mechanism, given) == released(mechanism, whole(kind))


def dies(place: Path | None, columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a block where it is read; the first time, if there is a place, kill the process."""
    if place is not None and not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return columns


@pytest.mark.slow
def test_a_dead_worker_releases_nothing_and_a_second_run_is_whole(tmp_path: Path) -> None:
    """A pool whose worker dies raises a typed error; a new pool gives the bits of one machine."""
    cut = list(Blocks.of(*data("signs"), size=150).blocks)
    given = [
        functools.partial(dies, tmp_path / "died" if i == 1 else None, cut[i]) for i in (0, 1, 2)
    ]
    with processes() as pool, pytest.raises(BlockError, match="nothing was released"):
        HALFSPACE.release(Blocks(given, pool))
    with processes() as pool:
        assert released(HALFSPACE, Blocks(given, pool)) == released(HALFSPACE, whole("signs"))


@pytest.mark.slow
@pytest.mark.parametrize("died", [False, True])
def test_a_dask_cluster_changes_no_bit(tmp_path: Path, *, died: bool) -> None:
    """Arrays, frames, and functions by its executor; a block of a dead worker counts once."""
    distributed = pytest.importorskip("distributed")
    arrays = pytest.importorskip("dask.array")
    rows, labels = data("signs")
    expected = released(HALFSPACE, whole("signs"))
    cut = list(Blocks.of(rows, labels, size=150).blocks)
    place = tmp_path / "died" if died else None
    given = [functools.partial(dies, place, one) for one in cut]
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        assert released(HALFSPACE, Blocks(given, client.get_executor(pure=False))) == expected
        assert place is None or place.exists()
        lazy = arrays.from_array(rows, chunks=(150, 2)), arrays.from_array(labels, chunks=90)
        assert released(HALFSPACE, Blocks.of(*lazy)) == expected
        lying = client.scatter(cut)  # a future is a block, too
        assert released(HALFSPACE, Blocks(lying, client.get_executor(pure=False))) == expected


def test_frames_of_dask_change_no_bit() -> None:
    """Their partitions are blocks; those of rows and labels have to be as many."""
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    rows, labels = data("signs")
    table = frames.from_pandas(pandas.DataFrame(rows), npartitions=3)
    kinds = frames.from_pandas(pandas.Series(labels), npartitions=3)
    moments = MECHANISMS["moments"][0]
    found = released(moments, Blocks.of(table).map(np.asarray))

    assert found == released(moments, rows.astype(np.float64))
    assert len(list(Blocks.of(table, kinds).blocks)) == 3
    with pytest.raises(ParameterError, match="columns"):
        Blocks.of(table, frames.from_pandas(pandas.Series(labels), npartitions=2))


def test_dask_without_a_cluster_changes_no_bit() -> None:
    """Its own scheduler adds up; a sampled step gets the coins of its block."""
    arrays = pytest.importorskip("dask.array")
    for name in ("perceptron", "samples", "sum"):
        mechanism, kind = MECHANISMS[name]
        lazy = [arrays.from_array(one, chunks=(170, *one.shape[1:])) for one in data(kind)]
        assert released(mechanism, Blocks.of(*lazy)) == released(mechanism, whole(kind))


def test_what_is_no_sum_says_why() -> None:
    """A learner that needs all records names its reason, before it reads any."""

    def never() -> Iterator[Any]:
        raise AssertionError

    blocks = Blocks([never])
    hinge = PhasedHinge(margin=0.1, norm=1, mu=1, **OTHER)
    for mechanism, why in (
        (LogisticObjective(sigma=1, regulariser=2, **ONE), "real numbers"),
        (hinge, "one after the other"),
        (compose(MECHANISMS["margin"][0], hinge), "one after the other"),
        (Quantile(epsilon=1, q=0.5, candidates=(1, 2), **ONE), "sorts"),
        (Gaussian(sigma=1, sensitivity=L2(1), query=len), "Additive"),
        (Gaussian(sigma=1, sensitivity=L2(1)), "Additive"),
        (HALFSPACE.select(FixedRuns(count=3), score=len), "sum over records"),
    ):
        with pytest.raises(NeedsAllRecords, match=f"takes no blocks.*{why}"):
            mechanism.release(blocks)


def test_blocks_that_cannot_be_added_up_are_refused() -> None:
    """Iterators, unequal columns, none at all, other widths, other records the next time."""
    rows, labels = data("signs")
    with pytest.raises(ParameterError, match="again and again, such as a list, got 'generator'"):
        Blocks(one for one in [(rows, labels)])
    with pytest.raises(ParameterError, match="one length"):
        Blocks.of(rows, labels[:7])
    assert Count()(Blocks.of([[1, 2], [3]], size=1)) == 2
    refused: tuple[tuple[Any, ...], ...] = ((), (3,), ("ab",), (None,), (rows, {}))
    for columns in refused:
        with pytest.raises(ParameterError, match="must be arrays, sparse matrices, frames or"):
            Blocks.of(*columns)
    with pytest.raises(ParameterError, match="at least one"):
        HALFSPACE.release(Blocks([]))
    for width in (1, 4):
        with pytest.raises(ParameterError):
            SecondMoments(sigma=2, **ONE).release(Blocks([rows, rows[:, :width]]))
        with pytest.raises(ParameterError):
            HALFSPACE.release(Blocks([(rows, labels), (rows[:, :width], labels)]))
    shrinking = iter(range(400, 0, -1))
    with pytest.raises(BlockError, match="before"):
        HALFSPACE.release(Blocks([lambda: (rows[: (k := next(shrinking))], labels[:k])]))


def test_no_error_quotes_a_record() -> None:
    """Of what a block's function raises, the type is shown alone; of a bad cell, its form."""

    def read() -> Any:  # noqa: ANN401
        raise OSError("Alice is ill")

    with pytest.raises(BlockError, match="OSError after 1 of them") as lost:
        HALFSPACE.release(Blocks([data("signs"), read]))
    assert "Alice" not in str(lost.value)
    assert lost.value.__context__ is None
    with pytest.raises(DataError) as bad:
        HALFSPACE.release(Blocks([np.array([["Alice", "Bob"]])]))
    assert "Alice" not in str(bad.value)


def test_more_records_than_sums_are_exact_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is on all blocks together."""
    total = ClippedSum(lower=0, upper=2**26, granularity=2**-6)
    with pytest.raises(ParameterError, match="granularity coarser"):
        total(Blocks([np.zeros(2**20 + 1)] * 2))
    monkeypatch.setattr("dpproof.mechanisms.blocks.MOST_RECORDS", 799)
    one = data("column")[0]
    assert Count()(Blocks([one])) == 400
    with pytest.raises(ParameterError, match="at most 799 records"):
        Count()(Blocks([one, one]))
