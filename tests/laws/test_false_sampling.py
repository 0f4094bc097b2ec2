"""Theorems of one sampling scheme are false of another: what is printed in their place, refuted."""

from __future__ import annotations

import itertools
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
    RandomAllocation,
    ShuffledBatches,
    WithoutReplacement,
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


def test_two_rounds_of_three_are_not_twice_one_of_two() -> None:
    """Parts of the rounds add up to all of them: by quadrature twice one of two is too small."""
    cell = 0.16
    line = np.arange(-5.0, 7.0, cell)
    density, ratio = stats.norm.pdf(line), np.exp(line - 0.5)
    without = np.einsum("i,j,k->ijk", density, density, density)
    with_it = sum(
        np.einsum("i,j,k->ijk", *(np.where(i in pair, density * ratio, density) for i in range(3)))
        for pair in itertools.combinations(range(3), 2)
    )
    truth = np.maximum(with_it / 3 - without, 0).sum() * cell**3
    noise = Gaussian(sigma=1, sensitivity=L2(1))
    claim = noise.allocate(RandomAllocation(steps=2)).repeat(2).guarantee()
    bound = noise.allocate(RandomAllocation(steps=3, chosen=2)).guarantee().delta(epsilon=0)

    assert truth > 1.05 * claim.delta(epsilon=0).upper
    assert 0.9 * truth < bound.lower < truth < bound.upper


def test_subsets_count_the_smaller_of_two_rates_for_nobody() -> None:
    """Whoever has N records has neighbours of N - 1: the rate of N + 1 is too small for them."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1))
    ours, larger = (
        noise.subsample(WithoutReplacement(sample_size=2, population_size=n)).guarantee()
        for n in (4, 5)
    )
    line, cell = np.arange(-8.0, 10.0, 1e-3), 1e-3
    p = 0.5 * stats.norm.pdf(line) + 0.5 * stats.norm.pdf(line, 2)
    truth = np.maximum(p - math.e * stats.norm.pdf(line), 0).sum() * cell

    assert truth > 1.1 * larger.delta(epsilon=1).upper
    assert truth <= ours.delta(epsilon=1).upper + 1e-9


def test_one_order_of_three_points_does_not_bound_the_other() -> None:
    """Subsets under zero-out: the worst pair of one order, swapped, is below a dataset's value."""
    rate, cell = 0.5, 1e-3
    line = np.arange(-8.0, 10.0, cell)
    two, one, none = (stats.norm.pdf(line, place) for place in (2, 1, 0))
    first, second = ((1 - rate) * none + rate * shape for shape in (two, one))
    swapped = np.maximum(second - math.e * first, 0).sum() * cell
    truth = np.maximum(second - math.e * none, 0).sum() * cell
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, ZeroOut()))
    scheme = WithoutReplacement(sample_size=2, population_size=4)
    ours = noise.subsample(scheme).guarantee().to_pair()

    ends = ours.backward.factors[0].pair.profile(np.array([1.0]))
    assert ends is not None
    assert truth > 1.1 * swapped
    assert truth <= ends[1][0] + 1e-9


def test_the_realised_size_of_a_batch_is_seen_in_its_mean() -> None:
    """Noise over the size drawn: three records, or two, have another spread, which shows.

    Only sums are covered: the condition says so, and the rate of a Poisson sample divides it.
    """
    cell = 1e-3
    line = np.arange(-12.0, 12.0, cell)
    two, three = (stats.norm.pdf(line, 0, 2 / size) for size in (2, 3))
    truth = np.maximum(two - math.e * three, 0).sum() * cell  # contributions of 0: no shift at all
    claim = Gaussian(sigma=2, sensitivity=L2(1)).guarantee()

    assert truth > 1.1 * claim.delta(epsilon=1).upper
