"""The table of sampling schemes that a loader may follow: facts, laws, and what a budget takes.

A new scheme is one row of ``CANDIDATES``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, final

import numpy as np

from dpproof.accountant.sampling import (
    BallsInBins,
    EpochScheme,
    Poisson,
    RandomAllocation,
    ShuffledBatches,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.auditing.counts.binomial import lower_limit, upper_limit
from dpproof.auditing.inspection import batch_laws as laws
from dpproof.auditing.inspection.batch_log import BatchLog

Scheme = Poisson | WithoutReplacement | WithReplacement | EpochScheme
Facts = dict[str, Callable[[BatchLog], bool]]
Laws = dict[str, Callable[[BatchLog], float]]


@final
class Candidate(NamedTuple):
    """One row of the table: a scheme, the facts that contradict it, its laws, what a budget takes.

    Attributes:
        name: the scheme in words.
        contradictions: facts, by what a report says of them.
        laws: tests of its laws, by what a report says of a small p-value.
        scheme: the object for ``subsample`` or ``allocate``, from the log and the error
            probability of a limit.
        advice: how that is used.
        kept: whether one draw is kept in all epochs: the laws are tested on the first.
    """

    name: str
    contradictions: Facts
    laws: Laws
    scheme: Callable[[BatchLog, float], Scheme]
    advice: str
    kept: bool = False


def uneven(log: BatchLog) -> bool:
    """Return whether sizes differ, the last of an epoch aside, which is no larger."""
    return bool(np.any(log.body != log.body[0])) or any(run[-1] > log.body[0] for run in log.sizes)


def _ragged(log: BatchLog) -> bool:
    """Return whether sizes are other ones in every epoch, or neither even nor one apart."""
    sizes = log.sizes[0]
    changing = any(not np.array_equal(sizes, other) for other in log.sizes)
    return changing or (uneven(log) and bool(sizes.max() - sizes.min() > 1))


def _short(log: BatchLog) -> bool:
    """Return whether more records are left out than do not fill a batch."""
    least = min(int(sizes.min()) for sizes in log.sizes)
    uneven = any(np.any(sizes != sizes[0]) for sizes in log.sizes)
    return log.left_out > 0 and (log.left_out >= least or uneven)


def _ties(log: BatchLog) -> int:
    """Return the number of batches of the largest size."""
    sizes = np.concatenate(log.sizes)
    return int(np.count_nonzero(sizes == sizes.max()))


def everything(log: BatchLog) -> bool:
    """Return whether every batch is all records."""
    return all(len(np.unique(batch)) == log.records for batch in log.batches)


def rate_limits(log: BatchLog, significance: float) -> tuple[float, float]:
    """Return two-sided limits of the rate of Poisson samples."""
    hits, coins = sum(map(len, log.batches)), len(log.batches) * log.records
    if hits > coins:
        return 1.0, 1.0
    ends = (limit(hits, coins, significance / 2) for limit in (lower_limit, upper_limit))
    low, high = map(float, ends)
    return low, high


_LEAD: Final = "no record comes long before its place in the file"
_NEIGHBOURS: Final = "neighbours in the file are in a batch together too often or too seldom"
_COMPANIONS: Final = "neighbours in the first epoch are together too often or too seldom later"
_AGAIN: Final = "the same batches come again"
_OFTEN: Final = "records come too often, or too seldom, in every other batch"
_SIZES: Final = "the largest or the smallest batch size is too small or too large"
_EQUAL: Final = "batch sizes are equal"
_NO_REPEATS: Facts = {"a batch has a record more than once": lambda log: log.repeats > 0}
_ONCE: Facts = _NO_REPEATS | {
    "an epoch has a record more than once": lambda log: log.counts.max() > 1
}
_ALL: Facts = _ONCE | {
    "an epoch leaves a record out": lambda log: log.left_out > 0,
    "epochs differ in their number of batches": lambda log: len(set(map(len, log.epochs))) > 1,
}
_SHUFFLED: Facts = _ONCE | {
    "an epoch leaves out records that would fill a batch": _short,
    "batch sizes are not fixed": _ragged,
    "an epoch is one batch of a part of the records": lambda log: (
        log.left_out > 0 and any(len(run) == 1 for run in log.epochs)
    ),
}
_KEPT: Facts = {"an epoch has other batches than the first": lambda log: not log.same_order}
_ORDER: Laws = {_LEAD: laws.file_order, _NEIGHBOURS: laws.file_neighbours}
_FRESH: Laws = _ORDER | {_AGAIN: laws.new_partition, _COMPANIONS: laws.first_companions}
_BINS: Laws = {_SIZES: laws.bin_sizes, _EQUAL: laws.equal_bins}
_SAMPLES: Laws = {
    _NEIGHBOURS: laws.file_neighbours_of_samples,
    _COMPANIONS: laws.first_companions_of_samples,
    "no epoch has a record twice": laws.once_an_epoch,
    _AGAIN: laws.new_samples,
    _OFTEN: laws.often,
    "a record never comes": laws.never,
}
_STEP: Final = "for subsample(...), one step for every batch"
_TOGETHER: Final = (
    "for allocate(...), of these epochs together: a longer training has larger epochs="
)

CANDIDATES: Final = (
    Candidate(
        "ShuffledBatches, a new order in every epoch",
        _SHUFFLED,
        _FRESH,
        lambda log, _: ShuffledBatches(batches=len(log.epochs[0])),
        "for allocate(...), repeated for every epoch",
    ),
    Candidate(
        "ShuffledBatches, one order for all epochs",
        _SHUFFLED | _KEPT,
        _ORDER,
        lambda log, _: ShuffledBatches(batches=len(log.epochs[0]), epochs=len(log.epochs)),
        _TOGETHER,
        kept=True,
    ),
    Candidate(
        "random allocation, every record to a batch of its own choice in every epoch",
        _ALL,
        _FRESH | _BINS,
        lambda log, _: RandomAllocation(steps=len(log.epochs[0])),
        "for allocate(...), repeated for every epoch",
    ),
    Candidate(
        "balls in bins, every record to a batch of its own choice for all epochs",
        _ALL | _KEPT,
        _ORDER | _BINS,
        lambda log, _: BallsInBins(steps=len(log.epochs[0]), epochs=len(log.epochs)),
        _TOGETHER,
        kept=True,
    ),
    Candidate(
        "WithoutReplacement, a new subset of fixed size for every batch",
        _NO_REPEATS | {"batch sizes differ": lambda log: len({*map(len, log.batches)}) > 1},
        _SAMPLES,
        lambda log, _: WithoutReplacement(
            sample_size=len(log.epochs[0][0]), population_size=log.records
        ),
        _STEP,
    ),
    Candidate(
        "draws with replacement, a fixed number for every batch",
        {"batch sizes differ": uneven},
        _SAMPLES | {"no batch has a record more than once": laws.no_repeats},
        lambda log, _: WithReplacement(
            sample_size=len(log.epochs[0][0]), population_size=log.records
        ),
        _STEP,
    ),
    Candidate(
        "Poisson, every record by a coin of its own for every batch",
        _NO_REPEATS,
        _SAMPLES | {_SIZES: laws.poisson_sizes, _EQUAL: laws.equal_samples},
        lambda log, share: Poisson(sampling_rate=rate_limits(log, share)[1]),
        f"{_STEP}; the rate is an upper limit: state the true one if it is between the limits",
    ),
)

SHARES: Final = 1 + max(len(candidate.laws) for candidate in CANDIDATES)
"""The number of tests that share an error probability; one more for the limits of a rate."""

REASONS: Final[dict[str, Callable[[BatchLog, set[str]], bool]]] = {
    "records come in the order of the file, so nothing is random": lambda log, _: (
        log.counts.max() == 1 and log.lead == 0
    ),
    "the same batches come in another order: a record's companions stay, and shuffling whole "
    "batches may amplify nothing": lambda log, _: log.same_batches and not log.same_order,
    "the same batches come in every epoch: batches are kept, or a seed is set": lambda log, _: (
        log.same_order
    ),
    "a record's place depends on its place in the file, as after a shuffle buffer smaller than the "
    "data": lambda log, refutations: log.counts.max() == 1 and _LEAD in refutations,
    "records near in the file, or alike, stay together, as in shards or batches by length": (
        lambda log, refutations: (
            log.counts.max() == 1 and bool({_NEIGHBOURS, _COMPANIONS} & refutations)
        )
    ),
    "an epoch has a part of the records: inspect all devices together, or state records=": (
        lambda log, _: log.counts.max() == 1 and _short(log)
    ),
    "an epoch has every record and some twice, as samplers of several devices do to fill a round: "
    "set drop_last=True, or even_batches=False": lambda log, _: (
        log.counts.min() == 1 and log.counts.max() == 2 and len(set(log.counts.sum(axis=1))) == 1
    ),
    "some records come more often than others, as with weights": lambda _, refutations: (
        _OFTEN in refutations
    ),
    "many batches have the largest size: a truncated Poisson sample is another scheme": (
        lambda log, refutations: _SIZES in refutations and _ties(log) > 2
    ),
    "no scheme of these is left": lambda _, __: True,
}
