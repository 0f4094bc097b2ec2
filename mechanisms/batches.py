"""Batches of record numbers as a scheme draws them, for a training loop to use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling import (
    BallsInBins,
    EpochScheme,
    RandomAllocation,
    ShuffledBatches,
)
from dpproof.mechanisms.samplers import permutation, subsets_without_replacement, uniform_below
from dpproof.mechanisms.samplers.rng import Rng, as_rng


def index_batches(
    scheme: EpochScheme, *, records: int, rng: Rng | np.random.Generator | None = None
) -> Iterator[NDArray[np.int64]]:
    """Draw the batches of one allocation, epoch after epoch.

    What is stated of the scheme is true of training on these batches, one noisy sum for each, if
    nothing else of the records is released.

    Args:
        scheme: which allocation.
        records: the number of records; of shuffled batches it is public.
        rng: source of randomness; None is the operating system's cryptographic generator. A seeded
            generator makes the batches predictable to whoever knows the seed.
    Yields:
        Record numbers. Sizes of shuffled batches differ by at most one, larger batches first;
        those of other schemes are random, also 0.
    Raises:
        ParameterError: not a scheme of an epoch, or fewer records than shuffled batches.
    Example:
        >>> from dpproof.accountant import ShuffledBatches
        >>> [len(batch) for batch in index_batches(ShuffledBatches(batches=3), records=10)]
        [4, 3, 3]
    """
    if not isinstance(scheme, EpochScheme):
        raise ParameterError(
            "scheme", scheme, "ShuffledBatches(...), RandomAllocation(...) or BallsInBins(...)"
        )
    if not isinstance(scheme, ShuffledBatches):
        yield from _drawn(scheme, arguments.whole(records=records), as_rng(rng))
        return
    total = arguments.count(records=records)
    if total < scheme.batches:
        raise ParameterError("records", total, f"at least batches = {scheme.batches}")
    order = permutation(total, as_rng(rng))
    for _ in range(scheme.epochs):
        yield from np.array_split(order, scheme.batches)


def _drawn(
    scheme: RandomAllocation | BallsInBins, records: int, rng: Rng
) -> Iterator[NDArray[np.int64]]:
    """Draw the rounds of every record by itself."""
    chosen, epochs = (
        (scheme.chosen, 1) if isinstance(scheme, RandomAllocation) else (1, scheme.epochs)
    )
    if chosen == 1:
        rounds = uniform_below(scheme.steps, records, rng).astype(np.int64)
    else:
        rounds = subsets_without_replacement(scheme.steps, chosen, records, rng).ravel()
    order = np.argsort(rounds, kind="stable")
    ends = np.searchsorted(rounds[order], np.arange(1, scheme.steps))
    batches = np.split(order // chosen, ends)
    for _ in range(epochs):
        yield from batches
