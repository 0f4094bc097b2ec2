"""Implementations to audit: broken ones of every kind, and controls.

Every sampler rounds what it releases to a fixed grid unless its floating point is the bug, so that
an audit finds the bug that is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.auditing import Outcome, audit

Draw = Callable[[Any, int, np.random.Generator], Any]
Rng = np.random.Generator
GRID = 2.0**30
ROWS = 200


@dataclass(frozen=True)
class Case:
    """A sampler with the pair that shows what it does, and what it claims."""

    name: str
    draw: Draw
    data: Any
    neighbour: Any
    claim: Any
    samples: int
    pilot: float = 0.1


def alarms(case: Case, repeats: int) -> int:
    """How many audits at 5 % alarm, or bound epsilon above the claim, which is the truth."""
    wrong = 0
    for seed in range(repeats):
        report = audit(
            case.draw, (case.data, case.neighbour), case.claim, samples=case.samples, seed=seed
        )
        above = report.epsilon_lower > report.epsilon_claimed
        wrong += report.outcome is Outcome.VIOLATION or above
    return wrong


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to the grid: what is left in the low bits tells nothing."""
    return np.rint(values * GRID) / GRID


def laplace(scale: float) -> Draw:
    """Laplace noise on a number or an array."""
    return lambda value, size, rng: rounded(
        np.asarray(value) + rng.laplace(scale=scale, size=(size, *np.shape(value)))
    )


def gaussian(sigma: float) -> Draw:
    """Gaussian noise on a number."""
    return lambda value, size, rng: rounded(value + rng.normal(scale=sigma, size=size))


def randomized_response(epsilon: float, delta: float = 0.0) -> Draw:
    """Tell the bit with probability delta, else answer by randomised response."""
    honest = 1 / (1 + np.exp(-epsilon))

    def draw(bit: float, size: int, rng: Rng) -> NDArray[np.float64]:
        answer = np.where(rng.random(size) < honest, bit, 1 - bit)
        return np.where(rng.random(size) < delta, bit + 2, answer)

    return draw


def noisy_max(values: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.float64]:
    """Report noisy max that returns the value as well as the index: only the index is private."""
    noisy = values + rng.laplace(scale=2.0, size=(size, len(values)))
    return np.column_stack([noisy.argmax(axis=1), rounded(noisy.max(axis=1))])


def noisy_max_index(values: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.int64]:
    """Report noisy max as it should be: the index only."""
    noisy = values + rng.laplace(scale=2.0, size=(size, len(values)))
    return np.asarray(noisy.argmax(axis=1))


def sparse_vector(query_scale: float, *, cut_off: bool) -> Draw:
    """Sparse vector with a noisy threshold of scale 2 at 0 and noise on every query."""

    def draw(queries: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.float64]:
        threshold = rng.laplace(scale=2.0, size=(size, 1))
        above = queries + query_scale * rng.laplace(size=(size, len(queries))) >= threshold
        after = np.cumsum(above, axis=1) - above > 0
        return np.where(after, -1.0, above) if cut_off else above.astype(float)

    return draw


def unclipped_sum(records: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.float64]:
    """A sum of records meant to be in [0, 1], which nobody clips, with noise for 1."""
    return rounded(np.sum(records) + rng.laplace(size=size))


def shuffled_steps(value: float, size: int, rng: Rng) -> NDArray[np.float64]:
    """One record in one random step of 100, noise multiplier 0.8: shuffling, not Poisson."""
    steps = rng.normal(scale=0.8, size=(size, 100))
    steps[np.arange(size), rng.integers(100, size=size)] += value
    return rounded(steps)


def best_of(runs: int) -> Draw:
    """The best of several Laplace runs, charged once."""
    return lambda value, size, rng: rounded(
        (value + rng.laplace(scale=1.0, size=(size, runs))).max(axis=1)
    )


def private_mean(records: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.float64]:
    """A mean whose noise is scaled by the private number of records."""
    return rounded(records.mean() + rng.laplace(scale=1 / len(records), size=size))


