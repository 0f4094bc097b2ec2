"""Recorded batches of imitated loaders: the scheme that is named, and what it hands to a budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import L2, L2Contribution, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.sampling import (
    Poisson,
    ShuffledBatches,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.auditing import LoaderReport, SchemeVerdict, inspect_loader
from dpproof.auditing.inspection.loader import CANDIDATES, REASONS, SHARES
from dpproof.mechanisms import Gaussian, index_batches
from tests.auditing.inspection import loaders
from tests.auditing.inspection.record_loaders import FILE

N, SIZE, EPOCHS = 400, 20, 6
NEW, KEPT, ALLOCATION, BINS, SUBSET, REPLACEMENT, COINS = (one.name for one in CANDIDATES)
Make = Callable[[np.random.Generator, int, int], loaders.Start]

NAMED: list[tuple[Make, str]] = [
    (loaders.shuffled, NEW),
    (loaders.drop_last, NEW),
    (loaders.split, NEW),
    (loaders.cached, KEPT),
    (loaders.allocation, ALLOCATION),
    (loaders.balls_in_bins, BINS),
    (loaders.fixed_size, SUBSET),
    (loaders.replacement, REPLACEMENT),
    (loaders.poisson, COINS),
]
NONE: list[tuple[Make, str]] = [
    (loaders.without_shuffle, "order of the file"),
    (loaders.shuffled_batches, "in another order"),
    (loaders.seeded, "a seed is set"),
    (partial(loaders.buffer, room=40), "shuffle buffer"),
    (partial(loaders.buffer, room=320), "shuffle buffer"),
    (loaders.shards, "shards or batches by length"),
    (loaders.by_length, "shards or batches by length"),
    (loaders.rank, "a part of the records"),
    (loaders.padded, "drop_last=True"),
    (loaders.weighted, "more often than others"),
    (loaders.truncated, "truncated Poisson"),
    (loaders.users, "no scheme of these"),
]


def look(make: Make, n: int = N, size: int = SIZE, seed: int = 3) -> LoaderReport:
    """A report on an imitated loader."""
    return inspect_loader(make(np.random.default_rng(seed), n, size), epochs=EPOCHS, records=n)


def remaining(report: LoaderReport) -> list[str]:
    """The schemes that are not refuted."""
    return [verdict.name for verdict in report.verdicts if not verdict.refuted_by]


@pytest.mark.parametrize("n", [N, N - 7])
@pytest.mark.parametrize(("make", "name"), NAMED, ids=lambda item: getattr(item, "__name__", ""))
def test_the_scheme_of_a_loader_is_the_one_that_remains(make: Make, name: str, n: int) -> None:
    """Whether the records fill all batches or not."""
    assert remaining(look(make, n)) == [name]


@pytest.mark.parametrize(("make", "reason"), NONE, ids=lambda item: getattr(item, "__name__", ""))
def test_no_scheme_is_named_for_other_loaders(make: Make, reason: str) -> None:
    """The report says why."""
    report = look(make, N - 3 if make is loaders.padded else N)

    assert remaining(report) == []
    assert report.scheme is None
    assert reason in report.advice


def test_every_reason_is_given() -> None:
    """No reason of the table is without an imitated loader."""
    assert all(any(part in text for _, part in NONE) for text in REASONS)


def test_schemes_are_the_types_that_a_budget_takes() -> None:
    """With the numbers of batches and of records, and the upper limit of a Poisson rate."""
    poisson = look(loaders.poisson)
    low, high = poisson.sampling_rate

    assert look(loaders.shuffled).scheme == ShuffledBatches(batches=20)
    assert look(loaders.shuffled, N + 1).scheme == ShuffledBatches(batches=21)
    assert look(loaders.cached).scheme == ShuffledBatches(batches=20, epochs=EPOCHS)
    assert look(loaders.fixed_size).scheme == WithoutReplacement(
        sample_size=SIZE, population_size=N
    )
    assert poisson.scheme == Poisson(sampling_rate=high)
    assert low < 1 / 20 < high < 1.2 / 20
    assert look(loaders.replacement).scheme == WithReplacement(sample_size=SIZE, population_size=N)


def test_a_budget_takes_the_scheme() -> None:
    """Both ends of shuffled epochs, and the number of Poisson samples at the limit of the rate."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, ZeroOut()))
    epoch = look(loaders.shuffled).scheme
    step = look(loaders.poisson).scheme
    assert isinstance(epoch, ShuffledBatches)
    assert isinstance(step, Poisson)
    training = noise.allocate(epoch).repeat(EPOCHS).guarantee().epsilon(delta=1e-6)
    samples = Gaussian(sigma=1, sensitivity=L2(1)).subsample(step).repeat(EPOCHS * 20)

    assert 1 < samples.guarantee().epsilon(delta=1e-6).upper < training.lower < training.upper


