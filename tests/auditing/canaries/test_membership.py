"""Bounds from membership scores, their error probability, and plans."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof import auditing
from dpproof.accountant import GDP
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.auditing import Design, EventCounts, Outcome, PrefixBand, PrefixCounts
from dpproof.auditing.counts import ClaimRefuted

Rng = np.random.Generator
Scores = NDArray[np.float64]
Coins = NDArray[np.bool_]
REPEATS, MOST_ALARMS = 1_000, 69


def responses(coins: Coins, rng: Rng, epsilon: float, delta: float) -> Scores:
    """Randomised responses, each of which tells its coin with probability delta."""
    honest = np.where(rng.random(coins.size) < 1 / (1 + math.exp(-epsilon)), coins, ~coins)
    told = rng.random(coins.size) < delta
    return np.where(told, 4.0 * coins - 2.0, honest) + 0.1 * rng.random(coins.size)


def all_or_nothing(coins: Coins, rng: Rng, epsilon: float, delta: float) -> Scores:
    """Every coin is told at once with probability delta: canaries that are not independent."""
    if rng.random() < delta:
        return np.where(coins, 2.0, 0.0)
    return responses(coins, rng, epsilon, 0.0)


def gaussians(coins: Coins, rng: Rng, mu: float) -> Scores:
    """Noise of its own for every canary."""
    return np.asarray(mu * coins + rng.normal(size=coins.size))


CONTROLS: dict[str, tuple[Callable[[Coins, Rng], Scores], Any]] = {
    "null": (lambda c, r: r.random(c.size), (0, 0)),
    "all tie": (lambda c, _: np.zeros(c.size), (0, 0)),
    "response 1": (lambda c, r: responses(c, r, 1, 0), (1, 0)),
    "response 1, delta 0.002": (lambda c, r: responses(c, r, 1, 2e-3), (1, 2e-3)),
    "all leak, delta 0.03": (lambda c, r: all_or_nothing(c, r, 1, 0.03), (1, 0.03)),
    "gaussian 1": (lambda c, r: gaussians(c, r, 1), GDP(mu=1)),
    "one noise for all": (lambda c, r: c + r.normal() + 0.1 * r.normal(size=c.size), GDP(mu=11)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTROLS)
def test_false_alarms(name: str) -> None:
    """At most 69 alarms of 1,000, of curves 27 of 300, at 5 % where the claim is exactly true."""
    draw, claim = CONTROLS[name]
    rng, alarms = np.random.default_rng(7), 0
    repeats, most = (300, 27) if isinstance(claim, GDP) else (REPEATS, MOST_ALARMS)
    for _ in range(repeats):
        coins = rng.integers(0, 2, 120) == 1
        report = auditing.bound_membership(draw(coins, rng), coins, claim)
        alarms += report.outcome is Outcome.VIOLATION
        alarms += report.outcome is not Outcome.VIOLATION and (
            report.epsilon_lower > report.plan.epsilon_claimed
        )
    interval = stats.binomtest(alarms, repeats).proportion_ci(0.99)

    assert alarms <= most, f"{alarms} of {repeats}: {interval}"


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.5, 1e-3)])
def test_error_probability_of_the_band(epsilon: float, delta: float) -> None:
    """Exactly, for 16 canaries of which 8 or 16 are guessed, independent or all told at once."""
    bias = 1 / (1 + math.exp(-epsilon))
    band = PrefixBand(significance=0.05)
    honest, told = stats.binom(8, bias), 0.0
    for h in range(9):
        for more in range(9):
            counts = PrefixCounts((8, 16), (h, h + more), 16, 0, Design.ONE_RUN)
            alarm = band.epsilon(counts, delta=delta) > epsilon
            told += alarm * (
                (1 - delta) * honest.pmf(h) * honest.pmf(more) + delta * (h + more == 16)
            )

    assert told <= 0.05


def test_marks_of_one_run_are_not_independent() -> None:
    """All coins are told at once with probability 3 %: paying for a binomial would not do."""
    everything = (50, 100), (50, 100)
    one_run = PrefixBand(significance=0.01).epsilon(
        PrefixCounts(*everything, 100, 0, Design.ONE_RUN), delta=0.03
    )
    independent = PrefixBand(significance=0.01).epsilon(
        PrefixCounts(*everything, 100, 0, Design.GUESSES), delta=0.03
    )

    assert one_run == 0.0 < independent
    with pytest.raises(ParameterError, match="PrefixCounts"):
        EventCounts(5, 10, 5, 10, Design.ONE_RUN)


def test_order_of_canaries_tells_nothing() -> None:
    """Members listed first and a constant score: about half of the guesses are right."""
    coins = np.arange(1_000) < 500
    report = auditing.bound_membership(np.zeros(1_000), coins, (1, 0))

    assert 400 < report.right[-1] < 600
    assert "exactly half" in report.notes[0]


def test_order_of_ties_is_that_of_nobodys_coins() -> None:
    """Scores that tell nothing refute nothing, whatever small seed halved the canaries."""
    scores = np.random.default_rng(99).integers(0, 2, 400)
    for seed in range(3):
        halves = np.random.default_rng(seed).permutation(400)[:200]
        for coins in (np.isin(np.arange(400), halves), ~np.isin(np.arange(400), halves)):
            assert auditing.bound_membership(scores, coins, (1, 0)).outcome is Outcome.NO_EVIDENCE


def test_refutes_leaks_and_shows_most_of_what_is_there() -> None:
    """Clear scores refute; tight ones show as much as was planned."""
    rng = np.random.default_rng(3)
    coins = rng.integers(0, 2, 2_000) == 1
    tight = auditing.bound_membership(gaussians(coins, rng, 1), coins, GDP(mu=1))
    broken = auditing.bound_membership(gaussians(coins, rng, 2), coins, GDP(mu=1))
    point = auditing.bound_membership(responses(coins, rng, 2, 0), coins, (1, 0))

    assert tight.outcome is Outcome.NO_EVIDENCE
    assert tight.plan.mu is not None
    assert tight.mu_lower is not None
    assert 0.5 < tight.plan.mu < tight.mu_lower < 1
    assert broken.outcome is point.outcome is Outcome.VIOLATION
    assert 1.7 < point.epsilon_lower < 2
    with pytest.raises(ClaimRefuted, match="2,000"):
        broken.require()
    assert json.loads(tight.require().to_json())["outcome"] == "no_evidence"
    assert "mu >=" in str(tight)


def test_few_canaries_are_inconclusive() -> None:
    """Where all guesses right would not refute, nothing is concluded."""
    coins = np.arange(10) % 2 == 0
    for claim in ((8, 0), GDP(mu=8)):
        report = auditing.bound_membership(coins * 1.0, coins, claim)
        assert report.outcome is Outcome.INCONCLUSIVE
    assert auditing.bound_membership([1.0], [1], (1, 0)).made == ()


@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_another_delta_than_the_claimed_one(delta: float) -> None:
    """A point can be asked elsewhere on what it implies."""
    assert auditing.plan_canaries((1, 1e-5), 100, delta=delta).delta == delta


@pytest.mark.slow
def test_plan_is_kept_by_the_ideal_attack() -> None:
    """At least 82 of 100 ideal runs show what is promised with 90 % probability."""
    rng, promised = np.random.default_rng(5), auditing.plan_canaries((2, 0), 500).epsilon
    shown = []
    for _ in range(100):
        coins = rng.integers(0, 2, 500) == 1
        scores = responses(coins, rng, 2, 0)
        shown.append(auditing.bound_membership(scores, coins, (2, 0)).epsilon_lower)

    assert np.count_nonzero(np.array(shown) >= promised) >= 82
    assert "500 canaries in one run show epsilon >= 1.57" in str(
        auditing.plan_canaries((2, 0), 500)
    )


@pytest.mark.parametrize(
    ("scores", "coins"),
    [([1.0, math.nan], [0, 1]), ([1.0], [0, 1]), (["a", "b"], [0, 1]), ([1.0, 2.0], [0, 3])],
)
def test_refuses_what_are_no_scores_or_coins(scores: list[float], coins: list[int]) -> None:
    """Finite numbers, one for each coin."""
    with pytest.raises(DataError):
        auditing.bound_membership(scores, coins, (1, 0))
