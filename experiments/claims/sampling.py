"""Sampling schemes and correlated noise: numbers of one case that are used for another."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import (
    L2,
    BallsInBins,
    L2Contribution,
    Poisson,
    RandomAllocation,
    UserPoisson,
    WithoutReplacement,
)
from dpproof.mechanisms import (
    FixedEpochs,
    Gaussian,
    LowerTriangular,
    MatrixMechanism,
    MinSeparation,
    Toeplitz,
)
from dpproof.rounding import above, below
from experiments.claims.claim import Claim, Verdict

DELTA = 1e-6


def accumulated() -> str:
    """Compare micro-batches added up with one Poisson sample of as many times the rate."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1))
    printed = noise.subsample(Poisson(sampling_rate=0.04)).repeat(100).guarantee()
    scheme = UserPoisson(sampling_rate=0.01, contributions=4)
    found = noise.subsample(scheme).repeat(100).guarantee()
    most, least = printed.epsilon(delta=DELTA).upper, found.epsilon(delta=DELTA).lower
    assert found.attained
    assert least > 1.08 * most
    return (
        f"four micro-batches of rate 0.01, noise 1, 100 steps, delta 1e-6: printed "
        f"{above(most, 4)}, true at least {below(least, 4)}"
    )


def kept_bins() -> str:
    """Compare four epochs of one draw with four draws."""
    noise = Gaussian(sigma=2, sensitivity=L2(1))
    kept = noise.allocate(BallsInBins(steps=100, epochs=4)).guarantee().epsilon(delta=DELTA)
    fresh = noise.allocate(RandomAllocation(steps=100)).repeat(4).guarantee()
    most = fresh.epsilon(delta=DELTA).upper
    assert kept.lower > 2 * most
    return (
        f"100 rounds, noise 2, 4 epochs, delta 1e-6: {above(most, 4)} for draws anew, "
        f"at least {below(kept.lower, 4)} for the one draw that is kept"
    )


def fixed_size() -> str:
    """Compare subsets of a fixed size with Poisson samples of their rate, under add-remove."""
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(1))
    subset = noise.subsample(WithoutReplacement(sample_size=10, population_size=1000)).guarantee()
    poisson = noise.subsample(Poisson(sampling_rate=0.01)).guarantee()
    least, most = subset.epsilon(delta=DELTA).lower, poisson.epsilon(delta=DELTA).upper
    assert subset.attained
    assert least > 8 * most
    return (
        f"10 of 1,000 records, noise 2, one step, delta 1e-6: printed {above(most, 4)}, true at "
        f"least {below(least, 4)}, as a record takes the place of another"
    )


def partial_batch() -> str:
    """Compare two shuffled batches under add-remove, the last of one record, with no shuffling."""
    sigma, ratio, full = 0.5, 300.0, 50
    printed = Gaussian(sigma=sigma, sensitivity=L2(1)).guarantee().delta(epsilon=math.log(ratio))
    # One record of +1 and 50 of -1; without it the last batch is empty, and released all the same.
    # With it one of the others is last: sums move by (2, -1), but for one place of 51.
    shift = math.sqrt(5) / sigma
    cut = math.log(ratio) / shift + shift / 2
    mass, false = (math.erfc((cut - mean) / math.sqrt(2)) / 2 for mean in (shift, 0.0))
    found = full / (full + 1) * mass - ratio * false
    assert found > 0.74
    assert printed.upper < 0.015
    return (
        f"{full + 1} records in a batch of {full} and one of 1, noise {sigma}, epsilon ln 300: "
        f"delta printed {above(printed.upper, 3)}, true at least {below(found, 3)}"
    )


def signs() -> str:
    """Compare the worst signs with the sensitivity over vectors, for columns at 120 degrees."""
    half = math.sqrt(3) / 2
    rows = [[1 / 64, 0, 0], [-half, half, 0], [-0.5, -0.5, 1]]
    factor = np.array(rows)
    best = max(np.linalg.norm(factor @ one) for one in itertools.product((-1, 1), repeat=3))
    angles = 2 * math.pi * np.arange(3) / 3
    moved = factor @ np.column_stack([np.cos(angles), np.sin(angles)])
    found = float(np.linalg.norm(moved))
    noise = MatrixMechanism(
        factor=LowerTriangular(rows), sigma=1, sensitivity=L2(1), participation=FixedEpochs(3)
    )
    stated = math.sqrt(noise.guarantee().mu_squared)
    assert best < 2.001
    assert 2.121 < found <= stated < found * (1 + 1e-6)
    return (
        f"three columns at 120 degrees: signs {above(float(best), 4)}, vectors of a plane "
        f"{below(found, 4)}"
    )


