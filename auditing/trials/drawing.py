"""Chunks of trials: drawn here or on an executor, kept in a store, delivered in order."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, final

import numpy as np

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.auditing.errors import SamplerFailed
from dpproof.auditing.trials.encoding import FeatureMap, Features, encode
from dpproof.auditing.trials.pair import Pair
from dpproof.auditing.trials.sampler import Sampler
from dpproof.auditing.trials.trial_store import Chunk, TrialStore


class OutOfTime(Exception):
    """The time budget ended before the planned trials were drawn; no error, an outcome."""


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Task:
    """One chunk of trials, on any process: everything it needs to be drawn again."""

    sampler: Sampler
    pair: Pair
    features: FeatureMap | None
    seed: int
    position: int
    size: int


def draw(task: Task) -> tuple[int, Chunk]:
    """Toss the coins, run the sampler on both datasets, mix the outputs; return the position too.

    The number of trials on D is Bin(size, 1/2) and the order is random, which is the law of
    ``size`` coins. Every chunk has its own streams.
    """
    root = np.random.SeedSequence(entropy=task.seed, spawn_key=(task.position,))
    coins, first, second = (np.random.default_rng(child) for child in root.spawn(3))
    on_data = int(coins.binomial(task.size, 0.5))
    parts = [
        encode(_outputs(task, data, count, rng), count, task.features)
        for data, count, rng in (
            (task.pair.data, on_data, first),
            (task.pair.neighbour, task.size - on_data, second),
        )
        if count
    ]
    width = max(part.shape[1] for part in parts)
    features = np.concatenate([widened(part, width) for part in parts])
    order = coins.permutation(task.size)
    return task.position, (features[order], (np.arange(task.size) < on_data)[order])


def result_of(future: Future[tuple[int, Chunk]], position: int) -> Chunk:
    """Return the result of a task, or refuse an executor that gives that of another one."""
    at, chunk = future.result()
    if at != position:
        raise SamplerFailed(f"the executor gave task {position} the result of task {at}")
    return chunk


def _outputs(task: Task, data: object, count: int, rng: np.random.Generator) -> Any:  # noqa: ANN401  # as a sampler
    """Call the sampler; one that ends the program ends the audit with an error."""
    try:
        return withholding(task.sampler)(data, count, rng)
    except SystemExit:
        raise ParameterError(
            "sampler", "SystemExit", "a function that returns outputs", "it called sys.exit"
        ) from None


def widened(part: Features, width: int) -> Features:
    """Return outputs padded with nan to a common width."""
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """The way from tasks to chunks: the executor that draws them, the store that keeps them.

    A chunk is a function of its task, and chunks are delivered in the order of their tasks: an
    audit sees the same whatever the executor, its number of workers, and what finishes first.

    Attributes:
        executor: where tasks run; None is here.
        store: has the chunks of an earlier run, and gets each new one as soon as it is finished.
        deadline: ``time.monotonic()`` after which ``OutOfTime`` is raised.
    """

    executor: Executor | None = None
    store: TrialStore | None = None
    deadline: float = math.inf

    def chunks(self, tasks: Iterable[Task], ahead: Callable[[], int]) -> Iterator[Chunk]:
        """Yield the chunks of the tasks, in order.

        Args:
            tasks: taken one at a time.
            ahead: how many of them may be started beyond the chunk that is delivered next; asked
                again before every task. Memory is bounded by that many chunks.
        """
        flight = _Flight(self)
        try:
            for task in tasks:
                flight.start(task)
                while len(flight.waiting) > (ahead() if self.executor else 0):
                    yield flight.deliver()
            while flight.waiting:
                yield flight.deliver()
        finally:
            flight.land()

    def left(self) -> float | None:
        """Return the seconds until the deadline; None, which waiting takes, without one.

        Raises:
            OutOfTime: it is over.
        """
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise OutOfTime
        return None if math.isinf(seconds) else seconds


@final
class _Flight:
    """Tasks that were started and are not delivered yet."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self.waiting: deque[Task] = deque()
        self._ready: dict[int, Chunk] = {}
        self._running: dict[int, tuple[Task, Future[tuple[int, Chunk]]]] = {}
        self._finished: SimpleQueue[int] = SimpleQueue()

    def start(self, task: Task) -> None:
        """Take the task's chunk from the store, or have it drawn."""
        self._drawing.left()
        executor, store = self._drawing.executor, self._drawing.store
        stored = None if store is None else store.chunk(task.position, task.size)
        self.waiting.append(task)
        if stored is not None:
            self._ready[task.position] = stored
        elif executor is None:
            self._keep(task, draw(task)[1])
        else:
            future = executor.submit(draw, task)
            self._running[task.position] = task, future
            future.add_done_callback(lambda _: self._finished.put(task.position))

    def deliver(self) -> Chunk:
        """Return the oldest task's chunk; store others that finish meanwhile at once."""
        first = self.waiting[0].position
        while first not in self._ready:
            try:
                position = self._finished.get(timeout=self._drawing.left())
            except Empty:
                continue  # asks what is left, which is nothing
            task, future = self._running.pop(position)
            self._keep(task, result_of(future, task.position))
        self.waiting.popleft()
        return self._ready.pop(first)

    def _keep(self, task: Task, chunk: Chunk) -> None:
        if self._drawing.store is not None:
            self._drawing.store.add(task.position, chunk)
        self._ready[task.position] = chunk

    def land(self) -> None:
        """Keep finished work and cancel work that has not begun, whatever ended the work."""
        for _, future in self._running.values():
            future.cancel()
        for task, future in self._running.values():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._keep(task, result_of(future, task.position))
