"""One run with many canaries."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Guesses, OneRun

SIGNIFICANCE = 0.05
BOUND = OneRun(significance=SIGNIFICANCE)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("made", [3, 20, 200])
def test_error_probability_for_randomised_response(epsilon: float, made: int) -> None:
    """Exactly: independent randomised responses, of which every guess is right with bias q."""
    right = stats.binom(made, 1 / (1 + math.exp(-epsilon)))
    error = sum(
        right.pmf(v) for v in range(made + 1) if BOUND.epsilon(Guesses(made, made, v)) > epsilon
    )

    assert error <= SIGNIFICANCE


@pytest.mark.parametrize(("delta", "leaks"), [(1e-4, "each"), (2e-3, "each"), (2e-3, "all")])
def test_error_probability_when_delta_is_used(delta: float, leaks: str) -> None:
    """Exactly: each canary's bit leaks on its own, or all leak together, with probability delta."""
    m, epsilon = 100, 0.5
    honest = 1 / (1 + math.exp(-epsilon))
    refuted = np.array([BOUND.epsilon(Guesses(m, m, v), delta=delta) > epsilon for v in range(101)])
    if leaks == "each":
        error = stats.binom(m, delta + (1 - delta) * honest).pmf(np.arange(101))[refuted].sum()
    else:
        error = (1 - delta) * stats.binom(m, honest).pmf(np.arange(101))[refuted].sum() + delta

    assert error <= SIGNIFICANCE


def test_forgetting_delta_is_seen() -> None:
    """Without paying for delta the same computation errs more often than 5 %."""
    m, epsilon, delta = 100, 0.5, 0.03
    right = stats.binom(m, delta + (1 - delta) / (1 + math.exp(-epsilon)))
    error = sum(right.pmf(v) for v in range(101) if BOUND.epsilon(Guesses(m, m, v)) > epsilon)

    assert error > SIGNIFICANCE


def test_bound_approaches_the_truth() -> None:
    """A million canaries that answer by randomised response show 99 % of epsilon."""
    m = 1_000_000
    guesses = Guesses(m, m, round(m / (1 + math.exp(-1))))

    assert 0.99 < BOUND.epsilon(guesses) < 1
    assert BOUND.epsilon(guesses, delta=1e-9) < BOUND.epsilon(guesses)
    assert BOUND.epsilon(guesses, delta=0.5) == 0.0


def test_nothing_is_shown_by_nothing() -> None:
    """No guess, or none right: 0."""
    assert BOUND.epsilon(Guesses(10, 0, 0)) == 0.0
    assert BOUND.epsilon(Guesses(10, 10, 0)) == 0.0


@pytest.mark.parametrize("numbers", [(5, 6, 1), (5, 4, 5), (5, 4, -1), (5.0, 4, 1)])
def test_refuses_impossible_guesses(numbers: tuple[int, int, int]) -> None:
    """No more right than made, no more made than canaries."""
    with pytest.raises(ParameterError):
        Guesses(*numbers)


def test_delta_is_paid_for_once() -> None:
    """Few canaries and a small delta: the p-value is their product more than at delta 0."""
    guesses = Guesses(100, 100, 70)
    without = BOUND.p_value(guesses, epsilon=0.5)
    assert BOUND.p_value(guesses, epsilon=0.5, delta=1e-6) == pytest.approx(
        without + 1e-4, rel=1e-12
    )
    assert BOUND.p_value(guesses, epsilon=0.5, delta=1e-6) >= without + 1e-4


def test_what_pays_for_delta_is_rounded_up() -> None:
    """At least canaries times delta, exactly, where no guess is removed."""
    for canaries in range(100, 400):
        delta = Fraction(canaries + 1, 3 * 10**8)
        guesses = Guesses(canaries, canaries, canaries)
        p_value = Fraction(BOUND.p_value(guesses, epsilon=0, delta=delta))
        assert canaries * delta <= p_value - Fraction(1, 2**canaries)
        assert p_value <= canaries * delta * (1 + Fraction(1, 10**12))
