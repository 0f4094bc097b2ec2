"""Batches that a loader yields, and tests of the laws that schemes give to them.

A p-value is at most u with probability at most u if the batches follow the scheme. Sizes are
conditioned on, so that no test knows a sampling rate. Two facts give the bounds:

- NA: the indicators of a uniform subset, its hypergeometric numbers in disjoint groups, and
  multinomial counts are negatively associated, and so are increasing functions of disjoint groups
  of them (Joag-Dev & Proschan, Annals of Statistics 11 (1983)). So the probability that all sizes
  are below a bound is at most the product, and sums of 0-1 functions have Chernoff bounds.
- Hoeffding (JASA 58 (1963), Theorem 4): draws without replacement have the Chernoff bounds of
  draws with replacement.

Assumed: rounding, gammaln's included, changes no p-value by a hundredth; ``MARGIN`` covers that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.form import DataError, withholding
from dpproof.auditing.counts import special

Indices = NDArray[np.int64]
Loader = Iterable[Any] | Callable[[], Iterable[Any]]


class Dataset(Protocol):
    """Records by their number."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any:  # noqa: ANN401  # whatever a record is
        ...


@final
class RecordedDataset:
    """A dataset that records which of its records are asked for, for loaders that yield records.

    A loader that reads in worker processes, or ahead, hides what belongs to which batch:
    give it ``range(n)`` as its dataset instead, and its batches are record numbers.

    Example:
        >>> dataset = RecordedDataset(["ann", "bob"])
        >>> dataset[1], len(dataset), dataset.take()
        ('bob', 2, [1])
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._asked: list[Any] = []

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:  # noqa: ANN401  # whatever a record is
        self._asked.append(index)
        return self._dataset[index]

    def take(self) -> list[Any]:
        """Return the numbers of the records asked for since the last call."""
        asked, self._asked = self._asked, []
        return asked


@final
@dataclass(frozen=True, eq=False, repr=False)
class BatchLog:
    """Record numbers of all batches."""

    epochs: tuple[tuple[Indices, ...], ...]  # the batches of every epoch
    records: int  # the number of records

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
        """Return by how many places a record is ahead of the file's order, at most, by batches."""
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
    return tuple(tuple(_batches(run, dataset)) for run in _runs(loader, epochs, batches))


def _runs(loader: Loader, epochs: int, batches: int | None) -> Iterator[Iterator[Any]]:
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


MARGIN = 1.01
_ODDS = (0.25, 2.0, 8.0, 64.0)  # Of bets on pairs of records. Heuristic.
Floats = NDArray[np.float64]


def log_choices(n: Indices | int, k: Indices | int) -> Floats:
    """Return the logs of binomial coefficients, 0 <= k <= n."""
    gammaln, total, part = special().gammaln, np.asarray(n, float), np.asarray(k, float)
    return np.asarray(gammaln(total + 1) - gammaln(part + 1) - gammaln(total - part + 1))


def chernoff(hits: float, trials: float, share: float) -> float:
    """Bound both tails of a sum of 0-1 variables of this mean share at the hits counted.

    Source: Chernoff, Annals of Mathematical Statistics 23 (1952); for variables with different
        shares the geometric mean of the moment generating functions is at most the mean's.
    """
    if trials == 0 or not 0 < share < 1:
        return 1.0
    rate = hits / trials
    divergence = special().rel_entr(rate, share) + special().rel_entr(1 - rate, 1 - share)
    return min(1.0, 2 * math.exp(-trials * float(divergence)) * MARGIN)


def file_neighbours(log: BatchLog) -> float:
    """Test whether records 0 and 1, 2 and 3, ... of the file are together as often as by chance."""
    return _p_value(log_bets(log, np.arange(log.records), 0))


def first_companions(log: BatchLog) -> float:
    """Test whether neighbours of the first epoch are together later as often as by chance."""
    return _p_value(log_bets(log, np.argsort(log.labels[0], kind="stable"), 1))


def _p_value(log_e_value: float) -> float:  # its inverse (Ville 1939)
    return min(1.0, math.exp(min(0.0, -log_e_value)) * MARGIN)


def log_bets(log: BatchLog, order: Indices, start: int) -> float:
    """Return the log of an e-value: bets that pairs are in a batch too often, or too seldom.

    Statement: if n records fill batches of fixed sizes in a uniformly random order and pairs are
        revealed one by one, the next pair is together with probability sum_t c_t(c_t - 1)/N(N - 1),
        for c_t free places of N. Bets on pairs at these chances multiply to an e-value; epochs are
        independent. Its mean is 1. Pairs are the records at places 0 and 1, 2 and 3, ... of the
        order, which may depend on the epochs before ``start``.
    """
    n = log.records // 2 * 2
    logs = np.zeros(len(_ODDS))
    for sizes, labels in list(zip(log.sizes, log.labels, strict=True))[start:]:
        groups, sequence = np.append(sizes, log.records - sizes.sum()), labels[order]
        ranks = np.empty_like(sequence)
        ranks[np.argsort(sequence, kind="stable")] = np.arange(log.records) - np.repeat(
            np.cumsum(groups) - groups, groups
        )
        taken = 2 * (groups[sequence] - ranks - 1)
        ways = np.sum(groups * (groups - 1)) - np.cumsum(taken) + taken
        free = log.records - np.arange(0, n, 2)
        chances = ways[0:n:2] / (free * (free - 1))
        together = sequence[0:n:2] == sequence[1:n:2]
        for bet, odds in enumerate(_ODDS):
            logs[bet] += np.sum(np.log1p((odds - 1) * together) - np.log1p((odds - 1) * chances))
    return float(special().logsumexp(logs)) - math.log(len(_ODDS))


