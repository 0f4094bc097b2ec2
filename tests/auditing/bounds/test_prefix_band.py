"""The band over all thresholds: its error probability, computed exactly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import PrefixBand, PrefixCounts, RandomisedLabel
from dpproof.auditing.bounds.curves import band_of, leaving_probability
from dpproof.auditing.counts import logistic_up

SIGNIFICANCE = 0.05
PREFIXES = (8, 11, 14)


def walks(prefixes: tuple[int, ...], bias: float) -> list[tuple[tuple[int, ...], float]]:
    """Every path of hits with its probability, coin by coin in exact arithmetic."""
    exact = Fraction(bias)
    steps = np.diff([0, *prefixes])
    paths: list[tuple[tuple[int, ...], Fraction]] = [((0,), Fraction(1))]
    for step in (int(s) for s in steps):
        law = [
            (h, math.comb(step, h) * exact**h * (1 - exact) ** (step - h)) for h in range(step + 1)
        ]
        paths = [
            ((*path, path[-1] + h), weight * mass)
            for (path, weight), (h, mass) in itertools.product(paths, law)
        ]
    return [(path[1:], float(weight)) for path, weight in paths]


def counted(path: tuple[int, ...], inside: tuple[int, ...] = PREFIXES) -> PrefixCounts:
    """A path as counts."""
    return PrefixCounts(inside, path, max(30, path[-1]), 30)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 0.9])
def test_error_probability_is_at_most_the_significance(epsilon: float) -> None:
    """Exactly, over every path of the walk with the claimed bias; and not far below it."""
    band = PrefixBand(significance=SIGNIFICANCE)
    bias = 1 / (1 + math.exp(-epsilon))
    error = sum(
        weight
        for path, weight in walks(PREFIXES, bias)
        if band.refutes(counted(path), epsilon=epsilon)
    )

    assert 0.01 < error <= SIGNIFICANCE


@pytest.mark.parametrize("epsilon", [0.3, 1.2])
def test_lower_bound_exceeds_the_truth_rarely(epsilon: float) -> None:
    """Exactly: the bound, which is another computation than the test, errs at most 5 %."""
    band = PrefixBand(significance=SIGNIFICANCE)
    inside = (8, 13)
    error = sum(
        weight
        for path, weight in walks(inside, 1 / (1 + math.exp(-epsilon)))
        if band.epsilon(counted(path, inside)) > epsilon
    )

    assert error <= SIGNIFICANCE


def test_looking_at_every_prefix_without_paying_is_seen() -> None:
    """The best of the single bounds errs more often than 5 % in the same computation."""
    single = RandomisedLabel(significance=SIGNIFICANCE)
    error = sum(
        weight
        for path, weight in walks(PREFIXES, 0.5)
        if any(single.refutes(counted(path).event(j), epsilon=0) for j in range(len(PREFIXES)))
    )

    assert error > SIGNIFICANCE


@pytest.mark.parametrize("bias", [0.5, 0.7, 0.95])
@pytest.mark.parametrize("level", [0.2, 0.02])
def test_leaving_probability_is_the_sum_over_walks(bias: float, level: float) -> None:
    """The recursion equals the enumeration of all paths, and is not below it."""
    inside = np.array(PREFIXES, dtype=float)
    edges = band_of(inside, bias, level)
    truth = sum(
        weight
        for path, weight in walks(PREFIXES, bias)
        if any(h >= edge for h, edge in zip(path, edges, strict=True))
    )

    assert truth <= leaving_probability(inside, edges, bias) <= truth * (1 + 1e-5) + 1e-14


def test_long_steps_give_the_same_as_short_ones() -> None:
    """Convolution by Fourier transforms, for long steps, agrees with a Monte Carlo walk."""
    rng = np.random.default_rng(7)
    inside = np.array([200_000.0, 2_000_000.0])
    bias = logistic_up(0.3)
    edges = band_of(inside, bias, 0.02)
    first = rng.binomial(200_000, bias, size=400_000)
    second = first + rng.binomial(1_800_000, bias, size=400_000)
    seen = float(np.mean((first >= edges[0]) | (second >= edges[1])))

    assert leaving_probability(inside, edges, bias) == pytest.approx(seen, abs=5 * 0.0003)


def test_bound_approaches_the_truth() -> None:
    """With a million trials of randomised response the bound is within 1 % of epsilon."""
    n, bias = 1_000_000, 1 / (1 + math.exp(-1))
    inside = (n // 4, n // 2, n)
    hits = tuple(round(k * bias) for k in inside)
    lower = PrefixBand(significance=SIGNIFICANCE).epsilon(PrefixCounts(inside, hits, n, n))

    assert 0.99 < lower < 1


def test_delta_is_paid_for() -> None:
    """With a delta the bound is smaller, and nothing is left when delta explains every hit."""
    counts = PrefixCounts((40, 200, 1_000), (40, 170, 700), 1_000, 1_000)
    band = PrefixBand(significance=SIGNIFICANCE)
    bounds = [band.epsilon(counts, delta=delta) for delta in (0, 1e-3, 0.05, 0.9)]

    assert bounds[0] > bounds[1] > bounds[2]
    assert bounds[3] == 0.0


def test_short_prefixes_show_nothing() -> None:
    """Fewer than eight trials are not looked at."""
    assert PrefixBand(significance=0.4).epsilon(PrefixCounts((7,), (7,), 10, 10)) == 0.0


@pytest.mark.parametrize(
    ("inside", "hits"),
    [((5, 3), (1, 1)), ((3, 5), (2, 1)), ((3, 5), (0, 3)), ((3,), (1, 2)), ((3,), (4,))],
)
def test_refuses_counts_that_are_not_nested(inside: tuple[int, ...], hits: tuple[int, ...]) -> None:
    """Prefixes grow, hits grow with them and no faster."""
    with pytest.raises(ParameterError):
        PrefixCounts(inside, hits, 10, 10)
