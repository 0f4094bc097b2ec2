"""Where trials are drawn makes no difference, and memory has a bound wherever it is."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.auditing import Outcome
from dpproof.auditing.trials.encoding import Pair
from dpproof.auditing.trials.trials import Drawing, OutOfTime, Task, Trials, draw
from tests.auditing.samplers import laplace, textbook_laplace

PAIR = Pair(0.0, 1.0)


@contextmanager
def dask(*, processes: bool) -> Iterator[Executor]:
    """A Dask cluster of two workers, as an executor."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=None,
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster) as client, client.get_executor() as executor:
        yield executor


EXECUTORS: dict[str, Callable[[], Any]] = {
    "one thread": lambda: ThreadPoolExecutor(1),
    "four threads": lambda: ThreadPoolExecutor(4),
    "processes": lambda: ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")),
    "dask": lambda: dask(processes=False),
    "dask processes": lambda: dask(processes=True),
}
LONG = {"dask processes"}


def report(executor: Executor | None, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """One audit as plain values, without its duration."""
    made = auditing.audit(
        textbook_laplace, (0.0, 1.0), (1, 0), samples=300, seed=4, executor=executor, **options
    )
    return {**made.to_dict(), "seconds": 0}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in EXECUTORS]
)
def test_executors_draw_the_same(name: str) -> None:
    """Threads, processes and a cluster give the report that no executor gives."""
    with EXECUTORS[name]() as executor:
        found = [report(executor, chunk=chunk) for chunk in (None, 50)]

    assert found == [report(None, chunk=chunk) for chunk in (None, 50)]


@pytest.mark.parametrize("workers", [1, 3])
def test_one_trial_a_task(workers: int) -> None:
    """Audits whose trials are long draw one in a task, on any number of workers."""
    sizes: list[int] = []

    def sampler(value: float, size: int, rng: np.random.Generator) -> object:
        sizes.append(size)
        return laplace(1.0)(value, size, rng)

    with ThreadPoolExecutor(workers) as executor:
        made = auditing.audit(
            sampler, (0.0, 1.0), (1, 0), samples=50, seed=1, executor=executor, chunk=1
        )

    assert set(sizes) == {1}
    assert len(sizes) == made.trials == 100


def test_chunks_are_delivered_in_order() -> None:
    """A chunk that is finished first waits for those before it."""
    slow = threading.Event()

    def sampler(_: float, size: int, rng: np.random.Generator) -> object:
        if not slow.is_set():
            slow.set()
            time.sleep(0.2)
        return rng.normal(size=size)

    tasks = [Task(sampler, PAIR, None, 1, position, 5) for position in range(20)]
    expected = [draw(task)[1][0].tolist() for task in tasks]
    slow.clear()
    with ThreadPoolExecutor(4) as executor:
        found = [
            features.tolist() for features, _ in Drawing(executor).chunks(tasks, ahead=lambda: 20)
        ]

    assert found == expected


class Counting(Executor):
    """Draws at once, and knows how many chunks nobody has taken yet.

    Args:
        bound: no more may wait.
    """

    def __init__(self) -> None:
        self.submitted = 0
        self.most = 0
        self.taken = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Done when it is back."""
        self.submitted += 1
        self.most = max(self.most, self.submitted - self.taken)
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.parametrize(
    ("width", "chunk", "most"), [(1, None, 129), (1, 1, 257), (1 << 17, 3, 17), (1 << 17, None, 33)]
)
def test_few_chunks_wait(width: int, chunk: int | None, most: int) -> None:
    """However many trials: some hundred chunks wait to be counted, fewer when they are large."""
    executor = Counting()

    def sampler(_: float, size: int, rng: np.random.Generator) -> object:
        return np.broadcast_to(rng.normal(size=(size, 1)), (size, width))

    trials = Trials(sampler, PAIR, seed=1, drawing=Drawing(executor), chunk=chunk)
    for _ in trials._chunks(600 if chunk or width > 1 else 1 << 24):
        executor.taken += 1
        if executor.submitted > 280 or executor.taken * width > 1 << 22:
            break

    assert executor.most == most


def test_a_budget_ends_long_trials() -> None:
    """The time budget does not wait for a trial that is running elsewhere."""

    def sampler(_: float, size: int, rng: np.random.Generator) -> object:
        stop.wait(5.0)
        return rng.normal(size=size)

    stop = threading.Event()
    with ThreadPoolExecutor(2) as executor:
        started = time.monotonic()
        made = auditing.audit(
            sampler, (0.0, 1.0), (1, 0), samples=100, seconds=0.2, executor=executor, chunk=1
        )
        took = time.monotonic() - started
        stop.set()

    assert made.outcome is Outcome.INCONCLUSIVE
    assert took < 3


def test_no_time_is_out_of_time() -> None:
    """A deadline that is over is noticed before anything is drawn."""
    drawing = Drawing(deadline=time.monotonic() - 1)
    with pytest.raises(OutOfTime):
        next(drawing.chunks([Task(laplace(1.0), PAIR, None, 1, 0, 5)], ahead=lambda: 0))


def test_errors_of_a_sampler_arrive() -> None:
    """What a sampler raises is told here by its type, and what had not begun is cancelled."""
    began: list[int] = []

    def sampler(_: float, size: int, __: np.random.Generator) -> object:
        began.append(size)
        raise ZeroDivisionError

    with ThreadPoolExecutor(1) as executor, pytest.raises(DataError, match="ZeroDivisionError"):
        auditing.audit(sampler, (0.0, 1.0), (1, 0), samples=10_000, executor=executor, chunk=1)

    assert len(began) < 100


def test_progress_is_told() -> None:
    """Once a chunk, from few trials to all that are planned."""
    seen: list[tuple[int, int]] = []
    auditing.audit(
        laplace(1.0),
        (0.0, 1.0),
        (1, 0),
        samples=50_000,
        seed=1,
        progress=lambda drawn, planned: seen.append((drawn, planned)),
    )

    assert {planned for _, planned in seen} == {100_000}
    assert [drawn for drawn, _ in seen] == sorted(drawn for drawn, _ in seen)
    assert seen[-1][0] == 100_000


@pytest.mark.parametrize("chunk", [0, -1, 1.5])
def test_refuses_chunks_of_nothing(chunk: object) -> None:
    """A chunk has at least one trial."""
    with pytest.raises(ParameterError, match="chunk"):
        auditing.audit(laplace(1.0), (0.0, 1.0), (1, 0), chunk=chunk)  # type: ignore[arg-type]
