"""Batches of record numbers that a loader yields, epoch after epoch, and the facts about them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError, withholding

Indices = NDArray[np.int64]
Loader = Iterable[Any] | Callable[[], Iterable[Any]]


class Dataset(Protocol):
    """Records by their number."""

    def __len__(self) -> int:
        """Return the number of records."""
        ...

    def __getitem__(self, index: int, /) -> Any:  # noqa: ANN401  # whatever a record is
        """Return one record."""
        ...


@final
class RecordedDataset:
    """A dataset that records which of its records are asked for, for loaders that yield records.

    A loader that reads in worker processes, or ahead, hides what belongs to which batch:
    give it ``range(n)`` as its dataset instead, and its batches are record numbers.

    Args:
        dataset: anything with a length, and records by their number.
    Example:
        >>> dataset = RecordedDataset(["ann", "bob"])
        >>> dataset[1], len(dataset), dataset.take()
        ('bob', 2, [1])
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._asked: list[Any] = []

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:  # noqa: ANN401  # whatever a record is
        """Return a record, and keep its number."""
        self._asked.append(index)
        return self._dataset[index]

    def take(self) -> list[Any]:
        """Return the numbers of the records asked for since the last call."""
        asked, self._asked = self._asked, []
        return asked


@final
@dataclass(frozen=True, eq=False, repr=False)
class BatchLog:
    """Record numbers of all batches.

    Attributes:
        epochs: the batches of every epoch.
        records: the number of records.
    """

    epochs: tuple[tuple[Indices, ...], ...]
    records: int

    @classmethod
    def of(
        cls,
        loader: Loader,
        epochs: int,
        *,
        records: int | None = None,
        batches: int | None = None,
        dataset: RecordedDataset | None = None,
    ) -> BatchLog:
        """Run a loader; the arguments are those of ``inspect_loader``."""
        length = None if batches is None else arguments.count(batches=batches)
        logged = withholding(_logged)(loader, epochs, length, dataset)
        if not all(logged) or not any(len(batch) for run in logged for batch in run):
            hint = "worker processes hide what they read: load in this one"
            raise DataError("loader", loader, "such that every epoch has a record", hint)
        highest = max(int(batch.max(initial=-1)) for run in logged for batch in run)
        if records is None:
            records = highest + 1 if dataset is None else len(dataset)
        if highest >= arguments.count(records=records):
            raise ParameterError("records", records, "above the number of every record that comes")
        return cls(logged, records)

    @property
    def batches(self) -> list[Indices]:
        """Return the batches of all epochs."""
        return list(itertools.chain(*self.epochs))

    @property
    def first(self) -> BatchLog:
        """Return the first epoch alone."""
        return BatchLog(self.epochs[:1], self.records)

    @cached_property
    def sizes(self) -> list[Indices]:
        """Return the sizes of the batches of every epoch."""
        return [np.array([len(batch) for batch in run]) for run in self.epochs]

    @cached_property
    def body(self) -> Indices:
        """Return the sizes of all batches but the last of every epoch that has several."""
        return np.concatenate([sizes[:-1] if len(sizes) > 1 else sizes for sizes in self.sizes])

    @cached_property
    def counts(self) -> Indices:
        """Return how often each epoch (row) has each record (column)."""
        return np.array(
            [np.bincount(np.concatenate(run), minlength=self.records) for run in self.epochs]
        )

    @cached_property
    def repeats(self) -> int:
        """Return the number of batches that have a record more than once."""
        return int(np.sum(np.concatenate(self.distinct) < np.concatenate(self.sizes)))

    @cached_property
    def distinct(self) -> list[Indices]:
        """Return the numbers of distinct records in the batches of every epoch."""
        return [np.array([len(np.unique(batch)) for batch in run]) for run in self.epochs]

    @cached_property
    def labels(self) -> list[Indices]:
        """Return the batch of every record in each epoch; behind the last if it is in none."""
        labels = []
        for run in self.epochs:
            label = np.full(self.records, len(run))
            for place, batch in enumerate(run):
                label[batch] = place
            labels.append(label)
        return labels

    @property
    def left_out(self) -> int:
        """Return the largest number of records that an epoch leaves out."""
        return int((self.counts == 0).sum(axis=1).max())

    @property
    def lead(self) -> int:
        """Return by how many places a record comes before its place in the file, at most.

        A record's place is the last one of its batch. In file order this is 0.
        """
        return max(
            int(np.max(np.arange(self.records) - ends(self, place)[label]))
            for place, label in enumerate(self.labels)
        )

    @cached_property
    def contents(self) -> list[tuple[bytes, ...]]:
        """Return the batches of every epoch in a form that can be compared."""
        return [tuple(np.sort(batch).tobytes() for batch in run) for run in self.epochs]

    @property
    def same_order(self) -> bool:
        """Return whether every epoch has the same batches in the same order."""
        return len(set(self.contents)) == 1

    @property
    def same_batches(self) -> bool:
        """Return whether every epoch has the same batches, in any order."""
        return len({tuple(sorted(contents)) for contents in self.contents}) == 1


def ends(log: BatchLog, place: int) -> Indices:
    """Return the last place of every batch of one epoch, and of the records left out."""
    return np.append(np.cumsum(log.sizes[place]), log.records) - 1


def _logged(
    loader: Loader, epochs: int, batches: int | None, dataset: RecordedDataset | None
) -> tuple[tuple[Indices, ...], ...]:
    """Return the batches of every epoch."""
    return tuple(tuple(_batches(run, dataset)) for run in _runs(loader, epochs, batches))


def _runs(loader: Loader, epochs: int, batches: int | None) -> Iterator[Iterator[Any]]:
    """Yield every epoch."""
    if not isinstance(loader, Iterable) and not callable(loader):
        raise DataError("loader", loader, "an iterable of batches, or a function that starts one")
    start = loader.__iter__ if isinstance(loader, Iterable) else loader
    if batches is not None:
        stream = iter(start())
        yield from (itertools.islice(stream, batches) for _ in range(epochs))
    elif isinstance(loader, Iterator):
        hint = "state batches=, the number of batches of an epoch, or give a function that starts"
        raise DataError("loader", loader, "an iterable that starts anew for every epoch", hint)
    else:
        yield from (iter(start()) for _ in range(epochs))


def _batches(run: Iterator[Any], dataset: RecordedDataset | None) -> Iterator[Indices]:
    """Yield the record numbers of every batch of an epoch."""
    if dataset is not None:
        dataset.take()
    for place, batch in enumerate(run):
        numbers = np.asarray(batch if dataset is None else dataset.take())
        if numbers.ndim == 2 and len(numbers) == 1:  # a dataset of one column, as it is collated
            numbers = numbers[0]
        whole = numbers.dtype.kind in "iu" or numbers.size == 0
        if numbers.ndim != 1 or not whole or (numbers.size and numbers.min() < 0):
            hint = "give the loader range(n) as its dataset, or wrap its own in RecordedDataset"
            raise DataError("batch", batch, "a sequence of record numbers from 0", hint, at=place)
        yield numbers.astype(np.int64)
