"""Tails and limits against 50 digits, and their direction."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpproof.auditing.counts import (
    exp_up,
    logistic_up,
    lower_limit,
    masses_up,
    quantile,
    tail_up,
    upper_limit,
)

CASES = [(1, 10, 0.3), (7, 10, 0.3), (10, 10, 0.9), (300, 1_000, 0.25), (1_100, 2_000, 0.5)]


def exact_tail(k: int, n: int, p: float) -> mpmath.mpf:
    """Pr(Bin(n, p) >= k) with 50 digits."""
    with mpmath.workdps(50):
        exact = mpmath.mpf(p)
        ratio = exact / (1 - exact)
        term = math.comb(n, k) * exact**k * (1 - exact) ** (n - k)
        total = mpmath.mpf(0)
        for j in range(k, n + 1):
            total += term
            term *= ratio * (n - j) / (j + 1)
        return total


@pytest.mark.parametrize(("k", "n", "p"), CASES)
def test_tail_is_just_above_the_truth(k: int, n: int, p: float) -> None:
    """At or above 50 digits, by less than 1e-8 of it."""
    truth = exact_tail(k, n, p)

    assert truth <= float(tail_up(k, n, p)) <= truth * (1 + mpmath.mpf("1e-8"))


def test_tail_at_the_ends() -> None:
    """Nothing to reach is certain; more than all trials is impossible."""
    assert tail_up([0, -3, 11], 10, 0.5).tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(("k", "n"), [(1, 10), (10, 10), (0, 10), (300, 1_000), (1_900, 2_000)])
@pytest.mark.parametrize("significance", [0.05, 1e-6])
def test_limits_invert_the_tails(k: int, n: int, significance: float) -> None:
    """At the lower limit the tail is at most the significance, and almost it; likewise above."""
    low, high = float(lower_limit(k, n, significance)), float(upper_limit(k, n, significance))
    if k:
        assert significance * (1 - 1e-5) <= exact_tail(k, n, low) <= significance
    else:
        assert low == 0.0
    if k < n:
        below = exact_tail(n - k, n, 1 - high)
        assert significance * (1 - 1e-5) <= below <= significance * (1 + 1e-12)
    else:
        assert high == 1.0


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.3, 5.0, 50.0])
def test_logistic_and_exponential_round_up(epsilon: float) -> None:
    """At or above 50 digits, by at most 1e-14 of it."""
    with mpmath.workdps(50):
        exponential = mpmath.exp(epsilon)
        bias = exponential / (1 + exponential)
    assert exponential <= exp_up(epsilon) <= exponential * (1 + mpmath.mpf("1e-14"))
    assert bias <= logistic_up(epsilon) <= bias * (1 + mpmath.mpf("1e-14"))


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (40, 1e-9), (1_024, 0.5), (4_096, 0.97)])
def test_masses_are_just_above_the_truth(n: int, p: float) -> None:
    """At or above 50 digits, by less than 2e-9 of it; all of them are there."""
    (masses,) = masses_up(n, np.array([p]))
    with mpmath.workdps(50):
        for k in {0, 1, n // 3, n // 2, round(n * p), n}:
            truth = mpmath.binomial(n, k) * mpmath.mpf(p) ** k * (1 - mpmath.mpf(p)) ** (n - k)
            if truth > 1e-300:
                assert truth <= masses[k] <= truth * (1 + mpmath.mpf("2e-9"))

    assert masses.size == n + 1
    assert masses.sum() == pytest.approx(1)


def test_masses_of_what_is_certain() -> None:
    """All of it at one end."""
    never, always = masses_up(9, np.array([0.0, 1.0]))

    assert never[0] == pytest.approx(1)
    assert always[9] == pytest.approx(1)
    assert never[1:].max() < 1e-200
    assert always[:9].max() < 1e-14


@pytest.mark.parametrize("p", [0.0, 1e-300, 0.01, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("n", [0, 1, 30, 1_000])
def test_quantile_is_the_smallest(n: int, p: float) -> None:
    """As scipy's statistics have it."""
    for probability in (0.025, 0.5, 0.975):
        assert quantile(probability, n, p) == max(stats.binom.ppf(probability, n, p), 0)


def test_limits_next_to_one_are_rounded_up() -> None:
    """The complement of a limit of 1e-12 is rounded by more than the limit's margin."""
    for trials in range(100_000, 100_200):
        limit = float(upper_limit(trials - 1, trials, 1e-7))
        with mpmath.workdps(50):
            few = -mpmath.expm1(trials * mpmath.log(mpmath.mpf(limit)))
        assert few <= 1e-7


def test_no_tail_is_zero() -> None:
    """Pr(Bin(10, 1e-100) >= 9) is 1e-899, which is not 0."""
    assert float(tail_up(9, 10, 1e-100)) > 0.0
