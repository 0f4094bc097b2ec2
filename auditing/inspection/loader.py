"""``inspect_loader``: which sampling scheme do the batches of a loader follow?

A new scheme is one row of ``CANDIDATES``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np

from dpproof.accountant import arguments, sampling
from dpproof.accountant.errors import ParameterError
from dpproof.auditing.counts import lower_limit, upper_limit
from dpproof.auditing.inspection import batch_laws as laws
from dpproof.auditing.inspection.batch_laws import BatchLog, Loader, RecordedDataset

Scheme = (
    sampling.Poisson | sampling.WithoutReplacement | sampling.WithReplacement | sampling.EpochScheme
)
Facts = dict[str, Callable[[BatchLog], bool]]
Laws = dict[str, Callable[[BatchLog], float]]


@final
class Candidate(NamedTuple):
    """One row of the table: a scheme, facts that contradict it, its laws, what a budget takes."""

    name: str  # the scheme in words
    contradictions: Facts  # by what a report says of them
    laws: Laws  # tests, by what a report says of a small p-value
    scheme: Callable[[BatchLog, float], Scheme]  # of the log and the error probability of a limit
    advice: str  # how the scheme is used
    kept: bool = False  # whether one draw is kept in all epochs: laws are tested on the first


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
        lambda log, _: sampling.ShuffledBatches(batches=len(log.epochs[0])),
        "for allocate(...), repeated for every epoch",
    ),
    Candidate(
        "ShuffledBatches, one order for all epochs",
        _SHUFFLED | _KEPT,
        _ORDER,
        lambda log, _: sampling.ShuffledBatches(batches=len(log.epochs[0]), epochs=len(log.epochs)),
        _TOGETHER,
        kept=True,
    ),
    Candidate(
        "random allocation, every record to a batch of its own choice in every epoch",
        _ALL,
        _FRESH | _BINS,
        lambda log, _: sampling.RandomAllocation(steps=len(log.epochs[0])),
        "for allocate(...), repeated for every epoch",
    ),
    Candidate(
        "balls in bins, every record to a batch of its own choice for all epochs",
        _ALL | _KEPT,
        _ORDER | _BINS,
        lambda log, _: sampling.BallsInBins(steps=len(log.epochs[0]), epochs=len(log.epochs)),
        _TOGETHER,
        kept=True,
    ),
    Candidate(
        "WithoutReplacement, a new subset of fixed size for every batch",
        _NO_REPEATS | {"batch sizes differ": lambda log: len({*map(len, log.batches)}) > 1},
        _SAMPLES,
        lambda log, _: sampling.WithoutReplacement(
            sample_size=len(log.epochs[0][0]), population_size=log.records
        ),
        _STEP,
    ),
    Candidate(
        "draws with replacement, a fixed number for every batch",
        {"batch sizes differ": uneven},
        _SAMPLES | {"no batch has a record more than once": laws.no_repeats},
        lambda log, _: sampling.WithReplacement(
            sample_size=len(log.epochs[0][0]), population_size=log.records
        ),
        _STEP,
    ),
    Candidate(
        "Poisson, every record by a coin of its own for every batch",
        _NO_REPEATS,
        _SAMPLES | {_SIZES: laws.poisson_sizes, _EQUAL: laws.equal_samples},
        lambda log, share: sampling.Poisson(sampling_rate=rate_limits(log, share)[1]),
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


_LEAST_SHOWN: Final = 1e-300  # Smaller p-values are shown as this.


@final
@dataclass(frozen=True, slots=True)
class SchemeVerdict:
    """Whether the batches of a loader refute one scheme.

    ``refuted_by`` is the fact or the law that is not met; empty if the scheme is not refuted. The
    p-value is of that law, or the smallest of all laws; None for a fact, which is certain.
    """

    name: str
    refuted_by: str
    p_value: float | None

    def __str__(self) -> str:
        value = self.p_value
        law = "" if value is None else f" (p-value {max(value, _LEAST_SHOWN):.2g})"
        reason = f": {self.refuted_by}" if self.refuted_by else ""
        return f"{'refuted' if reason else 'not refuted'}: {self.name}{reason}{law}"


@final
@dataclass(frozen=True, slots=True)
class LoaderReport:
    """Facts about the batches of some epochs, and the scheme that they leave.

    Facts are certain for these epochs. A law (independence, a uniform order, a Binomial size) is
    never shown, but only not refuted at the significance. If the loader follows a scheme of the
    verdicts, another scheme is named with at most this probability. A loader that follows none may
    be named by mistake, if it differs in nothing that is tested.

    Of ``batches``, ``sizes`` and ``times`` (that a record is in an epoch) there are the smallest
    and the largest; ``constant`` says whether all batches but the last of an epoch have one size.
    So many as ``repeats`` have a record more than once. ``sampling_rate`` limits the mean share of
    records in a batch. The scheme is what ``subsample`` or ``allocate`` takes, None if there is no
    such scheme, of Poisson samples at the upper limit of the rate; ``advice`` says how it is used,
    or why there is none.
    """

    epochs: int
    records: int
    batches: tuple[int, int]
    sizes: tuple[int, int]
    constant: bool
    times: tuple[int, int]
    same_order: bool
    same_batches: bool
    repeats: int
    sampling_rate: tuple[float, float]
    verdicts: tuple[SchemeVerdict, ...]
    scheme: Scheme | None
    advice: str
    significance: float

    def __str__(self) -> str:
        again = "in the same order" if self.same_order else "in another order"
        partial = self.constant and self.sizes[0] < self.sizes[1]
        last = ", equal but for the last of an epoch" if partial else ""
        low, high = self.sampling_rate
        lines = [
            f"{self.scheme or 'no scheme'}: {self.advice}",
            f"{self.epochs} epochs of {_range(self.batches)} batches, {self.records} records",
            f"batch sizes: {_range(self.sizes)}{last}",
            f"times that a record is in an epoch: {_range(self.times)}",
            f"the same batches in every epoch: {again if self.same_batches else 'no'}",
            f"batches that have a record more than once: {self.repeats}",
            f"mean share of the records in a batch: {low:.4g} to {high:.4g}",
            *map(str, sorted(self.verdicts, key=lambda verdict: bool(verdict.refuted_by))),
            f"error probability of the verdicts: {self.significance:g}",
        ]
        return "\n  ".join(lines)


def inspect_loader(
    loader: Loader,
    *,
    epochs: int,
    records: int | None = None,
    batches: int | None = None,
    dataset: RecordedDataset | None = None,
    significance: arguments.Number = 0.001,
) -> LoaderReport:
    """Run a loader for some epochs, and test which scheme its batches of record numbers follow.

    Statement: a loader that follows a scheme of the verdicts exactly is refuted to follow it with
        probability at most ``significance``, whatever its sampling rate: every law of the scheme,
        and the limits of the rate, have an equal share of it (Bonferroni). A scheme is named if it
        is the only one that is not refuted.
    Source: the p-values are those of ``auditing/inspection/batch_laws.py``.

    Args:
        loader: yields the batches of an epoch whenever it is iterated, or a function that starts
            an epoch. A batch is a list, an array or a tensor of record numbers from 0: give the
            loader ``range(n)`` as its dataset, or wrap its dataset in ``RecordedDataset``.
        epochs: how many to run, from 2; an order that is kept shows in the second.
        records: the number of records; by default that of the dataset, or one more than the
            largest number seen, for which the statement holds only if every scheme shows it.
        batches: the number of batches of an epoch, for a stream that does not end.
        dataset: the dataset that the loader reads, where its batches are records.
        significance: error probability of all tests of one scheme.
    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(1)
        >>> report = inspect_loader(lambda: rng.permutation(100).reshape(10, 10), epochs=3)
        >>> report.scheme, report.times, report.same_batches
        (ShuffledBatches(batches=10), (1, 1), False)
    """
    if arguments.count(epochs=epochs) < 2:
        raise ParameterError("epochs", epochs, "at least 2, as a kept order shows in the second")
    level = float(arguments.open_probability(significance=significance))
    log = BatchLog.of(loader, epochs, records=records, batches=batches, dataset=dataset)
    share = level / SHARES
    verdicts = tuple(_verdict(candidate, log, share) for candidate in CANDIDATES)
    rows = zip(CANDIDATES, verdicts, strict=True)
    remaining = [candidate for candidate, verdict in rows if not verdict.refuted_by]
    scheme, advice = _conclusion(log, remaining, verdicts, share)
    sizes, lengths = np.concatenate(log.sizes), [len(run) for run in log.epochs]
    return LoaderReport(
        epochs=epochs,
        records=log.records,
        batches=(min(lengths), max(lengths)),
        sizes=(int(sizes.min()), int(sizes.max())),
        constant=not uneven(log),
        times=(int(log.counts.min()), int(log.counts.max())),
        same_order=log.same_order,
        same_batches=log.same_batches,
        repeats=log.repeats,
        sampling_rate=rate_limits(log, share),
        verdicts=verdicts,
        scheme=scheme,
        advice=advice,
        significance=level,
    )


def _verdict(candidate: Candidate, log: BatchLog, share: float) -> SchemeVerdict:
    for text, contradicts in candidate.contradictions.items():
        if contradicts(log):
            return SchemeVerdict(candidate.name, text, None)
    tested = log.first if candidate.kept else log
    p_values = {text: law(tested) for text, law in candidate.laws.items()}
    text = min(p_values, key=p_values.__getitem__)
    refuted = p_values[text] <= share
    return SchemeVerdict(candidate.name, text if refuted else "", p_values[text])


def _conclusion(
    log: BatchLog, remaining: list[Candidate], verdicts: tuple[SchemeVerdict, ...], share: float
) -> tuple[Scheme | None, str]:
    """Return the one scheme that remains and how it is used, or why there is none."""
    if everything(log):
        return None, "every batch is all records; state the mechanism without sampling"
    if not remaining:
        refutations = {verdict.refuted_by for verdict in verdicts}
        return None, next(text for text, holds in REASONS.items() if holds(log, refutations))
    if len(remaining) > 1:
        names = " from ".join(candidate.name for candidate in remaining)
        return None, f"too few epochs or records to tell {names}"
    scheme, advice = remaining[0].scheme(log, share), remaining[0].advice
    if isinstance(scheme, sampling.ShuffledBatches) and log.left_out:
        advice += f"; every epoch leaves out {log.left_out} records, so lower ends are not its own"
    return scheme, advice


def _range(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
