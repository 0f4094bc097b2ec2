"""Random subsets of {0, ..., population - 1}."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers.coins import Coins, bernoulli
from dpproof.mechanisms.samplers.rng import Rng

_WORDS: Final = 1 << 20  # drawn at a time


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
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
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
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
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


def subsets_without_replacement(
    population: int, size: int, count: int, rng: Rng
) -> NDArray[np.int64]:
    """Draw ``count`` independent uniformly random subsets of exactly ``size`` records each.

    Law: of each row every subset of that size has probability 1 / binomial(population, size).
    Proof: give each record of a row one word and take the ``size`` smallest words, if no word ties
        with the last place; else draw the row again. Whether there is a tie does not depend on
        which record has which word, so the words of a row that is kept are exchangeable still.

    Args:
        population: number of records.
        size: number of records to take, at most population.
        count: number of subsets.
        rng: source of words.
    Returns:
        shape (count, size), int64, each row increasing record numbers.
    Raises:
        ParameterError: size exceeds population, or an argument is not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> subsets_without_replacement(9, 2, 1000, ReplayRng(1)).shape
        (1000, 2)
    """
    total, wanted = arguments.whole(population=population), arguments.whole(size=size)
    if wanted > total:
        raise ParameterError("size", size, f"at most the population, {total}")
    subsets = np.tile(np.arange(wanted, dtype=np.int64), (arguments.whole(count=count), 1))
    open_rows = np.arange(len(subsets) if 0 < wanted < total else 0)
    while len(open_rows):
        rows = open_rows[: max(1, _WORDS // total)]
        words = rng.words(len(rows) * total).reshape(len(rows), total)
        order = np.argpartition(words, (wanted - 1, wanted), axis=1)
        ends = np.take_along_axis(words, order[:, wanted - 1 : wanted + 1], axis=1)
        settled = ends[:, 0] < ends[:, 1]
        subsets[rows[settled]] = np.sort(order[settled, :wanted], axis=1)
        open_rows = np.concatenate([rows[~settled], open_rows[len(rows) :]])
    return subsets
