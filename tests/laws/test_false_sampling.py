"""Theorems of one sampling scheme are false of another: what is printed in their place, refuted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant import (
    GDP,
    L2,
    AddRemove,
    L2Contribution,
    NotImplied,
    Poisson,
    ShuffledBatches,
    ZeroOut,
)
from dpproof.mechanisms import Gaussian

DELTA = 1e-6


@pytest.mark.parametrize(
    ("batches", "sigma", "factor"),
    [(1000, 0.5, 2.59), (1000, 0.8, 12.9), (1000, 1, 20), (100, 0.7, 2.4)],
)
def test_poisson_accounting_is_refuted_for_shuffled_batches(
    batches: int, sigma: float, factor: float
) -> None:
    """The lower end of one epoch is 2.4 to 20 times what Poisson samples at the same rate cost."""
    noise = Gaussian(sigma=sigma, sensitivity=L2Contribution(1, ZeroOut()))
    shuffled = noise.allocate(ShuffledBatches(batches=batches)).guarantee().epsilon(delta=DELTA)
    step = Gaussian(sigma=sigma, sensitivity=L2(1)).subsample(Poisson(sampling_rate=1 / batches))
    poisson = step.repeat(batches).guarantee().epsilon(delta=DELTA)

    assert shuffled.lower > factor * poisson.upper


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_accumulated_samples_are_no_sample_at_the_sum_of_their_rates(epsilon: float) -> None:
    """A record in four samples of 1 %, added before the noise, counts up to four times.

    The truth by quadrature on records of 0 against one of 1; the claim is that of one 4 % sample.
    """
    pieces, rate, sigma, cell = 4, 0.01, 0.5, 1e-3
    line = np.arange(-6.0, 10.0, cell)
    counted = stats.binom.pmf(np.arange(pieces + 1), pieces, rate)
    p = sum(mass * stats.norm.pdf(line, j, sigma) for j, mass in enumerate(counted))
    truth = np.maximum(p - math.exp(epsilon) * stats.norm.pdf(line, 0, sigma), 0).sum() * cell
    sample = Poisson(sampling_rate=pieces * rate)
    claim = Gaussian(sigma=sigma, sensitivity=L2(1)).subsample(sample).guarantee()

    assert truth > 1.01 * claim.delta(epsilon=epsilon).upper


def test_a_partial_last_batch_costs_more_than_no_amplification_under_add_remove() -> None:
    """One record of 1 beside 50 of -1, batches of 50 and 1: its place moves another record.

    By quadrature delta is .75 at ln 300, where 1/sigma-GDP says .014; sqrt(5)/sigma-GDP, the upper
    end of the proof, says .76.
    """
    sigma, cell, t = 0.5, 0.02, 300.0
    first, last = np.meshgrid(np.arange(-4, 6, cell), np.arange(-5, 5, cell), indexing="ij")

    def density(one: float, other: float) -> Any:  # noqa: ANN401
        return stats.norm.pdf(first, one, sigma) * stats.norm.pdf(last, other, sigma)

    p = 50 / 51 * density(2, -1) + 1 / 51 * density(0, 1)
    truth = np.maximum(p - t * density(0, 0), 0).sum() * cell**2

    assert truth == pytest.approx(0.7485, abs=1e-4)
    assert GDP(mu=1 / sigma).delta(epsilon=math.log(t)).upper < 0.0145
    assert truth < GDP(mu_squared=5 / sigma**2).delta(epsilon=math.log(t)).lower


def test_subsets_of_fixed_size_are_no_poisson_samples() -> None:
    """One record of 1 beside others of -1: in a fifth of the subsets it takes the place of a -1.

    By quadrature delta exceeds that of Poisson samples at the same rate under add-remove.
    """
    rate, cell = 0.2, 1e-3
    line = np.arange(-8.0, 10.0, cell)
    p = (1 - rate) * stats.norm.pdf(line) + rate * stats.norm.pdf(line, 2)
    truth = np.maximum(p - math.e * stats.norm.pdf(line), 0).sum() * cell
    step = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=rate))

    assert truth > 4 * step.guarantee().delta(epsilon=1).upper


def test_shuffled_batches_under_add_remove_are_refused() -> None:
    """No guarantee is printed, and so not 1/sigma-GDP."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, AddRemove()))
    with pytest.raises(NotImplied, match="amplifies nothing"):
        noise.allocate(ShuffledBatches(batches=10)).guarantee()
