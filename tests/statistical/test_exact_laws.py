"""Samples of every exact sampler against its stated law, with fresh entropy.

False alarms: each check alarms on a right sampler with probability at most ALARM = 1e-9, and a run
makes at most 100 checks (the default selection makes fewer), so the whole file is wrong with
probability at most 1e-7 a run. A check of a law counts every cell and every "at most" event, each
binomial, and takes exact two-sided binomial tails with a union bound. A failure prints the seed
that replays it.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof.mechanisms import samplers
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.rng import ReplayRng, Rng

Reals = NDArray[np.float64]
ALARM = 1e-9
DRAWS = 400_000
MANY_DRAWS = 20_000_000
BLOCK = 2_000_000


@dataclass(frozen=True)
class Case:
    """A sampler, edges e_0 < e_1 < ... and P(output <= e_j), increasing."""

    name: str
    draw: Callable[[int, Rng], Integers]
    edges: Reals
    at_most: Reals


def by_masses(
    name: str, draw: Callable[[int, Rng], Integers], low: int, weights: list[float] | Reals
) -> Case:
    """State the law by weights of low, low + 1, ...; the rest must be negligible."""
    masses = np.asarray(weights) / np.sum(weights)
    edges = low + np.arange(len(masses) - 1, dtype=np.float64)
    return Case(name, draw, edges, np.cumsum(masses)[:-1])


def by_distribution(
    name: str, draw: Callable[[int, Rng], Integers], at_most: Callable[[Reals], Reals], edges: Reals
) -> Case:
    """State the law by its distribution function at whole-number edges."""
    whole = np.unique(np.floor(edges))
    return Case(name, draw, whole, at_most(whole))


def geometric_at_most(scale: float) -> Callable[[Reals], Reals]:
    """P(G <= k)."""
    return lambda k: np.where(k < 0, 0.0, -np.expm1(-(k + 1) / scale))


def discrete_laplace_at_most(scale: float) -> Callable[[Reals], Reals]:
    """P(X <= k), both tails without cancellation."""
    r = np.exp(-1 / scale)
    return lambda k: np.where(
        k < 0,
        np.exp(np.minimum(k, 0) / scale) / (1 + r),
        1 - np.exp(-(np.maximum(k, 0) + 1) / scale) / (1 + r),
    )


def near_normal_at_most(sigma: float) -> Callable[[Reals], Reals]:
    """P(X <= k) of the discrete Gaussian; the midpoint rule's error is below 1/sigma^2."""
    return lambda k: stats.norm.cdf((k + 0.5) / sigma)


def rounded_at_most(
    law: stats.rv_continuous, value: float, scale: float, grid: float
) -> Callable[[Reals], Reals]:
    """P(K <= k) of value plus noise rounded to the grid."""
    return lambda k: np.asarray(law.cdf(((k + 0.5) * grid - value) / scale))


LEVELS = np.concatenate([np.linspace(-1, 1, 81), [-20, -12, -8, -4, -2, 2, 4, 8, 12, 20]])
FINE = Fraction(1, 2**20)


def gaussian_weights(sigma: float, reach: int) -> Reals:
    """e^(-x^2 / (2 sigma^2)) on [-reach, reach]."""
    return np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))


def at(
    sampler: Callable[[float | Fraction, int, Rng], Integers], parameter: float | Fraction
) -> Callable[[int, Rng], Integers]:
    """Fix the parameter of an integer sampler."""
    return lambda size, rng: sampler(parameter, size, rng)


def around(
    sampler: Callable[[Reals, Fraction, Fraction, Rng], Integers], value: float, grid: Fraction
) -> Callable[[int, Rng], Integers]:
    """Fix the value and the grid of a rounded sampler, and its scale at 3/2."""
    return lambda size, rng: sampler(np.full(size, value), Fraction(3, 2), grid, rng)


def pairs_of(draw: Callable[[int, Rng], Integers], sides: int) -> Callable[[int, Rng], Integers]:
    """Number the pairs of consecutive outputs, to see dependence between them."""

    def draw_pairs(size: int, rng: Rng) -> Integers:
        values = np.clip(draw(2 * size, rng).astype(np.int64), 0, sides - 1)
        return values[0::2] * sides + values[1::2]

    return draw_pairs


def folded(weights: Reals, reach: int) -> Reals:
    """Add what lies beyond ``reach`` of the middle to the numbers there."""
    middle = len(weights) // 2
    low, high = middle - reach, middle + reach
    ends = [weights[: low + 1].sum(), weights[high:].sum()]
    return np.array([ends[0], *weights[low + 1 : high], ends[1]])


