"""Algorithm 3 of Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, as printed, with its exact price.

One uniformly drawn record a step, n^2 - 1 steps, and a gradient that is multiplied by n. It is here
to be compared: the noise is numpy's, so it is for public data.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import GDP, Guarantee, ReplaceOne, WithoutReplacement, self_compose
from dpproof.accountant.theorems.subsampling import subsample_without_replacement


def relative_noise(*, records: int, epsilon: float, delta: float) -> float:
    """Return sigma/(n L) of a run at (epsilon, delta), L the Lipschitz constant of the loss.

    Example:
        >>> round(relative_noise(records=1_000, epsilon=0.2, delta=2e-7), 1)
        525.0
    """
    return math.sqrt(32 * math.log(records / delta) * math.log(1 / delta)) / epsilon


def price(*, records: int, epsilon: float, delta: float, runs: int = 1) -> Guarantee[ReplaceOne]:
    """Return what so many runs satisfy together: every step is a Gaussian on one record of n.

    Args:
        records: n, public.
        epsilon: printed, of one run, with
        delta: of one run.
        runs: how many.
    """
    mu = 2 / relative_noise(records=records, epsilon=epsilon, delta=delta)
    step = subsample_without_replacement(
        GDP(mu=mu, relation=ReplaceOne()),
        WithoutReplacement(sample_size=1, population_size=records),
    )
    return self_compose(step, runs * (records**2 - 1))


def one_record_descent(
    rows: NDArray[np.float64],
    signs: NDArray[np.int64],
    *,
    margin: float,
    noise: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the last weights of n^2 - 1 steps on the hinge of the paper, in the unit ball.

    Args:
        rows: of norm at most 1.
        signs: 1 and -1.
        margin: gamma; the loss is max(0, (0.96 gamma - y <w, x>)/(0.86 gamma)).
        noise: sigma/(n L), of ``relative_noise``; 0 shows what the algorithm learns without.
        rng: of the draws and the noise.
    """
    size, width = rows.shape
    steepest = 1 / (0.86 * margin)
    sigma = noise * size * steepest
    weights = np.zeros(width)
    length = 2 / math.sqrt((size * steepest) ** 2 + width * sigma**2)
    for step in range(1, size**2):
        chosen = rng.integers(size)
        row, sign = rows[chosen], signs[chosen]
        slope = -size * steepest * sign * row if sign * (row @ weights) < 0.96 * margin else 0.0
        weights = weights - length / math.sqrt(step) * (slope + sigma * rng.normal(size=width))
        weights /= max(1.0, float(np.linalg.norm(weights)))
    return weights
