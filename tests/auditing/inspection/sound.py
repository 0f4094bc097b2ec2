"""Sound ways to add noise to a value, of which a recorder has nothing to say."""

from __future__ import annotations

from typing import Any

import numpy as np

Rng = np.random.Generator


def noisy_sum(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """A clipped sum with noise, as it should be."""
    return np.clip(records, 0, 1).sum() + rng.laplace(scale=1.0, size=size)


def located_sum(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """The same by the location parameter."""
    return rng.laplace(float(np.clip(records, 0, 1).sum()), 1.0, size)


def in_place_sums(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Noise added into an array."""
    values = np.full((size, 2), np.clip(records, 0, 1).sum())
    values += rng.laplace(0, 2.0, size=values.shape)
    return values


def into_noise(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """A value added into an array of noise, scaled before."""
    noise = rng.standard_normal(size)
    noise *= 3.0
    noise += np.clip(records, 0, 1).sum()
    return noise


def one_by_one(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """A vector of noise taken apart."""
    noise = rng.laplace(scale=1.0, size=size)
    return [round(float(np.clip(records, 0, 1).sum() - one), 3) for one in noise]


def whole_noise(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Rounded noise on a count."""
    return [len(records) + round(rng.laplace(scale=2.0)) for _ in range(size)]


def summed_noise(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Noise that is a sum, of a table and of two draws."""
    table = rng.normal(size=(size, 4)).sum(axis=1) + rng.normal(size=size)
    return np.clip(records, 0, 1).sum() + table


def through_tuples(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Values added to every noise at once, and an answer in a tuple."""
    return [(np.add.outer(np.clip(records, 0, 1).sum(), rng.laplace(size=size)), "answer")]
