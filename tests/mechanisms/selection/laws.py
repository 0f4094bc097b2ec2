"""Textbook laws of choices among noisy scores, by quadrature; no code of the mechanisms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Law = NDArray[np.float64]

EPSILONS = (0.0, 0.25, 0.75, 1.25)


def laplace_cdf(x: ArrayLike) -> Law:
    """Return P(Lap(1) <= x)."""
    value = np.asarray(x, dtype=np.float64)
    tail = 0.5 * np.exp(-np.abs(value))
    return np.asarray(np.where(value < 0, tail, 1 - tail))


def permute_and_flip(scores: Sequence[float], scale: float) -> Law:
    """Of the algorithm as published: every order, every coin."""
    flips = [math.exp((u - max(scores)) / scale) for u in scores]
    law, orders = np.zeros(len(scores)), list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0 / len(orders)
        for candidate in order:
            law[candidate] += left * flips[candidate]
            left *= 1 - flips[candidate]
    return law


def largest_with_laplace(scores: Sequence[float], scale: float) -> Law:
    """P(score i with Laplace noise is the largest): the integral over its noise, by Gauss."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    points = np.array(scores) / scale
    found = np.zeros(len(scores))
    cuts = np.unique(np.concatenate([points, [points.min() - 45, points.max() + 45]]))
    for left, right in itertools.pairwise(cuts):
        for start, stop in itertools.pairwise(np.linspace(left, right, 12)):
            x = start + (stop - start) * (nodes + 1) / 2
            for i, point in enumerate(points):
                others = np.prod([laplace_cdf(x - p) for p in np.delete(points, i)], axis=0)
                density = 0.5 * np.exp(-np.abs(x - point))
                found[i] += (weights * density * others).sum() * (stop - start) / 2
    return found


def above_threshold(
    queries: ArrayLike, threshold_scale: float, query_scale: float, *, grid: int = 4001
) -> Law:
    """P(query i is the first above), and of none last; given the threshold's noise, exactly.

    The noise of the threshold takes the values of a trapezoid rule in its distribution function,
    so that this is the law of a mechanism with nearly that noise.
    """
    values = np.asarray(queries, dtype=np.float64)
    z = np.linspace(-45, 45, grid)
    weight = 0.5 * np.exp(-np.abs(z)) * (z[1] - z[0])
    weight[[0, -1]] *= 0.5
    below = laplace_cdf((threshold_scale * z[:, None] - values) / query_scale)
    reach = np.cumprod(np.concatenate([np.ones((grid, 1)), below], axis=1), axis=1)
    stops = np.concatenate([reach[:, :-1] * (1 - below), reach[:, -1:]], axis=1)
    law = weight @ stops / weight.sum()
    return np.asarray(law)


def worst_delta(
    law: Callable[[Sequence[float]], Law],
    scores: Sequence[Sequence[float]],
    moves: Sequence[float],
    epsilon: float,
) -> float:
    """The largest hockey-stick divergence over all moves of all scores, in both orders."""
    worst = 0.0
    for start in scores:
        p = law(start)
        for move in itertools.product(moves, repeat=len(start)):
            q = law([a + b for a, b in zip(start, move, strict=True)])
            for one, other in ((p, q), (q, p)):
                worst = max(worst, float(np.maximum(one - math.exp(epsilon) * other, 0).sum()))
    return worst


def within_band(outputs: NDArray[np.int64], law: Law, start: int, false_alarm: float) -> bool:
    """Whether frequencies stay in their Dvoretzky-Kiefer-Wolfowitz band."""
    empirical = np.cumsum(np.bincount(outputs - start, minlength=len(law))) / len(outputs)
    band = math.sqrt(math.log(2 / false_alarm) / (2 * len(outputs)))
    return bool(np.abs(empirical - np.cumsum(law)).max() <= band)
