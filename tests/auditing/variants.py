"""More broken implementations: mistakes in calibration, selection, noise, thresholds and counting.

The sparse-vector variants are those of Lyu, Su & Li, "Understanding the sparse vector technique",
arXiv:1603.01699, Figure 1. All round to a grid, as in ``samplers``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.auditing.samplers import Draw, Rng, rounded

Floats = NDArray[np.float64]


def sparse_vector(threshold_scale: float, query_scale: float, cut_off: int) -> Draw:
    """Above or below a noisy threshold at 0, until ``cut_off`` answers were above; then -1."""

    def draw(queries: Floats, size: int, rng: Rng) -> Floats:
        threshold = threshold_scale * rng.laplace(size=(size, 1))
        above = queries + query_scale * rng.laplace(size=(size, len(queries))) >= threshold
        before: NDArray[np.int64] = np.cumsum(above, axis=1) - above
        return np.where(before >= cut_off, -1.0, above)

    return draw


def sparse_values(queries: Floats, size: int, rng: Rng) -> Floats:
    """The noisy answer that was found above the threshold is released, with the noise it had."""
    threshold = 2.0 * rng.laplace(size=(size, 1))
    noisy = queries + 2.0 * rng.laplace(size=(size, len(queries)))
    above = noisy >= threshold
    before: NDArray[np.int64] = np.cumsum(above, axis=1) - above
    return rounded(np.where(before > 0, -99.0, np.where(above, noisy, -100.0)))


def hasty_noisy_max(scores: Floats, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Report noisy max with noise of scale 1 for scores that move both ways: 2 is needed."""
    return np.argmax(scores + rng.laplace(size=(size, len(scores))), axis=1)


def hasty_permute_and_flip(scores: Floats, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Permute and flip as exponential noise and a maximum, without the factor 2."""
    return np.argmax(scores + rng.exponential(size=(size, len(scores))), axis=1)


def normalised_scores(scores: Floats, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """The exponential mechanism on scores that are divided by the largest one first."""
    weights = np.exp(2.0 * scores / scores.max())
    return rng.choice(len(scores), size=size, p=weights / weights.sum())


def truncated_gaussian(value: float, size: int, rng: Rng) -> Floats:
    """Gaussian noise cut at two standard deviations."""
    return rounded(value + np.clip(rng.normal(size=size), -2, 2))


def positive_noise(value: float, size: int, rng: Rng) -> Floats:
    """Noise of one sign, so that counts never shrink."""
    return rounded(value + np.abs(rng.laplace(size=size)))


def redrawn(value: float, size: int, rng: Rng) -> Floats:
    """Drawn again until the answer is not negative: how often depends on the value."""
    noisy = value + rng.laplace(size=size)
    while (noisy < 0).any():
        noisy = np.where(noisy < 0, value + rng.laplace(size=size), noisy)
    return rounded(noisy)


def exchanged_geometric(value: int, size: int, rng: Rng) -> NDArray[np.int64]:
    """Two-sided geometric noise for epsilon 1/2, chances of going on and of stopping exchanged."""
    stop = np.exp(-0.5)
    return value + rng.geometric(stop, size=size) - rng.geometric(stop, size=size)


def one_sided_geometric(value: int, size: int, rng: Rng) -> NDArray[np.int64]:
    """Geometric noise without its other side."""
    return value + rng.geometric(1 - np.exp(-1.0), size=size)


def exact_threshold(count: float, size: int, rng: Rng) -> Floats:
    """A rare key is left out by its exact count, before noise is added."""
    return np.where(count >= 2, rounded(count + rng.laplace(size=size)), 0.0)


def exact_distance(distance: float, size: int, rng: Rng) -> Floats:
    """Propose-test-release that tests the exact distance, and refuses with -99."""
    return np.where(distance > 3, rounded(rng.laplace(size=size)), -99.0)


def noisy_shares(counts: Floats, size: int, rng: Rng) -> Floats:
    """A discrete histogram in shares of the exact number of records."""
    noisy: Floats = np.rint(counts + rng.laplace(size=(size, len(counts))))
    return noisy / float(counts.sum())


def noisy_sum_exact_count(records: Floats, size: int, rng: Rng) -> Floats:
    """A mean as a noisy sum over the exact number of records."""
    return rounded((records.sum() + rng.laplace(size=size)) / len(records))


def unsplit(values: Floats, size: int, rng: Rng) -> Floats:
    """Every answer with the whole budget."""
    return rounded(values + rng.laplace(size=(size, len(values))))


def tree_without_depth(values: Floats, size: int, rng: Rng) -> Floats:
    """Sums over the nodes of a binary tree, with noise for one node: a value is in several."""
    nodes = [values]
    while len(nodes[-1]) > 1:
        nodes.append(nodes[-1].reshape(-1, 2).sum(axis=1))
    return unsplit(np.concatenate(nodes), size, rng)


def reset_seed(value: float, size: int, _rng: Rng) -> Floats:
    """A generator made anew, from the same seed, by every call that draws one answer."""
    return rounded(value + np.array([np.random.default_rng(0).laplace() for _ in range(size)]))


def multiplied_noise(value: float, size: int, rng: Rng) -> Floats:
    """Noise in proportion to the value."""
    return rounded(value * (1 + rng.laplace(size=size)))


def nan_unclipped(records: Floats, size: int, rng: Rng) -> Floats:
    """A sum clipped to [0, 1], which nan is not."""
    return rounded(np.clip(records, 0, 1).sum() + rng.laplace(size=size))