def test_records_that_are_left_out_keep_the_upper_end_alone() -> None:
    """A record in no batch hides: the lower ends of ``ShuffledBatches`` are not this loader's."""
    whole, partial_epoch = look(loaders.shuffled), look(loaders.drop_last, N + 5)

    assert partial_epoch.scheme == whole.scheme
    assert "leaves out 5 records, so lower ends are not its own" in partial_epoch.advice
    assert "lower ends" not in whole.advice


def test_facts_are_what_was_seen() -> None:
    """The five facts of a small stream, by hand."""
    stream = [[0, 1], [2, 2], [3], [2, 2], [0, 1], [3]]
    report = inspect_loader(stream, epochs=2, batches=3)

    assert (report.epochs, report.records, report.batches) == (2, 4, (3, 3))
    assert (report.sizes, report.constant, report.times) == ((1, 2), True, (1, 2))
    assert (report.same_order, report.same_batches, report.repeats) == (False, True, 2)
    assert look(loaders.seeded).same_order


def test_a_fact_refutes_with_certainty_and_a_law_at_a_p_value() -> None:
    """A record that is twice in an epoch has no error probability; equal sizes have one."""
    verdicts = {one.name: one for one in look(loaders.fixed_size).verdicts}

    assert verdicts[NEW].p_value is None
    assert str(verdicts[NEW]) == f"refuted: {NEW}: an epoch has a record more than once"
    assert str(verdicts[COINS]).startswith(f"refuted: {COINS}: batch sizes are equal (p-value ")
    assert str(SchemeVerdict("it", "", 0.25)) == "not refuted: it (p-value 0.25)"
    assert str(SchemeVerdict("it", "a law", 0.0)) == "refuted: it: a law (p-value 1e-300)"


@pytest.mark.parametrize(("scale", "refuted"), [(1.001, True), (0.999, False)])
def test_a_law_is_refuted_at_its_share_of_the_significance(scale: float, refuted: bool) -> None:  # noqa: FBT001
    """The p-value is compared with the significance over the number of shares."""
    value = look(loaders.truncated).verdicts[-1].p_value
    assert value is not None
    start = loaders.truncated(np.random.default_rng(3), N, SIZE)
    significance = value * SHARES * scale
    report = inspect_loader(start, epochs=EPOCHS, records=N, significance=significance)

    assert report.verdicts[-1].p_value == value
    assert bool(report.verdicts[-1].refuted_by) is refuted


def test_the_page_shows_the_scheme_its_facts_and_the_remaining_scheme_first() -> None:
    """On lines of their own."""
    lines = str(look(loaders.shuffled, N + 1)).split("\n  ")

    assert lines[0] == "ShuffledBatches(batches=21): for allocate(...), repeated for every epoch"
    assert lines[1:6] == [
        "6 epochs of 21 batches, 401 records",
        "batch sizes: 1 to 20, equal but for the last of an epoch",
        "times that a record is in an epoch: 1",
        "the same batches in every epoch: no",
        "batches that have a record more than once: 0",
    ]
    assert lines[7].startswith(f"not refuted: {NEW} (p-value ")
    assert lines[-1] == "error probability of the verdicts: 0.001"
    assert "in the same order" in str(look(loaders.cached))


def test_few_batches_leave_the_scheme_undecided() -> None:
    """Three records in two epochs may come in the same order by chance."""
    report = inspect_loader([[1], [0], [2]], epochs=2)

    assert len(remaining(report)) > 1
    assert report.scheme is None
    assert report.advice.startswith(f"too few epochs or records to tell {NEW} from {KEPT}")


def test_batches_of_all_records_are_no_sample() -> None:
    """The mechanism itself is what runs."""
    report = inspect_loader([[2, 0, 1]], epochs=3)

    assert (report.scheme, "without sampling" in report.advice) == (None, True)


def test_our_own_batches_are_the_scheme_that_they_are_drawn_by() -> None:
    """``index_batches``, of a new order in every epoch and of a kept one."""
    new, kept = ShuffledBatches(batches=30), ShuffledBatches(batches=30, epochs=3)

    assert inspect_loader(lambda: index_batches(new, records=250), epochs=3).scheme == new
    stream = index_batches(kept, records=250)
    assert inspect_loader(stream, epochs=3, batches=30).scheme == kept


