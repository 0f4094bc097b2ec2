"""Bounds of mu, of Renyi divergences and of rho, and exact enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant import GDP, PureDP
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Enumeration, EventCounts, GaussianEvent, RenyiEvent

SIGNIFICANCE = 0.05
MU, N = 1.0, 400
GAUSSIAN = GaussianEvent(significance=SIGNIFICANCE)
RENYI = RenyiEvent(significance=SIGNIFICANCE)


def error_probability(exceeds: Callable[[EventCounts], bool], p: float, q: float) -> float:
    """How often a bound exceeds the truth, exactly, for 12 trials on each side."""
    n = 12
    return float(
        sum(
            stats.binom.pmf(k1, n, p) * stats.binom.pmf(k0, n, q)
            for k1 in range(n + 1)
            for k0 in range(n + 1)
            if exceeds(EventCounts(k1, n, k0, n))
        )
    )


@pytest.mark.parametrize("q", [0.02, 0.3, 0.5])
def test_mu_exceeds_the_truth_rarely(q: float) -> None:
    """Exactly, for events of two normal distributions one apart."""
    p = stats.norm.cdf(stats.norm.ppf(q) + MU)

    assert error_probability(lambda c: GAUSSIAN.mu(c) > MU, p, q) <= SIGNIFICANCE


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.1), (0.9, 0.2), (0.05, 0.01)])
def test_divergence_and_rho_exceed_the_truth_rarely(p: float, q: float) -> None:
    """Exactly, for two coins, whose divergence is the sum of two terms."""
    divergence = math.log(p**3 * q**-2 + (1 - p) ** 3 * (1 - q) ** -2) / 2
    error = error_probability(lambda c: RENYI.rdp(c, order=3) > divergence, p, q)
    rho = max(
        math.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1) / a
        for a in (1.01, 1.5, 2, 4, 8)
    )

    assert error <= SIGNIFICANCE
    assert error_probability(lambda c: RENYI.rho(c) > rho, p, q) <= SIGNIFICANCE


def test_bounds_approach_the_truth() -> None:
    """With ten million trials: mu within 1 %, divergence and rho within 1 % of the coins'."""
    n, q = 10_000_000, 0.4
    p = stats.norm.cdf(stats.norm.ppf(q) + MU)
    counts = EventCounts(round(n * p), n, round(n * q), n)
    coins = math.log(p**2 / q + (1 - p) ** 2 / (1 - q))

    assert 0.99 < GAUSSIAN.mu(counts) < 1
    assert 0.99 * coins < RENYI.rdp(counts, order=2) < coins
    assert 0.99 * coins / 2 < RENYI.rho(counts) < 1


def test_nothing_is_shown_by_nothing() -> None:
    """No trials, no hits, everything hit: 0."""
    for counts in ((0, 0, 0, 0), (0, 9, 0, 9), (9, 9, 9, 9), (1, 9, 8, 9)):
        assert GAUSSIAN.mu(EventCounts(*counts)) == 0.0
        assert RENYI.rdp(EventCounts(*counts), order=2) == 0.0
        assert RENYI.rho(EventCounts(*counts)) == 0.0


@pytest.mark.parametrize("order", [1, 0.5, float("inf"), float("nan"), "2"])
def test_refuses_what_is_no_order(order: object) -> None:
    """An order is finite and above 1."""
    with pytest.raises(ParameterError):
        RENYI.rdp(EventCounts(5, 9, 1, 9), order=order)  # type: ignore[arg-type]


def test_enumeration_is_the_sum_over_outputs() -> None:
    """Epsilon and delta equal the textbook sums, outputs of one side only included."""
    p = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    q = {"a": Fraction(1, 4), "b": Fraction(5, 8), "c": Fraction(1, 8)}
    law = Enumeration(p, q)
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        e = math.exp(epsilon)
        forward = max(0.5 - e / 4, 0) + max(0.5 - e * 5 / 8, 0)
        backward = max(0.25 - e / 2, 0) + max(0.625 - e / 2, 0) + 0.125
        bracket = law.delta(epsilon=epsilon)

        assert bracket.lower - 1e-15 <= max(forward, backward) <= bracket.upper + 1e-15
    assert law.epsilon(delta=0).lower == math.inf
    assert law.epsilon(delta=0.13).upper == pytest.approx(math.log(1.48), rel=1e-9)


def test_enumeration_refutes_exactly_what_is_false() -> None:
    """Randomised response of a rational epsilon: just below is refuted, just above is not."""
    law = Enumeration({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75})
    truth = math.log(3)

    assert law.refutes(PureDP(epsilon=truth - 1e-9)) is not None
    assert law.refutes((truth + 1e-9, 0)) is None
    assert law.refutes((0, 0.5)) is None
    assert law.refutes((0, 0.499)) is not None
    assert law.refutes(GDP(mu=1.2)) is not None
    assert law.refutes(GDP(mu=1.4)) is None


def test_a_sampler_in_exact_arithmetic_is_audited_without_samples() -> None:
    """A discrete Laplace sampler truncated to [-5, 5] is not pure: the proof names the point."""
    ratio = Fraction(1, 2)
    weights = {k: ratio ** abs(k) for k in range(-5, 6)}
    total = sum(weights.values())
    first = {k: w / total for k, w in weights.items()}
    second = {k + 1: w / total for k, w in weights.items()}

    assert Enumeration(first, second).refutes((math.log(2), 0)) is not None
    assert Enumeration(first, second).refutes((0.6932, float(first[5]) * 1.01)) is None


@pytest.mark.parametrize("law", [{0: 0.5}, {0: 1.5, 1: -0.5}, {0: "1"}, {}])
def test_refuses_what_is_no_law(law: dict[int, float]) -> None:
    """Probabilities that sum to exactly 1."""
    with pytest.raises(ParameterError):
        Enumeration(law, {0: 1})


def test_numbers_may_be_of_numpy() -> None:
    """Numbers may be numpy's."""
    assert Enumeration({0: np.float64(1.0)}, {0: 1}).epsilon().upper < 1e-12
