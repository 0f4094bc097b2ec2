"""Trials: coins, outputs, and samples that can serve one purpose only."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from accountant import check
from auditing.counts import PrefixCounts
from auditing.errors import SamplesUsed
from auditing.pair import Pair
from auditing.sampler import FeatureMap, Features, Sampler, encode
from auditing.witnesses.witness import Question

Labels = NDArray[np.bool_]

_CHUNK = 1 << 15
_FIRST = 64
_AHEAD = 8


class OutOfTime(Exception):
    """The time budget ended before the planned trials were drawn; no error, an outcome."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Trials to look at freely: they choose a test and are never tested.

    Attributes:
        features: shape (trials, coordinates).
        labels: shape (trials,), True where the trial was on D.
    """

    features: Features
    labels: Labels

    def __len__(self) -> int:
        """How many trials."""
        return len(self.labels)

    def halves(self) -> tuple[Training, Training]:
        """Two disjoint halves, every second trial each."""
        return (
            Training(self.features[0::2], self.labels[0::2]),
            Training(self.features[1::2], self.labels[1::2]),
        )

    def joined(self, other: Training) -> Training:
        """Both together."""
        return Training(
            np.concatenate([self.features, other.features]),
            np.concatenate([self.labels, other.labels]),
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """One chunk of trials, on any process: everything it needs to be drawn again."""

    sampler: Sampler
    pair: Pair
    features: FeatureMap | None
    seed: int
    position: int
    size: int


def _draw(task: _Task) -> Training:
    """Toss the coins, run the sampler on both datasets, mix the outputs.

    The number of trials on D is Bin(size, 1/2) and the order is random, which is the law of
    ``size`` coins. Every chunk has its own streams.
    """
    root = np.random.SeedSequence(entropy=task.seed, spawn_key=(task.position,))
    coins, first, second = (np.random.default_rng(child) for child in root.spawn(3))
    on_data = int(coins.binomial(task.size, 0.5))
    parts = [
        encode(task.sampler(data, count, rng), count, task.features)
        for data, count, rng in (
            (task.pair.data, on_data, first),
            (task.pair.neighbour, task.size - on_data, second),
        )
        if count
    ]
    width = max(part.shape[1] for part in parts)
    features = np.concatenate([_widened(part, width) for part in parts])
    order = coins.permutation(task.size)
    return Training(features[order], (np.arange(task.size) < on_data)[order])


def _widened(part: Features, width: int) -> Features:
    """Outputs of different length on the two datasets: the missing coordinates are nan."""
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan)


@final
class Trials:
    """A source of fresh trials: whatever is drawn for one purpose is not drawn again.

    ``training`` gives samples that can be looked at; ``testing`` gives samples that can only be
    counted, once, against questions that were fixed before.

    Args:
        sampler: draws outputs.
        pair: the two datasets.
        seed: determines every coin and every generator given to the sampler.
        features: outputs -> numbers, or None.
        executor: where chunks are drawn; None is here.
        deadline: ``time.monotonic()`` after which ``OutOfTime`` is raised.
    """

    def __init__(
        self,
        sampler: Sampler,
        pair: Pair,
        *,
        seed: int,
        features: FeatureMap | None = None,
        executor: Executor | None = None,
        deadline: float | None = None,
    ) -> None:
        self._sampler = sampler
        self._pair = pair
        self._seed = check.whole(seed=seed)
        self._features = features
        self._executor = executor
        self._deadline = deadline
        self._positions = itertools.count()
        self._width = 0  # coordinates of an output, known from the first chunk
        self.drawn = 0

    def training(self, count: int) -> Training:
        """Fresh trials to look at."""
        chunks = list(self._chunks(count))
        return _stacked(chunks)

    def training_after(self, drawn: Training, count: int) -> Training:
        """Training samples with fresh ones added to them, ``count`` in all."""
        missing = count - len(drawn)
        return drawn if missing <= 0 else _stacked([drawn, self.training(missing)])

    def testing(self, count: int) -> Testing:
        """Fresh trials to count; they are drawn while they are counted."""
        return Testing(self._chunks(count))

    def _chunks(self, count: int) -> Iterator[Training]:
        check.count(count=count)
        for chunk in self._drawn(self._tasks(count)):
            self._width = self._width or chunk.features.shape[1]
            self.drawn += len(chunk)
            yield chunk

    def _tasks(self, count: int) -> Iterator[_Task]:
        left = count
        while left:
            largest = max(1, _CHUNK // self._width) if self._width else _FIRST
            size = min(left, largest)
            position = next(self._positions)
            yield _Task(self._sampler, self._pair, self._features, self._seed, position, size)
            left -= size

    def _drawn(self, tasks: Iterable[_Task]) -> Iterator[Training]:
        if self._executor is None:
            for task in tasks:
                self._check_time()
                yield _draw(task)
            return
        waiting: list[Future[Training]] = []
        for task in tasks:
            self._check_time()
            waiting.append(self._executor.submit(_draw, task))
            if len(waiting) > (_AHEAD if self._width else 0):
                yield waiting.pop(0).result()
        for future in waiting:
            self._check_time()
            yield future.result()

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime


@final
class Testing:
    """Fresh trials that can be counted once, against questions fixed before; never looked at.

    ``spent`` gives them as training for later, once they have been counted.
    """

    __test__ = False

    def __init__(self, chunks: Iterator[Training]) -> None:
        self._chunks: Iterator[Training] | None = chunks
        self._kept: list[Training] = []

    def tally(self, questions: Sequence[Question], *, keep: bool = False) -> list[PrefixCounts]:
        """Count every nested event of every question, one chunk in memory at a time.

        Args:
            questions: fixed before.
            keep: whether ``spent`` will be asked for; then all trials stay in memory.
        Raises:
            SamplesUsed: these samples were counted before.
        """
        if self._chunks is None:
            raise SamplesUsed("these samples have been tested; draw new ones with testing()")
        chunks, self._chunks = self._chunks, None
        inside = [np.zeros(len(question.thresholds), dtype=np.int64) for question in questions]
        hits = [np.zeros(len(question.thresholds), dtype=np.int64) for question in questions]
        total = on_data = 0
        for chunk in chunks:
            total += len(chunk)
            on_data += int(chunk.labels.sum())
            for position, question in enumerate(questions):
                here = question.count(chunk.features, chunk.labels)
                inside[position] += here[0]
                hits[position] += here[1]
            if keep:
                self._kept.append(chunk)
        return [
            question.counts(k, h, on_data, total - on_data)
            for question, k, h in zip(questions, inside, hits, strict=True)
        ]

    def spent(self) -> Training:
        """The trials, now that they have been counted: training for tests on other samples.

        Raises:
            SamplesUsed: they have not been counted yet, or were not kept.
        """
        if self._chunks is not None or not self._kept:
            raise SamplesUsed("count these samples first, with keep=True")
        return _stacked(self._kept)


def _stacked(chunks: Sequence[Training]) -> Training:
    width = max(chunk.features.shape[1] for chunk in chunks)
    return Training(
        np.concatenate([_widened(chunk.features, width) for chunk in chunks]),
        np.concatenate([chunk.labels for chunk in chunks]),
    )