def subsets(size: int, rng: Rng) -> Integers:
    """Number the 10 subsets of 2 among 5 records."""
    number = {pair: i for i, pair in enumerate(itertools.combinations(range(5), 2))}
    drawn = [
        number[tuple(samplers.subset_without_replacement(5, 2, rng).tolist())]
        for _ in range(min(size, DRAWS) // 10)
    ]
    return np.array(drawn)


def many_subsets(size: int, rng: Rng) -> Integers:
    """Return the same of subsets that are drawn together, by their binary numbers 3, 5, ..., 24."""
    rows = samplers.subsets_without_replacement(5, 2, min(size, DRAWS), rng)
    sums = [2**j + 2**i for j in range(5) for i in range(j)]
    return np.asarray(np.searchsorted(sums, (2**rows).sum(axis=1)), dtype=np.int64)


def discrete_cases() -> list[Case]:
    """Samplers on the integers."""
    cases = [
        by_distribution(
            f"geometric({scale})",
            at(samplers.geometric, scale),
            geometric_at_most(scale),
            np.concatenate([np.arange(5), scale * np.abs(LEVELS)]),
        )
        for scale in (0.3, 3.0, 1000.0, 2.0**22 + 0.5, 2.0**55)
    ]
    cases += [
        by_distribution(
            f"discrete_laplace({scale})",
            at(samplers.discrete_laplace, scale),
            discrete_laplace_at_most(scale),
            np.concatenate([np.arange(-5, 5), scale * LEVELS]),
        )
        for scale in (0.2, 5.0, 1e9)
    ]
    cases += [
        by_masses(
            f"discrete_gaussian(sigma={sigma})",
            at(samplers.discrete_gaussian, Fraction(sigma) ** 2),
            -reach,
            gaussian_weights(sigma, reach),
        )
        for sigma, reach in ((0.25, 6), (0.5, 10), (1.0, 20), (3.3, 60), (20.0, 400), (100.0, 2000))
    ]
    cases += [
        by_distribution(
            f"discrete_gaussian(sigma={sigma})",
            at(samplers.discrete_gaussian, Fraction(sigma) ** 2),
            near_normal_at_most(sigma),
            sigma * LEVELS,
        )
        for sigma in (1e6, 1e12)
    ]
    return cases


def rounded_cases() -> list[Case]:
    """Rounded continuous samplers, on a coarse grid and on the default one."""
    laws = [
        ("gaussian_rounded", samplers.gaussian_rounded, stats.norm),
        ("laplace_rounded", samplers.laplace_rounded, stats.laplace),
    ]
    return [
        by_distribution(
            f"{name}(value={value}, grid={grid})",
            around(sampler, value, grid),
            rounded_at_most(law, value, 1.5, float(grid)),
            np.concatenate([np.arange(-4, 5), (value + 1.5 * LEVELS) / float(grid)]),
        )
        for name, sampler, law in laws
        for value in (0.0, 0.3125)
        for grid in (Fraction(1), FINE)
    ]


def choice_cases() -> list[Case]:
    """Coins, categories, responses and subsets."""
    third = np.exp(-1 / 3)
    keep = np.e / (np.e + 4)
    thirds = Fraction(1, 3)
    tops = np.array([0, 1, 5, 40])
    ratio = np.exp(-tops / 7)
    return [
        by_masses("bernoulli", lambda n, rng: 1 * samplers.bernoulli(thirds, n, rng), 0, [2, 1]),
        by_masses(
            "bernoulli_exp",
            lambda n, rng: 1 * samplers.bernoulli_exp(thirds, n, rng),
            0,
            [1 - third, third],
        ),
        by_masses(
            "bernoulli_exp_ratios",
            lambda n, rng: (
                2 * (np.arange(n // 4 * 4) % 4)
                + samplers.bernoulli_exp_ratios(np.tile(tops, n // 4), 7, rng)
            ),
            0,
            np.stack([1 - ratio, ratio], axis=1).ravel(),
        ),
        by_masses(
            "categorical_exp",
            lambda n, rng: samplers.categorical_exp([0, 1, -2, 0.5], n, rng, factor=Fraction(3, 2)),
            0,
            np.exp(1.5 * np.array([0, 1, -2, 0.5])),
        ),
        by_masses(
            "randomized_response",
            lambda n, rng: samplers.randomized_response(np.full(n, 2), 5, 1, rng),
            0,
            np.where(np.arange(5) == 2, keep, (1 - keep) / 4),
        ),
        by_masses("uniform_below", lambda n, rng: samplers.uniform_below(6, n, rng), 0, np.ones(6)),
        by_distribution(
            "uniform_below, large",
            lambda n, rng: samplers.uniform_below(3 * 2**61, n, rng),
            lambda k: k / (3 * 2.0**61),
            np.linspace(0.01, 0.99, 30) * 3 * 2.0**61,
        ),
        by_masses("subset_without_replacement", subsets, 0, np.ones(10)),
        by_masses("subsets_without_replacement", many_subsets, 0, np.ones(10)),
        by_masses(
            "poisson_mask", lambda n, rng: 1 * samplers.poisson_mask(n, 0.01, rng), 0, [99, 1]
        ),
        by_masses(
            "pairs of uniform_below",
            pairs_of(lambda n, rng: samplers.uniform_below(6, n, rng), 6),
            0,
            np.ones(36),
        ),
        by_masses(
            "pairs of discrete_gaussian",
            pairs_of(lambda n, rng: 2 + samplers.discrete_gaussian(1, n, rng), 5),
            0,
            np.outer(ends := folded(gaussian_weights(1, 20), 2), ends).ravel(),
        ),
    ]


CASES = [*discrete_cases(), *rounded_cases(), *choice_cases()]


def counted(case: Case, draws: int, rng: Rng) -> tuple[NDArray[np.int64], int]:
    """Return how many outputs fall in each cell between edges, and how many there were."""
    cells = np.zeros(len(case.edges) + 1, dtype=np.int64)
    for start in range(0, draws, BLOCK):
        outputs = case.draw(min(BLOCK, draws - start), rng).astype(np.float64)
        where = np.searchsorted(case.edges, outputs, side="left")
        cells += np.bincount(where, minlength=len(cells))
    return cells, int(cells.sum())


def least_tail(observed: NDArray[np.int64], total: int, masses: Reals) -> float:
    """Return the least exact two-sided binomial tail over the events."""
    probability = np.clip(masses, 0.0, 1.0)
    lower = stats.binom.cdf(observed, total, probability)
    upper = stats.binom.sf(observed - 1, total, probability)
    return float(2 * np.minimum(lower, upper).min())


def check(case: Case, draws: int) -> None:
    """Raise if some event's count is too far from its law."""
    seed = secrets.randbits(64)
    cells, total = counted(case, draws, ReplayRng(seed))
    masses = np.diff(np.concatenate([[0.0], case.at_most, [1.0]]))
    events = 2 * len(cells)
    tail = min(
        least_tail(cells, total, masses), least_tail(np.cumsum(cells)[:-1], total, case.at_most)
    )
    assert tail >= ALARM / events, f"{case.name}: tail {tail:.3g}, ReplayRng({seed})"


@pytest.mark.some(16)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_outputs_follow_the_law(case: Case) -> None:
    """Every cell and every "at most" event has a plausible count."""
    check(case, DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_outputs_follow_the_law_in_many_draws(case: Case) -> None:
    """The same with a hundred times as many draws."""
    check(case, MANY_DRAWS)


MOMENTS = [
    ("discrete_gaussian", lambda n, rng: samplers.discrete_gaussian(10**8, n, rng), 1e4, 3.0),
    (
        "discrete_laplace",
        lambda n, rng: samplers.discrete_laplace(10**4, n, rng),
        2**0.5 * 1e4,
        6.0,
    ),
    (
        "gaussian_rounded",
        lambda n, rng: samplers.gaussian_rounded(np.zeros(n), 1, FINE, rng),
        2.0**20,
        3.0,
    ),
    (
        "laplace_rounded",
        lambda n, rng: samplers.laplace_rounded(np.zeros(n), 1, FINE, rng),
        2**0.5 * 2.0**20,
        6.0,
    ),
]


@pytest.mark.parametrize(("name", "draw", "deviation", "kurtosis"), MOMENTS)
def test_moments(
    name: str, draw: Callable[[int, Rng], Integers], deviation: float, kurtosis: float
) -> None:
    """Mean and variance lie within 7 standard errors (2.6e-12 each by the normal limit)."""
    seed = secrets.randbits(64)
    z = draw(DRAWS, ReplayRng(seed)).astype(np.float64) / deviation
    mean = z.mean() * DRAWS**0.5
    variance = ((z**2).mean() - 1) * (DRAWS / (kurtosis - 1)) ** 0.5
    assert abs(mean) < 7, f"{name}: mean {mean:.2f} standard errors, ReplayRng({seed})"
    assert abs(variance) < 7, f"{name}: variance {variance:.2f}, ReplayRng({seed})"


def test_the_checks_can_fail() -> None:
    """A law that is wrong by four percent of one mass is found."""
    wrong = by_masses(
        "wrong", lambda n, rng: samplers.uniform_below(6, n, rng), 0, [1, 1, 1, 1, 1, 1.04]
    )
    with pytest.raises(AssertionError, match="wrong: tail"):
        check(wrong, DRAWS)