def present_keys(records: list[str], size: int, rng: Rng) -> list[dict[str, float]]:
    """A histogram that releases the keys that are there and no others."""
    keys = sorted(set(records))
    noise = np.round(rng.laplace(scale=1.0, size=(size, len(keys))))
    return [
        {key: records.count(key) + float(row[j]) for j, key in enumerate(keys)} for row in noise
    ]


def reused_noise(values: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.float64]:
    """One noise draw used for two releases."""
    return rounded(values + rng.laplace(scale=2.0, size=(size, 1)))


def data_scale(records: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.float64]:
    """Noise scaled by the largest record that happens to be there."""
    return rounded(records.sum() + rng.laplace(scale=float(records.max()), size=size))


def hasty_exponential(scores: NDArray[np.float64], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """The exponential mechanism without the factor 2 in its exponent."""
    weights = np.exp(scores)
    return rng.choice(len(scores), size=size, p=weights / weights.sum())


def truncated_laplace(value: float, size: int, rng: Rng) -> NDArray[np.float64]:
    """Noise cut to [-2, 2] about the value: the support tells."""
    return rounded(value + np.clip(rng.laplace(size=size), -2, 2))


def rounded_noise(value: float, size: int, rng: Rng) -> NDArray[np.float64]:
    """Noise rounded to whole numbers before it is added to a value that is none."""
    return rounded(value + np.rint(rng.laplace(scale=1.0, size=size)))


def stable_histogram(counts: float, size: int, rng: Rng) -> NDArray[np.float64]:
    """A threshold of 1.5 for rare keys, which (1, 1e-6) does not allow: absent keys stay 0."""
    noisy = rounded(counts + rng.laplace(size=size))
    return np.where((counts > 0) & (noisy > 1.5), noisy, 0.0)


def float32_sum(records: NDArray[np.float32], size: int, rng: Rng) -> NDArray[np.float64]:
    """A sequential sum in float32, which depends on the order, with noise for 1."""
    total = np.float32(0)
    for record in records:
        total += record
    return rounded(float(total) + rng.laplace(size=size))


def exponential(scores: NDArray[np.float64], size: int, rng: Rng) -> Any:  # noqa: ANN401
    """The exponential mechanism at scale 1 for scores of sensitivity 1: 2-bounded range."""
    return hasty_exponential(scores, size, rng)


def discrete_laplace(value: int, size: int, rng: Rng) -> NDArray[np.int64]:
    """Two-sided geometric noise of scale 1."""
    success = -np.expm1(-1.0)
    return value + rng.geometric(success, size=size) - rng.geometric(success, size=size)


def textbook_laplace(value: float, size: int, rng: Rng) -> NDArray[np.float64]:
    """Right in real numbers, wrong in floating point."""
    return np.asarray(value + rng.laplace(size=size))


def textbook_gaussian(value: float, size: int, rng: Rng) -> NDArray[np.float64]:
    """Right in real numbers, (2, 0.021)-DP for a shift of 1, wrong in floating point."""
    return np.asarray(value + rng.normal(size=size))


def poisson_subsampled(rate: float, sigma: float) -> Draw:
    """Sum of a Poisson sample of records with Gaussian noise."""

    def draw(records: NDArray[np.float64], size: int, rng: Rng) -> NDArray[np.float64]:
        chosen = rng.random((size, len(records))) < rate
        return rounded(chosen @ records + rng.normal(scale=sigma, size=size))

    return draw


def subsampled_run(rate: float, sigma: float, steps: int) -> Draw:
    """Log-likelihood ratio of many subsampled Gaussian steps with a record and without.

    Steps are alike, so that those with the record may be the first ones.
    """

    def draw(present: float, size: int, rng: Rng) -> NDArray[np.float64]:
        ratios = np.empty(size)
        for start in range(0, size, ROWS):
            rows = slice(start, min(start + ROWS, size))
            losses = rng.standard_normal((rows.stop - start, steps), dtype=np.float32) / sigma
            for row, count in enumerate(rng.binomial(steps, rate, len(losses))):
                losses[row, :count] += present / sigma**2
            factors = 1 - rate + rate * np.exp(losses - 0.5 / sigma**2)
            ratios[rows] = np.log(factors.prod(axis=1, dtype=np.float64))
        return rounded(ratios)

    return draw
