"""Batches of record numbers as a scheme draws them, for a training loop to use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sampling import EpochScheme, ShuffledBatches
from dpproof.mechanisms.samplers import permutation
from dpproof.mechanisms.samplers.rng import Rng, as_rng


def index_batches(
    scheme: EpochScheme, *, records: int, rng: Rng | np.random.Generator | None = None
) -> Iterator[NDArray[np.int64]]:
    """Draw the batches of one allocation, epoch after epoch.

    What is stated of the scheme is true of training on these batches, one noisy sum for each, if
    nothing else of the records is released.

    Args:
        scheme: which allocation.
        records: the number of records, public.
        rng: source of randomness; None is the operating system's cryptographic generator. A seeded
            generator makes the batches predictable to whoever knows the seed.
    Yields:
        Record numbers. Sizes differ by at most one, larger batches first.
    Raises:
        ParameterError: not a scheme of an epoch, or fewer records than batches.
    Example:
        >>> from dpproof.accountant import ShuffledBatches
        >>> [len(batch) for batch in index_batches(ShuffledBatches(batches=3), records=10)]
        [4, 3, 3]
    """
    if not isinstance(scheme, ShuffledBatches):
        raise ParameterError("scheme", scheme, "ShuffledBatches(...)")
    total = arguments.count(records=records)
    if total < scheme.batches:
        raise ParameterError("records", total, f"at least batches = {scheme.batches}")
    order = permutation(total, as_rng(rng))
    for _ in range(scheme.epochs):
        yield from np.array_split(order, scheme.batches)
