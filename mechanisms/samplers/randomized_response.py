"""Randomized response on k categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.mechanisms.samplers.coins import bernoulli_enclosed
from dpproof.mechanisms.samplers.enclosure import keep_probability
from dpproof.mechanisms.samplers.integers import uniform_below
from dpproof.mechanisms.samplers.rng import Rng

_LEAST_CATEGORIES = 2
_MOST_CATEGORIES = 2**62


def randomized_response(
    values: ArrayLike, categories: int, epsilon: arguments.Number, rng: Rng
) -> NDArray[np.int64]:
    """Keep each value with probability e^epsilon / (e^epsilon + categories - 1), else replace it.

    Law: P(output = values[i]) = e^epsilon / (e^epsilon + categories - 1), and every other category
        has probability 1 / (e^epsilon + categories - 1); entries are independent.
    Proof: the coin "keep" has exactly that probability (``bernoulli_enclosed``); a replacement is
        uniform on the categories - 1 others.

    Args:
        values: categories 0, ..., categories - 1, any shape.
        categories: how many there are, from 2 to 2^62.
        epsilon: >= 0, nats; a float is its exact binary value.
        rng: source of words.
    Returns:
        the shape of values, int64.
    Raises:
        ParameterError: an argument is outside its domain.
    Example:
        >>> from fractions import Fraction
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> randomized_response([0, 1, 2], 3, Fraction(100), ReplayRng(1))
        array([0, 1, 2])
    """
    exact = arguments.non_negative(epsilon=epsilon)
    total = arguments.whole(categories=categories)
    if not _LEAST_CATEGORIES <= total <= _MOST_CATEGORIES:
        raise ParameterError("categories", categories, "from 2 to 2^62")
    truth = np.asarray(values)
    if truth.dtype.kind not in "iu" or (truth < 0).any() or (truth >= total).any():
        raise DataError("values", values, f"whole numbers from 0 to {total - 1}")
    flat = truth.astype(np.int64).ravel()
    keep = bernoulli_enclosed(keep_probability(exact, total), len(flat), rng)
    other = uniform_below(total - 1, len(flat), rng).astype(np.int64)
    other += other >= flat
    return np.where(keep, flat, other).reshape(truth.shape)