def first_pattern() -> str:
    """Compare the first pattern with the worst one, for coefficients that rise."""
    factor = Toeplitz([1, 0, 0, 3], rounds=8)
    dense = np.array(factor.matrix(), dtype=np.float64)
    first, worst = (float(np.linalg.norm(dense[:, one].sum(axis=1))) for one in _patterns(dense))
    noise = MatrixMechanism(
        factor=factor, sigma=1, sensitivity=L2(1), participation=MinSeparation(2)
    )
    stated = math.sqrt(noise.guarantee().mu_squared)
    assert first < 5.568
    assert 6.082 < worst <= stated * (1 + 1e-12)
    return (
        f"coefficients 1, 0, 0, 3, eight rounds, separation 2: first pattern {above(first, 4)}, "
        f"the worst {below(worst, 4)}"
    )


def _patterns(dense: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Return rounds 0, 2, 4, 6, and the rounds at least two apart of the largest column sum."""
    some = (
        [place for place in range(8) if code >> place & 1]
        for code in range(1, 256)
        if not code & code >> 1
    )
    return [0, 2, 4, 6], max(some, key=lambda one: float(np.linalg.norm(dense[:, one].sum(axis=1))))


CLAIMS = (
    Claim(
        title="A micro-batches of rate q, added up, cost what a Poisson sample of rate Aq costs",
        source="training loops that pass the rate of a whole step to an accountant while each "
        "micro-batch is sampled by itself; the true mixture is that of Ganesh, arXiv:2401.10294",
        printed="the epsilon of Poisson accounting at A times the rate",
        verdict=Verdict.FALSE,
        check=accumulated,
        shipped="`UserPoisson`: a record may count several times",
    ),
    Claim(
        title="Epochs of balls in bins compose like allocations drawn anew",
        source="training loops that draw the bins once, as BallsInBinsSampling of jax-privacy "
        "does, accounted for by epochs of random allocation",
        printed="E times the cost of one epoch, composed",
        verdict=Verdict.FALSE,
        check=kept_bins,
        shipped="`BallsInBins`: one allocation with less noise",
    ),
    Claim(
        title="Random batches of a fixed size cost what Poisson samples cost under add-remove",
        source="training loops that draw exactly m of n records, accounted for at rate m/n",
        printed="the epsilon of Poisson accounting",
        verdict=Verdict.FALSE,
        check=fixed_size,
        shipped="`WithoutReplacement` under add-remove, with an `L2Contribution`",
    ),
    Claim(
        title="Shuffled batches without amplification cost one noisy sum an epoch under add-remove",
        source="the rule that each record is in one batch of an epoch, applied where one record "
        "less moves another into the last batch",
        printed="1/noise-GDP an epoch",
        verdict=Verdict.FALSE,
        check=partial_batch,
        shipped="`ShuffledBatches` under zero-out and replace-one alone",
    ),
    Claim(
        title="Contributions of either sign are worst for the sensitivity of a factor",
        source="the largest norm over signs, which is enough where products of columns are not "
        "negative (Choquette-Choo et al., arXiv:2211.06530, section 2), used for any factor",
        printed="the largest norm of C u over u in {-1, 1}",
        verdict=Verdict.FALSE,
        check=signs,
        shipped="`MatrixMechanism`: a dual certificate over vectors",
    ),
    Claim(
        title="Rounds 1, 1 + b, 1 + 2b, … are the worst of a Toeplitz factor",
        source="Kalinin & Lampert, arXiv:2405.13763, Theorem 2, without its condition that the "
        "coefficients fall",
        printed="the norm of the sum of these columns",
        verdict=Verdict.FALSE,
        check=first_pattern,
        shipped="`MatrixMechanism`: the falling envelope of the coefficients, or every pattern",
    ),
)
