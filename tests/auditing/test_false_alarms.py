"""A thousand repeats of every bound on controls where the claim is exactly true.

At a significance of 5 % more than 69 alarms of 1,000 have probability 0.3 % at the worst rate that
is allowed. Seeds are fixed: what is tested is the bound, not luck. Whole audits are repeated in
``test_false_alarms_of_audits.py``.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant import GDP
from dpproof.auditing import (
    BinCounts,
    ConfidenceSequence,
    Design,
    EventCounts,
    GaussianEvent,
    Guesses,
    OneRunCurve,
    PrefixBand,
    PrefixCounts,
    RandomisedLabel,
    Rectangle,
    RenyiBins,
    RenyiEvent,
    TradeOffRegion,
    TwoSample,
)
from dpproof.auditing.bounds.curves import contradicts
from dpproof.auditing.bounds.event_bound import EventBound
from dpproof.auditing.counts import gaussian

pytestmark = pytest.mark.slow

REPEATS, MOST_ALARMS, SIGNIFICANCE = 1_000, 69, 0.05
EVENTS = [
    (0.0, 0.0, 0.3, 1_000),
    (0.0, 0.0, 1.0, 400),  # all outputs tie
    (0.0, 0.0, 0.04, 20),  # hardly anything is counted
    (0.1, 0.0, 0.002, 4_000),
    (1.0, 0.0, 0.05, 2_000),
    (1.0, 0.0, 0.27, 10_000),
    (1.0, 0.001, 0.05, 4_000),
    (1.0, 0.01, 0.2, 4_000),
    (3.0, 0.0, 0.04, 1_000),
    (0.0, 0.38, 0.31, 2_000),
]
BOUNDS = [
    RandomisedLabel(significance=SIGNIFICANCE),
    Rectangle(significance=SIGNIFICANCE),
    TwoSample(significance=SIGNIFICANCE, weight=2),
]


@pytest.mark.parametrize(
    ("bound", "event"),
    [
        *((BOUNDS[0], event) for event in EVENTS),
        *((bound, event) for bound in BOUNDS[1:] for event in EVENTS[::2]),
    ],
    ids=lambda item: str(item) if isinstance(item, tuple) else type(item).__name__,
)
def test_event_bounds(bound: EventBound, event: tuple[float, float, float, int]) -> None:
    """At most 69 alarms on the least favourable event."""
    epsilon, delta, q, trials = event
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(REPEATS):
        n1 = int(rng.binomial(trials, 0.5))
        hits = int(rng.binomial(n1, min(1.0, math.exp(epsilon) * q + delta)))
        others = int(rng.binomial(trials - n1, q))
        counts = EventCounts(hits, n1, others, trials - n1)
        alarms += bound.refutes(counts, epsilon=epsilon, delta=delta)

    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize("bound", BOUNDS[1:], ids=lambda bound: type(bound).__name__)
@pytest.mark.parametrize(("epsilon", "delta", "q", "trials"), [EVENTS[6]])
def test_fixed_designs_in_the_other_order(
    bound: EventBound, epsilon: float, delta: float, q: float, trials: int
) -> None:
    """At most 69 alarms with numbers of trials fixed in advance, D and D' exchanged."""
    rng = np.random.default_rng(7)
    p = math.exp(epsilon) * q + delta
    alarms = 0
    for _ in range(REPEATS):
        hits, others = int(rng.binomial(trials, q)), int(rng.binomial(trials, p))
        counts = EventCounts(hits, trials, others, trials, Design.FIXED).reversed()
        alarms += bound.refutes(counts, epsilon=epsilon, delta=delta)

    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize(
    ("epsilon", "delta", "share", "trials"),
    [(0.0, 0.0, 1.0, 300), (0.5, 0.0, 0.1, 4_000), (1.0, 0.002, 0.6, 3_000), (0.0, 0.2, 1.0, 200)],
)
def test_guesses(epsilon: float, delta: float, share: float, trials: int) -> None:
    """At most 69 alarms of guesses that are as often right as the claim allows in both orders."""
    rng = np.random.default_rng(8)
    wrong = share * (1 - delta) / (1 + math.exp(epsilon))
    right = math.exp(epsilon) * wrong + delta
    alarms = 0
    for _ in range(REPEATS):
        hits, others, _left = rng.multinomial(trials, [right, wrong, max(0, 1 - right - wrong)])
        counts = EventCounts(
            int(hits), trials - int(others), int(others), int(others), Design.GUESSES
        )
        alarms += BOUNDS[0].refutes(counts, epsilon=epsilon, delta=delta)

    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize(
    ("mu", "q", "trials"), [(0.0, 0.5, 50), (1.0, 0.01, 3_000), (3.0, 0.2, 500)]
)
def test_mu_and_divergences_of_one_event(mu: float, q: float, trials: int) -> None:
    """At most 69 bounds above the truth, of each kind."""
    rng = np.random.default_rng(9)
    p = float(stats.norm.cdf(stats.norm.ppf(q) + mu))
    divergence = math.log(p**2 / q + (1 - p) ** 2 / (1 - q))
    above = np.zeros(2, dtype=int)
    for _ in range(REPEATS):
        n1 = int(rng.binomial(trials, 0.5))
        counts = EventCounts(
            int(rng.binomial(n1, p)), n1, int(rng.binomial(trials - n1, q)), trials - n1
        )
        above += (
            GaussianEvent(significance=SIGNIFICANCE).mu(counts) > mu,
            RenyiEvent(significance=SIGNIFICANCE).rdp(counts, order=2) > divergence,
        )

    assert (above <= MOST_ALARMS).all()