def test_loaders_that_cannot_be_inspected_are_refused() -> None:
    """One epoch, a stream without epochs, no loader, an epoch without batches, too few records."""
    with pytest.raises(ParameterError, match="at least 2"):
        inspect_loader([[0]], epochs=1)
    with pytest.raises(DataError, match="batches="):
        inspect_loader(iter([[0]]), epochs=2)
    with pytest.raises(DataError, match="function that starts"):
        inspect_loader(5, epochs=2)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="every epoch has a record"):
        inspect_loader(iter([[0]]), epochs=2, batches=1)
    with pytest.raises(DataError, match="every epoch has a record"):
        inspect_loader([[]], epochs=2)
    with pytest.raises(ParameterError, match="records must be"):
        inspect_loader([[0, 5]], epochs=2, records=5)
    with pytest.raises(ParameterError, match="batches must be a whole"):
        inspect_loader([[0]], epochs=2, batches=0)
    with pytest.raises(ParameterError, match="significance"):
        inspect_loader([[0]], epochs=2, significance=0)


RECORDED: dict[str, str] = {  # what remains of real loaders, or a word of the reason
    "DataLoader(shuffle=True)": NEW,
    "DataLoader(shuffle=False)": "order of the file",
    "BatchSampler(RandomSampler)": NEW,
    "RandomSampler(replacement=True)": REPLACEMENT,
    "WeightedRandomSampler": "more often than others",
    "SubsetRandomSampler of all": NEW,
    "SubsetRandomSampler of half": "a part of the records",
    "DistributedSampler, one of 2 ranks": "a part of the records",
    "DistributedSampler, both ranks, padded": "drop_last=True",
    "DistributedSampler without set_epoch": KEPT,
    "UniformWithReplacementSampler of Opacus": COINS,
    "CyclicPoissonSampling, cycle 1 of jax-privacy": COINS,
    "CyclicPoissonSampling, cycle 5 of jax-privacy": "no scheme of these",
    "FixedBatchSampling of jax-privacy": SUBSET,
    "FixedBatchSampling(replace=True) of jax-privacy": REPLACEMENT,
    "BallsInBinsSampling of jax-privacy": BINS,
}


def test_recorded_batches_of_real_loaders() -> None:
    """PyTorch 2.13, Opacus 1.6 and jax-privacy 2.0, as ``record_loaders`` kept them."""
    logs: dict[str, list[list[list[int]]]] = json.loads(FILE.read_text(encoding="utf-8"))

    assert set(logs) == set(RECORDED)
    for name, epochs in logs.items():
        records = 1 + max(record for epoch in epochs for batch in epoch for record in batch)
        report = inspect_loader(partial(next, iter(epochs)), epochs=len(epochs), records=records)
        if RECORDED[name] in {one.name for one in CANDIDATES}:
            assert remaining(report) == [RECORDED[name]], name
        else:
            assert remaining(report) == [], name
            assert RECORDED[name] in report.advice, name


@pytest.mark.slow
def test_real_loaders_of_torch() -> None:
    """Where PyTorch is installed: its loaders are what their imitations are."""
    data = pytest.importorskip("torch.utils.data")
    kinds: dict[str, dict[str, Any]] = {
        NEW: {"shuffle": True},
        REPLACEMENT: {"sampler": data.RandomSampler(range(N), replacement=True)},
        "": {"shuffle": False},
    }
    for name, options in kinds.items():
        loader = data.DataLoader(range(N), batch_size=SIZE, **options)
        assert "".join(remaining(inspect_loader(loader, epochs=EPOCHS, records=N))) == name


class _Tensor:
    """What tf.data yields: no list and no array, but it can be made one."""

    def __init__(self, values: list[int]) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:  # noqa: ANN401  # numpy's
        return np.array(self._values, dtype=dtype)


class _Stream:
    """A dataset of tf.data: iterated anew for every epoch, without a length."""

    def __init__(self, start: Any) -> None:  # noqa: ANN401
        self._start = start

    def __iter__(self) -> Iterator[_Tensor]:
        return (_Tensor(list(map(int, batch))) for batch in self._start())


def test_datasets_of_tensors_are_inspected_as_they_are() -> None:
    """``tf.data.Dataset.range(n).shuffle(n).batch(b)`` needs no wrapper."""
    rng = np.random.default_rng(11)
    report = inspect_loader(_Stream(loaders.shuffled(rng, N, SIZE)), epochs=EPOCHS, records=N)
    kept = inspect_loader(_Stream(loaders.cached(rng, N, SIZE)), epochs=EPOCHS, records=N)

    assert remaining(report) == [NEW]
    assert remaining(kept) == [KEPT]


@pytest.mark.slow
def test_real_datasets_of_tensorflow() -> None:
    """Where TensorFlow is installed: a shuffled dataset, one shuffled once, and a short buffer."""
    data = pytest.importorskip("tensorflow").data.Dataset.range(N)
    fresh = data.shuffle(N).batch(SIZE)
    once = data.shuffle(N, reshuffle_each_iteration=False).batch(SIZE)
    short = data.shuffle(SIZE).batch(SIZE)

    for loader, name in ((fresh, [NEW]), (once, [KEPT]), (short, [])):
        assert remaining(inspect_loader(loader, epochs=EPOCHS, records=N)) == name
