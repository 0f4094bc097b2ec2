"""Random subsets of {0, ..., population - 1}."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accountant import arguments
from accountant.errors import ParameterError
from mechanisms.samplers.coins import Coins, bernoulli
from mechanisms.samplers.rng import Rng


def poisson_mask(population: int, sampling_rate: arguments.Number, rng: Rng) -> Coins:
    """Keep each of ``population`` records independently with exactly the rational rate given.

    Law: entries are independent with P(True) = sampling_rate.
    Proof: they are exact coins (``bernoulli``).

    Args:
        population: number of records.
        sampling_rate: in [0, 1]; a float is its exact binary value.
        rng: source of words.
    Returns:
        shape (population,), bool.
    Raises:
        ParameterError: an argument is outside its domain.
    Example:
        >>> from mechanisms.samplers.rng import ReplayRng
        >>> poisson_mask(3, 1, ReplayRng(1))
        array([ True,  True,  True])
    """
    rate = arguments.probability(sampling_rate=sampling_rate)
    return bernoulli(rate, arguments.whole(population=population), rng)


def subset_without_replacement(population: int, size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw a uniformly random subset of exactly ``size`` of ``population`` records.

    Law: every subset of that size has probability 1 / binomial(population, size).
    Proof: give each record an ideal uniform and take the ``size`` smallest. Independent ideal
        uniforms are distinct with probability 1 and exchangeable, so the set of the smallest is
        uniform. One word each settles every record except those whose word ties with the last
        place; among these the next words of the same uniforms settle the remaining places.

    Args:
        population: number of records.
        size: number of records to take, at most population.
        rng: source of words.
    Returns:
        shape (size,), int64, increasing record numbers.
    Raises:
        ParameterError: size exceeds population, or an argument is not a whole number.
    Example:
        >>> from mechanisms.samplers.rng import ReplayRng
        >>> subset_without_replacement(4, 4, ReplayRng(1))
        array([0, 1, 2, 3])
    """
    total = arguments.whole(population=population)
    wanted = arguments.whole(size=size)
    if wanted > total:
        raise ParameterError("size", size, f"at most the population, {total}")
    chosen: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    candidates = np.arange(total, dtype=np.int64)
    while 0 < wanted < len(candidates):
        words = rng.words(len(candidates))
        last = np.partition(words, wanted - 1)[wanted - 1]
        below = candidates[words < last]
        chosen.append(below)
        candidates = candidates[words == last]
        wanted -= len(below)
    chosen.append(candidates[:wanted])
    return np.sort(np.concatenate(chosen))
