"""Batches of record numbers as a scheme draws them, for a training loop to use."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments, sampling
from dpproof.mechanisms import samplers
from dpproof.mechanisms.samplers import Rng, as_rng, subset_without_replacement


def index_batches(
    scheme: sampling.EpochScheme, *, records: int, rng: Rng | np.random.Generator | None = None
) -> Iterator[NDArray[np.int64]]:
    """Draw the batches of one allocation, epoch after epoch.

    What is stated of the scheme is true of training on these batches, one noisy sum for each, if
    nothing else of the records is released.

    ``records`` is the number of records, of shuffled batches public. Sizes of these differ by at
    most one, larger batches first; those of other schemes are random, also 0. ``rng`` is as for
    ``Mechanism.release``.

    Example:
        >>> from dpproof.accountant import ShuffledBatches
        >>> [len(batch) for batch in index_batches(ShuffledBatches(batches=3), records=10)]
        [4, 3, 3]
    """
    if not isinstance(scheme, sampling.EpochScheme):
        raise ParameterError(
            "scheme", scheme, "ShuffledBatches(...), RandomAllocation(...) or BallsInBins(...)"
        )
    if not isinstance(scheme, sampling.ShuffledBatches):
        yield from _drawn(scheme, arguments.whole(records=records), as_rng(rng))
        return
    total = arguments.count(records=records)
    if total < scheme.batches:
        raise ParameterError("records", total, f"at least batches = {scheme.batches}")
    order = samplers.permutation(total, as_rng(rng))
    for _ in range(scheme.epochs):
        yield from np.array_split(order, scheme.batches)


def index_samples(
    scheme: sampling.SamplingScheme | sampling.CyclicPoisson,
    *,
    records: int,
    steps: int,
    rng: Rng | np.random.Generator | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Draw a fresh sample for every step; under ``CyclicPoisson`` of one part of the records.

    To parts records are dealt once, each by itself. Yielded are increasing record numbers, each as
    often as the record counts. ``rng`` is as for ``Mechanism.release``.

    What is stated of the scheme is true of training on these samples, one noisy sum for each, if
    nothing else of the records is released, the sizes of samples included.

    Example:
        >>> from dpproof.accountant import WithReplacement
        >>> scheme = WithReplacement(sample_size=4, population_size=10)
        >>> [len(batch) for batch in index_samples(scheme, records=10, steps=2)]
        [4, 4]
    """
    if not isinstance(scheme, sampling.SamplingScheme | sampling.CyclicPoisson):
        raise ParameterError(
            "scheme",
            scheme,
            "Poisson(...) or another scheme of one step, or CyclicPoisson(...)",
            "index_batches draws whole epochs",
        )
    if isinstance(scheme, sampling.CyclicPoisson):
        size, turns = arguments.whole(records=records), arguments.count(steps=steps)
        yield from _in_turn(scheme, size, turns, as_rng(rng))
        return
    total, source = arguments.count(records=records), as_rng(rng)
    if not is_about(scheme, total):
        raise ParameterError("records", total, f"what the scheme is about, {scheme!r}")
    for _ in range(arguments.count(steps=steps)):
        yield sampled_indices(scheme, total, source)


def is_about(scheme: sampling.SamplingScheme, records: int, *, smaller: bool = False) -> bool:
    """Return whether a theorem covers so many records, or one less where that is a neighbour."""
    match scheme:
        case sampling.WithoutReplacement() if not smaller:
            return records == scheme.population_size
        case sampling.WithoutReplacement() | sampling.WithReplacement():
            return records >= scheme.population_size - smaller
        case sampling.TruncatedPoisson():
            return abs(records - scheme.population_size) <= smaller
        case sampling.Poisson() | sampling.UserPoisson():
            return True


def sampled_indices(scheme: sampling.SamplingScheme, records: int, rng: Rng) -> NDArray[np.int64]:
    """Draw one sample of record numbers, increasing, each as often as the record counts."""
    match scheme:
        case sampling.WithoutReplacement():
            return subset_without_replacement(records, scheme.sample_size, rng)
        case sampling.WithReplacement():
            return np.sort(
                samplers.uniform_below(records, scheme.sample_size, rng).astype(np.int64)
            )
        case sampling.UserPoisson():
            coins = samplers.poisson_mask(records * scheme.contributions, scheme.sampling_rate, rng)
            return np.flatnonzero(coins) // scheme.contributions
    drawn = np.flatnonzero(samplers.poisson_mask(records, scheme.sampling_rate, rng))
    if isinstance(scheme, sampling.TruncatedPoisson) and drawn.size > scheme.largest:
        return drawn[subset_without_replacement(drawn.size, scheme.largest, rng)]
    return drawn


def _drawn(
    scheme: sampling.RandomAllocation | sampling.BallsInBins, records: int, rng: Rng
) -> Iterator[NDArray[np.int64]]:
    chosen, epochs = (
        (scheme.chosen, 1) if isinstance(scheme, sampling.RandomAllocation) else (1, scheme.epochs)
    )
    if chosen == 1:
        rounds = samplers.uniform_below(scheme.steps, records, rng).astype(np.int64)
    else:
        rounds = samplers.subsets_without_replacement(scheme.steps, chosen, records, rng).ravel()
    order = np.argsort(rounds, kind="stable")
    ends = np.searchsorted(rounds[order], np.arange(1, scheme.steps))
    batches = np.split(order // chosen, ends)
    for _ in range(epochs):
        yield from batches


def _in_turn(
    scheme: sampling.CyclicPoisson, records: int, steps: int, rng: Rng
) -> Iterator[NDArray[np.int64]]:
    """Deal the records to parts, each by itself, and draw a Poisson sample of one part a step."""
    part = samplers.uniform_below(scheme.cycle, records, rng).astype(np.int64)
    for step in range(steps):
        members = np.flatnonzero(part == step % scheme.cycle)
        yield members[samplers.poisson_mask(members.size, scheme.sampling_rate, rng)]
