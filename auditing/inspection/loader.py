"""``inspect_loader``: which sampling scheme do the batches of a loader follow?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling import ShuffledBatches
from dpproof.auditing.inspection.batch_log import BatchLog, Loader, RecordedDataset
from dpproof.auditing.inspection.loader_schemes import (
    CANDIDATES,
    REASONS,
    SHARES,
    Candidate,
    Scheme,
    everything,
    rate_limits,
    uneven,
)

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
    verdicts, another scheme is named with at most this probability. A loader that follows none may
    be named by mistake, if it differs in nothing that is tested.

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
    significance: Number = 0.001,
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
    """Look for a fact, and then for a law, that the batches contradict."""
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
    if isinstance(scheme, ShuffledBatches) and log.left_out:
        advice += f"; every epoch leaves out {log.left_out} records, so lower ends are not its own"
    return scheme, advice


def _range(ends: tuple[int, int]) -> str:
    """Return one number, or both ends."""
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
