"""A lower bound of mu at all times."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from dpproof.accountant import GDP
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import BetProcess, GaussianSequence, PrefixCounts
from dpproof.auditing.evidence import tangent

NORMAL = NormalDist()
# One trial: on D in S, on D outside, on D' in S, on D' outside.
TRIALS = [
    PrefixCounts((inside,), (hit,), on_data, 1 - on_data)
    for inside, hit, on_data in ((1, 1, 1), (0, 0, 1), (1, 0, 0), (0, 0, 0))
]


@pytest.mark.some(3)
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("q", [0.1, 0.4])
def test_bound_ever_exceeds_the_truth_rarely(mu: float, q: float) -> None:
    """Exactly, over all paths of five trials looked at one by one, after a past of its own."""
    significance = 0.7
    p = NORMAL.cdf(NORMAL.inv_cdf(q) + mu)
    chances = (0.5 * p, 0.5 * (1 - p), 0.5 * q, 0.5 * (1 - q))

    def error(sequence: GaussianSequence, past: PrefixCounts, left: int) -> float:
        if sequence.mu > mu:
            return 1.0
        if left == 0:
            return 0.0
        return sum(
            chance * error(sequence.after(past, trial), past.plus(trial), left - 1)
            for chance, trial in zip(chances, TRIALS, strict=True)
        )

    start = GaussianSequence.over((0, 0.5, 1, 1.5), significance=significance)
    lucky = PrefixCounts((10,), (10,), 10, 10)
    assert 0 < error(start, lucky, 5) <= significance


def test_finds_mu_and_never_falls() -> None:
    """Ten blocks of Gaussian noise show nine tenths of mu; the bound grows from block to block."""
    rng = np.random.default_rng(3)
    cuts = np.array([3.0, 2.0, 1.0, 0.5, 0.0, -1.0])

    def block(size: int) -> PrefixCounts:
        first, second = rng.normal(1.0, size=size), rng.normal(size=size)
        hits, others = ((values[:, None] >= cuts).sum(axis=0) for values in (first, second))
        return PrefixCounts(tuple((hits + others).tolist()), tuple(hits.tolist()), size, size)

    sequence = GaussianSequence.over(np.arange(0, 2, 0.05).tolist(), significance=0.05)
    past, found = block(1_000), []
    for _ in range(10):
        fresh = block(1_000)
        sequence = sequence.after(past, fresh)
        past = past.plus(fresh)
        found.append(sequence.mu)

    assert found == sorted(found)
    assert 0.85 <= found[-1] <= 1.0


def test_a_mu_counts_only_when_all_below_are_refuted() -> None:
    """Evidence against the middle of the grid alone shows nothing."""
    sequence = GaussianSequence.over((0, 1, 2), significance=0.05)
    refuted = BetProcess(np.zeros(5), 9.0)
    middle = replace(sequence, processes=(BetProcess.start(), refuted, BetProcess.start()))
    lower = replace(sequence, processes=(refuted, refuted, BetProcess.start()))

    assert (middle.mu, lower.mu) == (0.0, 1.0)


def cdf(value: float) -> float:
    """The normal distribution function, without cancellation in the lower tail."""
    return 0.5 * math.erfc(-value / math.sqrt(2))


@pytest.mark.parametrize("mu", [0.05, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("quantile", [-6.0, -1.0, 0.0, 2.5])
def test_tangents_are_the_claim(mu: float, quantile: float) -> None:
    """They touch the curve from above, where they should, and no further than rounding."""
    epsilon, delta = tangent(mu, quantile)
    claimed = GDP(mu=mu).delta(epsilon=epsilon)

    assert claimed.lower <= delta <= claimed.upper + 2e-12
    for other in (-7.0, quantile - 0.1, quantile, quantile + 0.1, 4.0):
        line = np.exp(epsilon) * cdf(other) + delta
        assert cdf(other + mu) <= line * (1 + 1e-12)
    assert cdf(quantile + mu) == pytest.approx(np.exp(epsilon) * cdf(quantile) + delta, rel=1e-9)


def test_refuses_no_grid_and_negative_mu() -> None:
    """A bound needs numbers at which to be refuted."""
    for mus in ((), (-1,)):
        with pytest.raises(ParameterError):
            GaussianSequence.over(mus, significance=0.05)
