"""A thousand repeats of every bound on controls where the claim is exactly true.

At a significance of 5 % more than 69 alarms of 1,000 have probability 0.3 % at the worst rate that
is allowed. Seeds are fixed: what is tested is the bound, not luck.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from auditing import EventCounts, PrefixBand, PrefixCounts, RandomisedLabel, Rectangle, TwoSample
from auditing.bounds.event_bound import EventBound

pytestmark = pytest.mark.slow

REPEATS, MOST_ALARMS, SIGNIFICANCE = 1_000, 69, 0.05
EVENTS = [
    (0.0, 0.0, 0.3, 1_000),
    (0.1, 0.0, 0.002, 4_000),
    (1.0, 0.0, 0.05, 2_000),
    (1.0, 0.0, 0.27, 10_000),
    (1.0, 0.001, 0.05, 4_000),
    (1.0, 0.01, 0.2, 4_000),
    (3.0, 0.0, 0.04, 1_000),
    (0.0, 0.38, 0.31, 2_000),
]
BOUNDS = [
    RandomisedLabel(significance=SIGNIFICANCE),
    Rectangle(significance=SIGNIFICANCE),
    TwoSample(significance=SIGNIFICANCE, weight=2),
]


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: type(bound).__name__)
@pytest.mark.parametrize(("epsilon", "delta", "q", "trials"), EVENTS)
def test_event_bounds(
    bound: EventBound, epsilon: float, delta: float, q: float, trials: int
) -> None:
    """At most 69 alarms on the least favourable event."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(REPEATS):
        n1 = int(rng.binomial(trials, 0.5))
        hits = int(rng.binomial(n1, min(1.0, math.exp(epsilon) * q + delta)))
        others = int(rng.binomial(trials - n1, q))
        counts = EventCounts(hits, n1, others, trials - n1)
        alarms += bound.refutes(counts, epsilon=epsilon, delta=delta)

    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize(
    ("epsilon", "delta", "trials"), [(0.0, 0.0, 1_000), (1.0, 0.0, 4_000), (1.0, 0.002, 2_000)]
)
def test_prefix_band(epsilon: float, delta: float, trials: int) -> None:
    """At most 69 alarms when every threshold's events are as bad as the claim allows.

    Labels are coins of bias sig(epsilon) in every prefix but the last half, and the part of delta
    lies in the first prefix.
    """
    rng = np.random.default_rng(6)
    band = PrefixBand(significance=SIGNIFICANCE)
    sizes = np.unique((trials / 1.2 ** np.arange(24)).astype(int))
    alarms = 0
    for _ in range(REPEATS):
        labels = _labels(rng, epsilon, delta, trials)
        hits = np.cumsum(labels)[sizes - 1]
        counts = PrefixCounts(
            tuple(sizes.tolist()), tuple(hits.tolist()), int(hits[-1]), trials - int(hits[-1])
        )
        alarms += band.refutes(counts, epsilon=epsilon, delta=delta)

    assert alarms <= MOST_ALARMS


def _labels(
    rng: np.random.Generator, epsilon: float, delta: float, trials: int
) -> NDArray[np.bool_]:
    """Trials of the pair with P = delta elsewhere + min(P, e^eps Q), sorted by likelihood ratio."""
    telling = rng.binomial(trials, delta / 2)
    half = (trials - telling) // 2
    first = rng.random(half) < 1 / (1 + math.exp(-epsilon))
    second = rng.random(trials - telling - half) < 1 / (1 + math.exp(epsilon))
    return np.concatenate([np.ones(telling, dtype=bool), first, second])
