"""Trials: coins, outputs, and samples that can serve one purpose only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.counts.counts import PrefixCounts
from dpproof.auditing.errors import SamplesUsed
from dpproof.auditing.trials.drawing import Drawing, Task, widened
from dpproof.auditing.trials.encoding import FeatureMap
from dpproof.auditing.trials.pair import Pair
from dpproof.auditing.trials.sampler import Sampler, Training

_NUMBERS = 1 << 15  # in one chunk
_FIRST = 64
_NUMBERS_AHEAD = 1 << 22
_LEAST_AHEAD, _MOST_AHEAD = 16, 256


class Events(Protocol):
    """Nested events, fixed before the samples are counted."""

    @property
    def thresholds(self) -> Floats:
        """Return one threshold for each event, from the smallest event to the largest."""

    def count(
        self, features: Floats, labels: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of rows in each event, and the number of hits among these."""

    def counts(
        self, inside: NDArray[np.int64], hits: NDArray[np.int64], on_data: int, on_neighbour: int
    ) -> PrefixCounts:
        """Return the sums of ``count`` as counts, with the trials on each dataset."""


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
        drawing: where they are drawn and kept.
        chunk: trials a task; None is as many as have a few ten thousand numbers.
        growing: whether a task without a chunk is at most a quarter of the trials planned before
            it, and at least one, so that it takes a fraction of the time so far.
        progress: called with the number of trials that have been delivered.
    """

    def __init__(
        self,
        sampler: Sampler,
        pair: Pair,
        *,
        seed: int,
        features: FeatureMap | None = None,
        drawing: Drawing | None = None,
        chunk: int | None = None,
        growing: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._sampler = sampler
        self._pair = pair
        self._seed = arguments.whole(seed=seed)
        self._features = features
        self._drawing = Drawing() if drawing is None else drawing
        self._chunk = None if chunk is None else arguments.count(chunk=chunk)
        self._growing, self._planned = growing, 0
        self._progress = progress
        self._positions = itertools.count()
        self._width = 0  # coordinates of an output, known from the first chunk
        self.drawn = 0

    def training(self, count: int) -> Training:
        """Draw fresh trials that may be looked at."""
        chunks = list(self._chunks(count))
        return _stacked(chunks)

    def training_after(self, drawn: Training, count: int) -> Training:
        """Return training samples with fresh ones added to them, ``count`` in all."""
        missing = count - len(drawn)
        return drawn if missing <= 0 else _stacked([drawn, self.training(missing)])

    def testing(self, count: int) -> Testing:
        """Return fresh trials to count; they are drawn while they are counted."""
        return Testing(self._chunks(count))

    def _chunks(self, count: int) -> Iterator[Training]:
        arguments.count(count=count)
        for features, labels in self._drawing.chunks(self._tasks(count), self._ahead):
            self._width = self._width or features.shape[1]
            self.drawn += len(labels)
            if self._progress is not None:
                self._progress(self.drawn)
            yield Training(features, labels)

    def _tasks(self, count: int) -> Iterator[Task]:
        left = count
        while left:
            largest = max(1, _NUMBERS // self._width) if self._width else _FIRST
            if self._growing:
                largest = min(largest, max(1, self._planned // 4))
            size = min(left, self._chunk or largest)
            self._planned += size
            position = next(self._positions)
            yield Task(self._sampler, self._pair, self._features, self._seed, position, size)
            left -= size

    def _ahead(self) -> int:
        """Return a number of chunks that keeps a cluster busy, fewer if large; see ``_tasks``."""
        if not self._width:
            return _LEAST_AHEAD if self._chunk else 0
        numbers = self._width * (self._chunk or max(1, _NUMBERS // self._width))
        return min(max(_LEAST_AHEAD, _NUMBERS_AHEAD // numbers), _MOST_AHEAD)


@final
class Testing:
    """Fresh trials that can be counted once, against questions fixed before; never looked at."""

    __test__ = False

    def __init__(self, chunks: Iterator[Training]) -> None:
        self._chunks: Iterator[Training] | None = chunks

    def tally(self, questions: Sequence[Events]) -> list[PrefixCounts]:
        """Count every nested event of every question, one chunk in memory at a time.

        Args:
            questions: fixed before.
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
        return [
            question.counts(k, h, on_data, total - on_data)
            for question, k, h in zip(questions, inside, hits, strict=True)
        ]


def _stacked(chunks: Sequence[Training]) -> Training:
    width = max(chunk.features.shape[1] for chunk in chunks)
    return Training(
        np.concatenate([widened(chunk.features, width) for chunk in chunks]),
        np.concatenate([chunk.labels for chunk in chunks]),
    )
