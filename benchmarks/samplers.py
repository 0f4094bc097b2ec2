"""Print draws a second of processor time: ``python benchmarks/samplers.py``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dpproof.accountant import L1, AddRemove, LInf
from dpproof.mechanisms import (
    AboveThreshold,
    CanonicalNoise,
    CorrelatedGaussian,
    GaussianAboveThreshold,
    LocalHashing,
    PermuteAndFlip,
    Rappor,
    ReportNoisyMax,
    Staircase,
    SubsetSelection,
    TruncatedLaplace,
    UnaryEncoding,
    samplers,
)
from dpproof.mechanisms.samplers.rng import SystemRng, geometric_ratio
from dpproof.mechanisms.samplers.rounded import cauchy_rounded

DRAWS = 1_000_000
ROUNDS = 3


def cases(rng: SystemRng) -> dict[str, Callable[[], object]]:
    """Return one call of each sampler, a million outputs each."""
    zeros = np.zeros(DRAWS)
    values = np.random.default_rng(1).normal(size=DRAWS) * 1e3
    answers = np.random.default_rng(2).integers(0, 10, size=DRAWS)
    grid = samplers.default_granularity(Fraction(1))
    scores = np.random.default_rng(3).normal(size=1000)
    tops = np.arange(DRAWS)
    one, five = L1(100), [0.0, 1.0, 2.0, 1.0, 0.0]
    staircase = Staircase(epsilon=1, sensitivity=one)
    canonical = CanonicalNoise(epsilon=1, delta=1e-6, sensitivity=one)
    truncated = TruncatedLaplace(epsilon=1, delta=1e-6, sensitivity=L1(1))
    correlated = CorrelatedGaussian([[4, 3], [3, 4]], sensitivity=one)
    noisy, flip = (
        ReportNoisyMax(epsilon=1, sensitivity=LInf(1)),
        PermuteAndFlip(epsilon=1, sensitivity=LInf(1)),
    )
    above = AboveThreshold(threshold_scale=2, query_scale=4, sensitivity=LInf(1))
    normal = GaussianAboveThreshold(
        threshold_sigma=2, query_sigma=4, queries=5, sensitivity=LInf(1)
    )
    return {
        **reports(),
        "bernoulli(1/3)": lambda: samplers.bernoulli(Fraction(1, 3), DRAWS, rng),
        "bernoulli_exp(1/3)": lambda: samplers.bernoulli_exp(Fraction(1, 3), DRAWS, rng),
        "bernoulli_exp_ratios": lambda: samplers.bernoulli_exp_ratios(tops, DRAWS // 3, rng),
        "uniform_below(10)": lambda: samplers.uniform_below(10, DRAWS, rng),
        "geometric(100)": lambda: samplers.geometric(100, DRAWS, rng),
        "geometric(1e9)": lambda: samplers.geometric(10**9, DRAWS, rng),
        "discrete_laplace(10)": lambda: samplers.discrete_laplace(10, DRAWS, rng),
        "discrete_gaussian(sigma 1e-2)": lambda: samplers.discrete_gaussian(1e-4, DRAWS, rng),
        "discrete_gaussian(sigma 10)": lambda: samplers.discrete_gaussian(100, DRAWS, rng),
        "discrete_gaussian(sigma 1e6)": lambda: samplers.discrete_gaussian(10**12, DRAWS, rng),
        "discrete_gaussian(sigma 1e9)": lambda: samplers.discrete_gaussian(10**18, DRAWS, rng),
        "skellam(variance 100)": lambda: samplers.skellam(100, DRAWS, rng),
        "skellam(variance 1e6)": lambda: samplers.skellam(10**6, DRAWS, rng),
        "geometric_ratio(9/10)": lambda: geometric_ratio(Fraction(9, 10), DRAWS, rng),
        "cauchy_rounded(0)": lambda: cauchy_rounded(zeros, 1, grid, rng),
        "staircase noise": lambda: staircase.release_many(0, DRAWS),
        "canonical noise": lambda: canonical.release_many(0, DRAWS),
        "truncated Laplace noise": lambda: truncated.release_many(0, DRAWS),
        "correlated Gaussian noise, 2 numbers": lambda: correlated.release_many([0, 0], DRAWS),
        "report noisy max of 5": lambda: noisy.release_many(five, DRAWS),
        "permute-and-flip of 5": lambda: flip.release_many(five, DRAWS),
        "above threshold, 5 queries": lambda: above.release_many(five, DRAWS),
        "normal noise, 5 queries": lambda: normal.release_many(five, DRAWS),
        "gaussian_rounded(0)": lambda: samplers.gaussian_rounded(zeros, 1, grid, rng),
        "gaussian_rounded(values)": lambda: samplers.gaussian_rounded(values, 1, grid, rng),
        "laplace_rounded(values)": lambda: samplers.laplace_rounded(values, 1, grid, rng),
        "categorical_exp(10)": lambda: samplers.categorical_exp(scores[:10], DRAWS, rng),
        "categorical_exp(1000)": lambda: samplers.categorical_exp(scores, DRAWS, rng),
        "randomized_response(10)": lambda: samplers.randomized_response(answers, 10, 1, rng),
        "poisson_mask(1/100)": lambda: samplers.poisson_mask(DRAWS, Fraction(1, 100), rng),
        "subset(half)": lambda: samplers.subset_without_replacement(DRAWS, DRAWS // 2, rng),
    }


def reports() -> dict[str, Callable[[], object]]:
    """Return one call of each local report of ten categories, a million reports each."""
    made = {
        "unary encoding of 10": UnaryEncoding(epsilon=1, categories=10, relation=AddRemove()),
        "RAPPOR of 10": Rappor(
            f=Fraction(1, 2), one=0.75, zero=0.5, categories=10, relation=AddRemove()
        ),
        "local hashing of 10": LocalHashing(epsilon=1, categories=10, relation=AddRemove()),
        "subset selection of 10": SubsetSelection(epsilon=1, categories=10, relation=AddRemove()),
    }
    return {name: partial(one.release_many, 3, DRAWS) for name, one in made.items()}


def main() -> None:
    """Time every case and print its best rate of a few rounds."""
    for name, run in cases(SystemRng()).items():
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.process_time()
            run()
            best = min(best, time.process_time() - start)
        print(f"{name:32s} {DRAWS / best / 1e6:8.2f} million a second")


if __name__ == "__main__":
    main()
