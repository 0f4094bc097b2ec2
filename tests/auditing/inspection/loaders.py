"""Imitations in numpy of the loaders that libraries have, each written from its documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Rng = np.random.Generator
Epoch = list[Any]
Start = Callable[[], Epoch]


def in_batches(order: Any, size: int) -> Epoch:  # noqa: ANN401
    """Consecutive batches; the last may be smaller."""
    return [order[start : start + size] for start in range(0, len(order), size)]


def shuffled(rng: Rng, n: int, size: int) -> Start:
    """PyTorch ``DataLoader(shuffle=True)``, Keras ``fit`` on arrays."""
    return lambda: in_batches(rng.permutation(n).tolist(), size)


def drop_last(rng: Rng, n: int, size: int) -> Start:
    """The same with ``drop_last=True``."""
    return lambda: in_batches(rng.permutation(n), size)[: n // size]


def split(rng: Rng, n: int, size: int) -> Start:
    """Batches whose sizes differ by at most one, in the order of the file within."""
    return lambda: [np.sort(one) for one in np.array_split(rng.permutation(n), -(-n // size))]


def cached(rng: Rng, n: int, size: int) -> Start:
    """``tf.data`` with ``reshuffle_each_iteration=False``: shuffled once."""
    order = rng.permutation(n)
    return lambda: in_batches(order, size)


def replacement(rng: Rng, n: int, size: int) -> Start:
    """PyTorch ``RandomSampler(replacement=True)``."""
    return lambda: in_batches(rng.integers(0, n, n), size)


def poisson(rng: Rng, n: int, size: int) -> Start:
    """Opacus ``UniformWithReplacementSampler``: a coin a record, int(1 / rate) batches."""
    return lambda: [np.flatnonzero(rng.random(n) < size / n) for _ in range(int(n / size))]


def balls_in_bins(rng: Rng, n: int, size: int) -> Start:
    """The ``BallsInBinsSampling`` of jax-privacy: bins drawn once, met in turn."""
    bins = rng.integers(0, n // size, n)
    return lambda: [np.flatnonzero(bins == one) for one in range(n // size)]


def allocation(rng: Rng, n: int, size: int) -> Start:
    """The ``RandomAllocationSampling`` of jax-privacy, 1 of t steps."""

    def start() -> Epoch:
        return balls_in_bins(rng, n, size)()

    return start


def fixed_size(rng: Rng, n: int, size: int) -> Start:
    """The ``FixedBatchSampling(replace=False)`` of jax-privacy, m of n clients a round."""
    return lambda: [rng.choice(n, size, replace=False) for _ in range(n // size)]


def shuffled_batches(rng: Rng, n: int, size: int) -> Start:
    """``tf.data`` with ``batch(b).shuffle(n)``: fixed batches in a random order."""
    batches = in_batches(rng.permutation(n), size)
    return lambda: [batches[place] for place in rng.permutation(len(batches))]


def buffer(rng: Rng, n: int, size: int, *, room: int) -> Start:
    """``tf.data.shuffle(room)``: a random record of a buffer that the file refills."""

    def stream() -> Iterator[int]:
        held = list(range(room))
        for coming in range(room, n + room):
            place = int(rng.integers(len(held)))
            yield held[place]
            if coming < n:
                held[place] = coming
            else:
                held.pop(place)

    return lambda: in_batches(list(stream()), size)


def padded(rng: Rng, n: int, size: int) -> Start:
    """All ranks of a ``DistributedSampler``: the first of the order again, to fill a round."""

    def start() -> Epoch:
        order = rng.permutation(n)
        return in_batches(np.concatenate([order, order[: -n % 8]]), size)

    return start


def rank(rng: Rng, n: int, size: int) -> Start:
    """One of four ranks of it."""
    return lambda: in_batches(rng.permutation(n)[::4], size)


def weighted(rng: Rng, n: int, size: int) -> Start:
    """PyTorch ``WeightedRandomSampler``: one class of two drawn three times as often."""
    weights = np.where(np.arange(n) % 2, 3.0, 1.0)
    return lambda: in_batches(rng.choice(n, n, p=weights / weights.sum()), size)


def without_shuffle(_: Rng, n: int, size: int) -> Start:
    """``DataLoader(shuffle=False)``."""
    return lambda: in_batches(range(n), size)


def seeded(rng: Rng, n: int, size: int) -> Start:
    """Poisson samples whose generator is seeded anew in every epoch."""
    seed = int(rng.integers(2**32))

    def start() -> Epoch:
        return poisson(np.random.default_rng(seed), n, size)()

    return start


def truncated(rng: Rng, n: int, size: int) -> Start:
    """Poisson samples cut to a largest size."""
    start, largest = poisson(rng, n, size), size + 3
    return lambda: [rng.permutation(batch)[:largest] for batch in start()]


def by_length(rng: Rng, n: int, size: int) -> Start:
    """``group_by_length`` of HF: random blocks of batches, sorted by length within."""
    lengths, block = rng.integers(0, 500, n), 25 * size

    def start() -> Epoch:
        blocks = in_batches(rng.permutation(n), block)
        return in_batches(np.concatenate([one[np.argsort(lengths[one])] for one in blocks]), size)

    return start


def shards(rng: Rng, n: int, size: int) -> Start:
    """Shards of the file in a random order, shuffled within."""

    def start() -> Epoch:
        parts = in_batches(np.arange(n), 2 * size)
        order = [rng.permutation(parts[place]) for place in rng.permutation(len(parts))]
        return in_batches(np.concatenate(order), size)

    return start


def users(rng: Rng, n: int, size: int) -> Start:
    """Users by a coin each, with both of their records, which stand side by side."""
    start = poisson(rng, n // 2, size // 2)
    return lambda: [np.concatenate([2 * batch, 2 * batch + 1]) for batch in start()]