def file_neighbours_of_samples(log: BatchLog) -> float:
    """Test whether both of records 0 and 1, 2 and 3, ... are in a sample as often as by chance."""
    return _both(log, np.arange(log.records), 0)


def first_companions_of_samples(log: BatchLog) -> float:
    """Test whether both neighbours of the first epoch come together as often as by chance."""
    order = np.concatenate(log.epochs[0])
    return _both(log, order[np.sort(np.unique(order, return_index=True)[1])], 1)


def _both(log: BatchLog, order: Indices, start: int) -> float:
    """Test whether pairs of records are both in a sample too often or too seldom.

    Statement: batches are independent, and given its number of distinct records each is a uniform
        subset. Both records of a pair are in a subset of m with probability m(m - 1)/n(n - 1);
        pairs are disjoint, so NA applies.
    """
    n, hits, chances = log.records, 0, 0.0
    firsts, others = order[: len(order) // 2 * 2].reshape(-1, 2).T
    batches = [batch for run in log.epochs[start:] for batch in run]
    if not batches or not len(firsts):
        return 1.0
    for batch in batches:
        inside = np.zeros(n, dtype=bool)
        inside[batch] = True
        hits += int(np.count_nonzero(inside[firsts] & inside[others]))
        distinct = int(np.count_nonzero(inside))
        chances += distinct * (distinct - 1) / (n * (n - 1))
    return chernoff(hits, len(batches) * len(firsts), chances / len(batches))


def often(log: BatchLog) -> float:
    """Test whether records that come often in every other batch come often in the batches between.

    Statement: given some batches and all sizes, the others are independent uniform subsets or
        draws with replacement. Hoeffding's bound applies to the hits of a fixed set of records.
    """
    epochs = log.epochs if any(len(run) > 1 for run in log.epochs) else (tuple(log.batches),)
    seen, tested = (
        np.concatenate([batch for run in epochs for batch in run[start::2]] or [np.zeros(0, int)])
        for start in (0, 1)
    )
    counts = np.bincount(seen, minlength=log.records)
    chosen = counts * log.records > len(seen)
    return chernoff(int(chosen[tested].sum()), len(tested), float(chosen.mean()))


def once_an_epoch(log: BatchLog) -> float:
    """Test whether no epoch has a record twice, where batches are drawn independently.

    Statement: subsets of sizes m_t are disjoint with probability prod_t C(n - s_t, m_t)/C(n, m_t),
        where s_t is the sum of the sizes before. Epochs multiply.
    """
    if log.counts.max() > 1:
        return 1.0
    logs = [
        float(np.sum(log_choices(log.records - np.cumsum(m) + m, m) - log_choices(log.records, m)))
        for m in log.sizes
    ]
    return min(1.0, math.exp(sum(logs)) * MARGIN)


def never(log: BatchLog) -> float:
    """Test whether no batch has some record, as if it were none of the records.

    Statement: independent uniform subsets of m_t of n records all miss one of them with probability
        prod_t (1 - m_t/n), and any of them with at most n times that.
    """
    if log.counts.sum(axis=0).min() > 0:
        return 1.0
    missed = np.prod(1 - np.concatenate(log.distinct) / log.records)
    return min(1.0, log.records * float(missed) * MARGIN)


def file_order(log: BatchLog) -> float:
    """Test whether no record comes long before its place in the file, as from a shuffle buffer.

    Statement: in a uniformly random order of n records, record i is in a batch whose last place
        is at least i - d for every i with probability prod_p (min(n, e_p + d + 1) - p)/(n - p),
        where e_p is the last place of the batch of place p: records fill the places in their
        order, and what is allowed at a place is allowed at all later ones. Exact; epochs multiply.
    """
    n, lead, log_probability = log.records, log.lead, 0.0
    places = np.arange(n)
    for place, sizes in enumerate(log.sizes):
        groups = np.append(sizes, n - sizes.sum())
        last = np.repeat(ends(log, place), groups)
        log_probability += float(
            np.sum(np.log(np.minimum(n, last + lead + 1) - places) - np.log(n - places))
        )
    return min(1.0, math.exp(log_probability) * MARGIN)


def new_partition(log: BatchLog) -> float:
    """Test whether two epochs are one partition of the records, in one order or in any."""
    gammaln = special().gammaln
    ways = [
        float(np.sum(gammaln(np.append(sizes, log.records - sizes.sum()) + 1.0)))
        - float(gammaln(log.records + 1.0))
        for sizes in log.sizes
    ]
    return _again(log, max(ways))


def new_samples(log: BatchLog) -> float:
    """Test whether two epochs have the same independent subsets, in one order or in any."""
    return _again(log, max(-float(np.sum(log_choices(log.records, one))) for one in log.distinct))


def _again(log: BatchLog, ways: float) -> float:
    """Bound the probability that any two epochs agree, from that of two in one order."""
    contents, pairs = log.contents, math.comb(len(log.epochs), 2)
    if len({tuple(sorted(one)) for one in contents}) == len(contents):
        return 1.0
    longest = max(len(run) for run in log.epochs)
    orders = 0.0 if len(set(contents)) < len(contents) else math.lgamma(longest + 1.0)
    return min(1.0, pairs * math.exp(min(0.0, ways + orders)) * MARGIN)


def poisson_sizes(log: BatchLog) -> float:
    """Test the largest and the smallest size of Poisson samples of one rate."""
    # Given their sum the sizes are hypergeometric, NA, whatever the rate.
    sizes, n = np.concatenate(log.sizes), log.records
    total, rest = int(sizes.sum()), (len(sizes) - 1) * n
    k = np.arange(max(0, total - rest), min(n, total) + 1)
    return _extremes(sizes - k[0], log_choices(n, k) + log_choices(rest, total - k))


def bin_sizes(log: BatchLog) -> float:
    """Test the largest and the smallest size where every record chooses its batch uniformly."""
    # Sizes of an epoch are multinomial, NA; epochs with one number of batches are independent.
    sizes, n, batches = np.concatenate(log.sizes), log.records, len(log.epochs[0])
    if batches == 1:
        return 1.0
    k = np.arange(n + 1)
    return _extremes(sizes, log_choices(n, k) - k * math.log(batches - 1))


def _extremes(sizes: Indices, log_masses: Floats) -> float:
    """Bound both tails of the largest and the smallest of NA variables of one law on 0, 1, ..."""
    masses = np.exp(log_masses - log_masses.max())
    masses /= masses.sum()
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    most, least, count = int(sizes.max()), int(sizes.min()), len(sizes)
    return min(
        1.0,
        4 * float(min(1.0, below[most])) ** count * MARGIN,
        4 * float(min(1.0, above[least])) ** count * MARGIN,
        4 * count * float(above[most]) * MARGIN,
        4 * count * float(below[least]) * MARGIN,
    )


def equal_samples(log: BatchLog) -> float:
    """Test whether all sizes but an epoch's last are equal, for Poisson samples of one rate."""
    # Given the sum of K sizes, all are m with probability C(n, m)^K / C(Kn, Km).
    sizes, n = log.body, log.records
    if np.any(sizes != sizes[0]):
        return 1.0
    count, size = len(sizes), int(sizes[0])
    value = count * log_choices(n, size) - log_choices(count * n, count * size)
    return min(1.0, math.exp(min(0.0, float(value))) * MARGIN)


def equal_bins(log: BatchLog) -> float:
    """Test whether sizes are all equal but the last, or at most one apart, as no bins are.

    Statement: the T sizes of an epoch are multinomial. T - 1 of them are m each, for some m, with
        the sum over m of n! T^-n / (m!^(T-1) (n - (T-1)m)!); n mod T of them are one larger than
        the others with C(T, n mod T) n! T^-n / prod_t m_t!. Epochs multiply.
    """
    n, batches = log.records, len(log.epochs[0])
    sizes = np.concatenate(log.sizes)
    uneven = bool(np.any(log.body != log.body[0])) and sizes.max() - sizes.min() > 1
    if batches == 1 or uneven:
        return 1.0
    gammaln, m = special().gammaln, np.arange(n // (batches - 1) + 1.0)
    equal = (batches - 1) * gammaln(m + 1) + gammaln(n - (batches - 1) * m + 1)
    small, larger = divmod(n, batches)
    even = batches * gammaln(small + 1.0) + larger * math.log(small + 1.0)
    ways = np.append(-equal, log_choices(batches, larger) - even)
    chance = float(np.sum(np.exp(gammaln(n + 1.0) - n * math.log(batches) + ways)))
    return min(1.0, chance ** len(log.epochs) * MARGIN)


def no_repeats(log: BatchLog) -> float:
    """Test whether no batch has a record twice, where each draw is of all records anew."""
    # m draws of n records are distinct with probability n!/((n - m)! n^m).
    if log.repeats:
        return 1.0
    gammaln, n, sizes = special().gammaln, log.records, np.concatenate(log.sizes)
    logs = gammaln(n + 1.0) - gammaln(n - sizes + 1.0) - sizes * math.log(n)
    return min(1.0, math.exp(float(np.sum(logs))) * MARGIN)
