"""``inspect_loader``: which sampling scheme do the batches of a loader follow?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling import Poisson, ShuffledBatches, WithoutReplacement
from dpproof.auditing.counts.binomial import lower_limit, upper_limit
from dpproof.auditing.inspection import batch_laws as laws
from dpproof.auditing.inspection.batch_log import BatchLog, Loader, RecordedDataset

Scheme = Poisson | WithoutReplacement | ShuffledBatches
_LEAST_SHOWN: Final = 1e-300  # Smaller p-values are shown as this.


@final
@dataclass(frozen=True, slots=True)
class SchemeVerdict:
    """Whether the batches of a loader refute one scheme.

    Attributes:
        name: the scheme.
        refuted_by: the fact or the law that is not met; empty if the scheme is not refuted.
        p_value: of that law, or the smallest of all laws; None for a fact, which is certain.
    """

    name: str
    refuted_by: str
    p_value: float | None

    def __str__(self) -> str:
        """Return the verdict as one line."""
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
    verdicts, another one is named, or none, with at most this probability.

    Attributes:
        epochs: the number of epochs.
        records: the number of records.
        batches: the smallest and the largest number of batches of an epoch.
        sizes: the smallest and the largest batch size.
        constant: whether all batches but the last of an epoch have one size.
        times: the smallest and the largest number of times a record is in an epoch.
        same_order: whether every epoch has the same batches in the same order.
        same_batches: whether every epoch has the same batches, in any order.
        repeats: the number of batches that have a record more than once.
        sampling_rate: limits of the mean share of records in a batch, for Poisson samples.
        verdicts: one for each scheme.
        scheme: what ``subsample`` or ``allocate`` takes; None if there is no such scheme. Of
            Poisson samples its rate is the upper limit.
        advice: how the scheme is used, or the reason why there is none.
        significance: the error probability.
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
        """Return the report as a page."""
        again = "in the same order" if self.same_order else "in another order"
        last = ", the last of an epoch, and one other" * self.constant * (len({*self.sizes}) > 1)
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
    significance: Number = 0.001,
) -> LoaderReport:
    """Run a loader for some epochs, and test which scheme its batches of record numbers follow.

    Statement: a loader that follows a scheme of the verdicts exactly is refuted to follow it with
        probability at most ``significance``, whatever its sampling rate; each of the scheme's laws
        and the limits of the rate have an equal share of it (Bonferroni). Sources and p-values:
        ``batch_laws``. A scheme is named if it is the only one that is not refuted.

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
    Raises:
        ParameterError: fewer than 2 epochs, or a record number beyond ``records``.
        DataError: batches that are no record numbers; it shows no value of them.
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
    verdicts = tuple(_verdict(candidate, log, level) for candidate in _CANDIDATES)
    left = [
        one for one, verdict in zip(_CANDIDATES, verdicts, strict=True) if not verdict.refuted_by
    ]
    rates = _rates(log, level)
    sizes, lengths = np.concatenate(log.sizes), [len(run) for run in log.epochs]
    scheme = left[0].scheme(log, rates) if len(left) == 1 and not _everything(log) else None
    return LoaderReport(
        epochs=epochs,
        records=log.records,
        batches=(min(lengths), max(lengths)),
        sizes=(int(sizes.min()), int(sizes.max())),
        constant=not _uneven(log),
        times=(int(log.counts.min()), int(log.counts.max())),
        same_order=log.same_order,
        same_batches=log.same_batches,
        repeats=log.repeats,
        sampling_rate=rates,
        verdicts=verdicts,
        scheme=scheme,
        advice=_advice(log, left, verdicts),
        significance=level,
    )


class _Candidate(NamedTuple):
    """A scheme: facts that contradict it, its laws, and what a budget takes."""

    name: str
    contradictions: dict[str, Callable[[BatchLog], bool]]
    laws: dict[str, Callable[[BatchLog], float]]
    scheme: Callable[[BatchLog, tuple[float, float]], Scheme | None]
    advice: str
    kept: bool = False  # one draw is kept in all epochs: laws are tested on the first


def _uneven(log: BatchLog) -> bool:
    """Return whether sizes differ, the last of an epoch aside, which is no larger."""
    return bool(np.any(log.body != log.body[0])) or any(run[-1] > log.body[0] for run in log.sizes)


def _ragged(log: BatchLog) -> bool:
    """Return whether sizes are other ones in every epoch, or neither even nor one apart."""
    sizes = log.sizes[0]
    changing = any(not np.array_equal(sizes, other) for other in log.sizes)
    return changing or (_uneven(log) and bool(sizes.max() - sizes.min() > 1))


def _short(log: BatchLog) -> bool:
    """Return whether more records are left out than do not fill a batch."""
    return log.left_out >= min(int(sizes.min()) for sizes in log.sizes) or (
        log.left_out > 0 and any(np.any(sizes != sizes[0]) for sizes in log.sizes)
    )


def _ties(log: BatchLog) -> int:
    """Return the number of batches of the largest size."""
    sizes = np.concatenate(log.sizes)
    return int(np.count_nonzero(sizes == sizes.max()))


def _everything(log: BatchLog) -> bool:
    """Return whether every batch is all records."""
    return all(len(np.unique(batch)) == log.records for batch in log.batches)