@pytest.mark.parametrize(("mu", "bins", "trials"), [(0.0, 4, 60), (0.3, 4, 2_000), (2.0, 8, 400)])
def test_divergences_of_bins(mu: float, bins: int, trials: int) -> None:
    """At most 69 bounds above the truth of the bins, at order 2 and for rho."""
    rng = np.random.default_rng(10)
    bound = RenyiBins(significance=SIGNIFICANCE)
    edges = stats.norm.ppf(np.linspace(0, 1, bins + 1), loc=mu / 2)
    p, q = (np.diff(stats.norm.cdf(edges - shift)) for shift in (mu, 0.0))
    orders = (1.25, 2, 4)
    truths = [math.log(float((p**a * q ** (1 - a)).sum())) / (a - 1) for a in orders]
    rho = max(truth / a for truth, a in zip(truths, orders, strict=True))
    above = np.zeros(2, dtype=int)
    for _ in range(REPEATS):
        hits, others = (rng.multinomial(trials, law) for law in (p, q))
        counts = BinCounts(tuple(hits.tolist()), tuple(others.tolist()))
        above += (
            bound.rdp(counts, order=2) > truths[1] + 1e-12,
            bound.rho(counts, orders=orders) > rho + 1e-12,
        )

    assert (above <= MOST_ALARMS).all()


@pytest.mark.parametrize(("mu", "trials"), [(0.0, 40), (1.0, 500), (1.0, 20_000)])
def test_trade_off_region(mu: float, trials: int) -> None:
    """At most 69 regions that exclude a point of the true curve."""
    rng = np.random.default_rng(11)
    region = TradeOffRegion(significance=SIGNIFICANCE)
    cuts = np.linspace(mu + 2, -2, 12)
    laws = [np.diff(stats.norm.cdf(-cuts + shift), prepend=0, append=1) for shift in (mu, 0.0)]
    alarms = 0
    for _ in range(REPEATS):
        first, second = (np.cumsum(rng.multinomial(trials, law))[:-1] for law in laws)
        counts = PrefixCounts(
            tuple((first + second).tolist()), tuple(first.tolist()), trials, trials
        )
        rates, edge = np.array(region.vertices(counts)).T
        truth = stats.norm.cdf(stats.norm.ppf(1 - rates) - mu)
        alarms += bool((edge < truth - 1e-12).any())

    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize(("mu", "made"), [(0.0, 100), (0.5, 20), (1.0, 400)])