_LEAD: Final = "no record comes long before its place in the file"
_NEIGHBOURS: Final = "neighbours in the file are in a batch together too often or too seldom"
_COMPANIONS: Final = "neighbours in the first epoch are together too often or too seldom later"
_AGAIN: Final = "the same batches come again"
_OFTEN: Final = "records come too often, or too seldom, in every other batch"
_SIZES: Final = "the largest or the smallest batch size is too small or too large"
_EQUAL: Final = "batch sizes are equal"
_NO_REPEATS = {"a batch has a record more than once": lambda log: log.repeats > 0}
_ONCE = _NO_REPEATS | {"an epoch has a record more than once": lambda log: log.counts.max() > 1}
_ALL = _ONCE | {
    "an epoch leaves a record out": lambda log: log.left_out > 0,
    "epochs differ in their number of batches": lambda log: len(set(map(len, log.epochs))) > 1,
}
_SHUFFLED = _ONCE | {
    "an epoch leaves out records that would fill a batch": _short,
    "batch sizes are not fixed": _ragged,
    "one batch an epoch leaves records out": lambda log: (
        log.left_out > 0 and any(len(run) == 1 for run in log.epochs)
    ),
}
_KEPT = {"an epoch has other batches than the first": lambda log: not log.same_order}
_ORDER = {
    _LEAD: laws.file_order,
    _NEIGHBOURS: laws.file_neighbours,
}
_FRESH = _ORDER | {
    _AGAIN: laws.new_partition,
    _COMPANIONS: laws.first_companions,
}
_BINS = {
    _SIZES: laws.bin_sizes,
    _EQUAL: laws.equal_bins,
}
_SAMPLES = {
    _NEIGHBOURS: laws.file_neighbours_of_samples,
    _COMPANIONS: laws.first_companions_of_samples,
    "no epoch has a record twice": laws.once_an_epoch,
    _AGAIN: laws.new_samples,
    _OFTEN: laws.often,
}
_WORDS: Final = "the scheme has no type here, and no theorem"
_STEP: Final = "for subsample(...), one step for every batch"

_CANDIDATES: Final = (
    _Candidate(
        "ShuffledBatches, a new order in every epoch",
        _SHUFFLED,
        _FRESH,
        lambda log, _: ShuffledBatches(batches=len(log.epochs[0])),
        "for allocate(...), repeated for every epoch",
    ),
    _Candidate(
        "ShuffledBatches, one order for all epochs",
        _SHUFFLED | _KEPT,
        _ORDER,
        lambda log, _: ShuffledBatches(batches=len(log.epochs[0]), epochs=len(log.epochs)),
        "for allocate(...), of these epochs together: a longer training has larger epochs=",
        kept=True,
    ),
    _Candidate(
        "random allocation, every record to a batch of its own choice in every epoch",
        _ALL,
        _FRESH | _BINS,
        lambda _, __: None,
        _WORDS,
    ),
    _Candidate(
        "balls in bins, every record to a batch of its own choice for all epochs",
        _ALL | _KEPT,
        _ORDER | _BINS,
        lambda _, __: None,
        _WORDS,
        kept=True,
    ),
    _Candidate(
        "WithoutReplacement, a new subset of fixed size for every batch",
        _NO_REPEATS | {"batch sizes differ": lambda log: len({*map(len, log.batches)}) > 1},
        _SAMPLES,
        lambda log, _: WithoutReplacement(
            sample_size=len(log.epochs[0][0]), population_size=log.records
        ),
        _STEP,
    ),
    _Candidate(
        "draws with replacement, a fixed number for every batch",
        {"batch sizes differ": _uneven},
        _SAMPLES | {"no batch has a record more than once": laws.no_repeats},
        lambda _, __: None,
        _WORDS,
    ),
    _Candidate(
        "Poisson, every record by a coin of its own for every batch",
        _NO_REPEATS,
        _SAMPLES
        | {
            _SIZES: laws.poisson_sizes,
            _EQUAL: laws.equal_samples,
        },
        lambda _, rates: Poisson(sampling_rate=Fraction(rates[1])),
        f"{_STEP}; the rate is an upper limit: state the true one if it is between the limits",
    ),
)


def _verdict(candidate: _Candidate, log: BatchLog, significance: float) -> SchemeVerdict:
    """Look for a fact, and then for a law, that the batches contradict."""
    for text, contradicts in candidate.contradictions.items():
        if contradicts(log):
            return SchemeVerdict(candidate.name, text, None)
    tested = log.first if candidate.kept else log
    p_values = {text: law(tested) for text, law in candidate.laws.items()}
    text = min(p_values, key=p_values.__getitem__)
    refuted = p_values[text] <= significance / (len(p_values) + 1)
    return SchemeVerdict(candidate.name, text if refuted else "", p_values[text])


def _rates(log: BatchLog, significance: float) -> tuple[float, float]:
    """Return limits of the rate of Poisson samples, with the share of one law."""
    hits, coins = sum(map(len, log.batches)), len(log.batches) * log.records
    if hits > coins:
        return 1.0, 1.0
    share = significance / (len(_CANDIDATES[-1].laws) + 1) / 2
    return float(lower_limit(hits, coins, share)), float(upper_limit(hits, coins, share))


def _advice(log: BatchLog, left: list[_Candidate], verdicts: tuple[SchemeVerdict, ...]) -> str:
    """Say how the scheme is used, or why there is none."""
    if _everything(log):
        return "every batch is all records; state the mechanism without sampling"
    if len(left) > 1:
        names = "; ".join(candidate.name for candidate in left)
        return f"undecided between {names}; run more epochs"
    if left:
        dropped = f"; {log.left_out} records are left out of every epoch: of the bracket the upper "
        partial = isinstance(left[0].scheme(log, (1, 1)), ShuffledBatches) and log.left_out
        return left[0].advice + (f"{dropped}end alone is this loader's" if partial else "")
    refutations = {verdict.refuted_by for verdict in verdicts}
    return next(text for text, holds in _REASONS.items() if holds(log, refutations))


_REASONS: Final[dict[str, Callable[[BatchLog, set[str]], bool]]] = {
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


def _range(ends: tuple[int, int]) -> str:
    """Return one number, or both ends."""
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