def test_canaries_of_one_run(mu: float, made: int) -> None:
    """At most 69 alarms on canaries with independent Gaussian noise, by the point and the curve."""
    rng = np.random.default_rng(12)
    epsilon = GDP(mu=mu).epsilon(delta=1e-3).upper if mu else 0.0
    delta = 1e-3 if mu else 0.0
    by_point = PrefixBand(significance=SIGNIFICANCE)
    by_curve = OneRunCurve(significance=SIGNIFICANCE)

    @cache
    def wrong(correct: int) -> tuple[bool, bool]:
        guesses = Guesses(made, made, correct)
        return (
            by_point.epsilon(
                PrefixCounts((made,), (correct,), made, 0, Design.ONE_RUN), delta=delta
            )
            > epsilon,
            contradicts(guesses, by_curve.significance, gaussian(mu)),
        )

    rights = rng.binomial(made, stats.norm.cdf(mu / 2), size=REPEATS)
    alarms = np.array([wrong(int(correct)) for correct in rights]).sum(axis=0)

    assert (alarms <= MOST_ALARMS).all()


@pytest.mark.parametrize(("epsilon", "eta"), [(0.0, 0.6), (1.0, 0.9)])
def test_confidence_sequence_looked_at_after_every_trial(epsilon: float, eta: float) -> None:
    """At most 69 runs of sixty trials whose bound is ever above the truth.

    With equal predictions the wealth depends on how many of either label there were.
    """
    rng = np.random.default_rng(13)
    start = ConfidenceSequence.over([epsilon], significance=SIGNIFICANCE)

    @cache
    def refuted(hits: int, trials: int) -> bool:
        labels = np.arange(trials) < hits
        return start.after(np.full(trials, eta), labels, highest=eta, lowest=eta).refutes(0)

    labels = rng.random((REPEATS, 60)) < 1 / (1 + math.exp(-epsilon))
    alarms = sum(
        any(refuted(int(hits), trials + 1) for trials, hits in enumerate(np.cumsum(run)))
        for run in labels
    )

    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize(
    ("epsilon", "delta", "trials"), [(0.0, 0.0, 1_000), (1.0, 0.0, 4_000), (1.0, 0.002, 2_000)]
)
def test_prefix_band(epsilon: float, delta: float, trials: int) -> None:
    """At most 69 alarms when every threshold's events are as bad as the claim allows.

    Labels are coins of bias sig(epsilon) in every prefix but the last half, and the part of delta
    lies in the first prefix.
    """
    rng = np.random.default_rng(6)
    band = PrefixBand(significance=SIGNIFICANCE)
    sizes = np.unique((trials / 1.2 ** np.arange(24)).astype(int))
    alarms = 0
    for _ in range(REPEATS):
        labels = _labels(rng, epsilon, delta, trials)
        hits = np.cumsum(labels)[sizes - 1]
        counts = PrefixCounts(
            tuple(sizes.tolist()), tuple(hits.tolist()), int(hits[-1]), trials - int(hits[-1])
        )
        alarms += band.refutes(counts, epsilon=epsilon, delta=delta)

    assert alarms <= MOST_ALARMS


def _labels(
    rng: np.random.Generator, epsilon: float, delta: float, trials: int
) -> NDArray[np.bool_]:
    """Trials of the pair with P = delta elsewhere + min(P, e^eps Q), sorted by likelihood ratio."""
    telling = rng.binomial(trials, delta / 2)
    half = (trials - telling) // 2
    first = rng.random(half) < 1 / (1 + math.exp(-epsilon))
    second = rng.random(trials - telling - half) < 1 / (1 + math.exp(epsilon))
    return np.concatenate([np.ones(telling, dtype=bool), first, second])
