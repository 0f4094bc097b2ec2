"""The power of an audit against the smallest violation that it detects."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.auditing.bounds.randomised_label import thinned
from dpproof.auditing.bounds.two_sample import TwoSample
from dpproof.auditing.counts.binomial import (
    logistic_up,
    lower_limit,
    quantile,
    special,
    tail_up,
    upper_limit,
)
from dpproof.auditing.counts.claim import Claim, Tangent
from dpproof.auditing.counts.counts import Design, EventCounts, PrefixCounts
from dpproof.auditing.planning.plan import EpsilonPlan, Method

_SURE = 0.975
_STEPS = 30


def detectable_epsilon(
    plan: EpsilonPlan, counts: PrefixCounts, claim: Claim, significance: float
) -> float:
    """Return the smallest epsilon above the claim's found with 95 % probability; inf if none.

    At epsilon, an event of the observed frequency r has at most P(S) = e^eps Q(S) + delta with
    (P(S) + Q(S)) / 2 = r. The claim is then contradicted with 95 % probability when it is at the
    2.5 % quantile of the hits on D together with the 97.5 % quantile of those on D'. Of guesses
    made with frequency r, at most a share (e^eps (r - delta) / (1 + e^eps) + delta) / r is right,
    and the 5 % quantile of the right ones counts.
    """
    claimed, delta = claim.epsilon, claim.delta_up
    positions = range(len(counts.inside))
    frequencies = sorted({counts.inside[j] / max(counts.total, 1) for j in positions} - {0.0})
    if not math.isfinite(claimed) or not frequencies:
        return math.inf
    rejects = _rejector(plan, counts, claim, significance)

    def finds(epsilon: float, frequency: float) -> bool:
        if counts.design is Design.GUESSES:
            right = logistic_up(epsilon) * (frequency - delta) + delta
            guesses = _unlucky_guesses(counts, frequency, min(right / frequency, 1.0))
            return delta <= frequency and rejects(guesses)
        q = (2 * frequency - delta) / (1 + math.exp(epsilon))
        p = math.exp(epsilon) * q + delta
        return 0 <= q <= p <= 1 and rejects(_unlucky(counts, p, q))

    best = math.inf
    for r in frequencies:
        if math.isinf(best) or finds(best, r):
            best = min(best, _smallest(partial(finds, frequency=r), claimed))
    return best


def _rejector(
    plan: EpsilonPlan, counts: PrefixCounts, claim: Claim, significance: float
) -> Callable[[EventCounts], bool]:
    """Return a predicate: whether counts of one event are sure to contradict the claim."""
    epsilon, delta = claim.epsilon, claim.delta_up
    if plan.method is not Method.BAND:
        bound = plan.bound(significance)
        return lambda event: bound.refutes(event, epsilon=epsilon, delta=delta)
    share = plan.share * significance
    paid, removed = thinned(counts.total, counts.design.marked(delta), 0.1 * share)
    level = (share - paid) / max(1, len(counts.inside))  # the band is never worse than this
    bias = logistic_up(epsilon)
    return lambda event: (
        float(tail_up(event.hits - removed, event.hits - removed + event.other_hits, bias)) <= level
    )


def detectable_mu(tangent: Tangent, counts: PrefixCounts, significance: float) -> float:
    """Return the smallest mu of Gaussian noise found with 95 % probability at this frequency."""
    bound = TwoSample(significance=significance, weight=math.exp(tangent.epsilon))
    frequency = counts.inside[0] / max(counts.total, 1)

    def finds(mu: float) -> bool:
        q = _gaussian_share(mu, frequency)
        p = _normal(_normal_quantile(q) + mu)
        event = _unlucky(counts, p, q)
        return bound.refutes(event, epsilon=tangent.epsilon, delta=tangent.delta)

    return _smallest(finds, 0.0) if 0 < frequency < 1 else math.inf


def _unlucky(counts: PrefixCounts, p: float, q: float) -> EventCounts:
    """Return counts such that worse ones have probability at most 5 %."""
    hits = quantile(1 - _SURE, counts.trials, p)
    others = quantile(_SURE, counts.other_trials, q)
    return EventCounts(hits, counts.trials, others, counts.other_trials)


def _unlucky_guesses(counts: PrefixCounts, frequency: float, right: float) -> EventCounts:
    """Return guess counts with so few right that fewer have probability at most 5 %."""
    guesses = round(frequency * counts.total)
    hits = quantile(2 * (1 - _SURE), guesses, right)
    wrong = guesses - hits
    return EventCounts(hits, counts.total - wrong, wrong, wrong, Design.GUESSES)


def _smallest(finds: Callable[[float], bool], start: float) -> float:
    """Return the smallest refuted value above ``start``, to 1 %, or inf if none up to 60 is."""
    low, step = start, max(start, 0.1) / 16
    while not finds(low + step):
        low, step = low + step, step * 2
        if low > 60.0:
            return math.inf
    high = low + step
    for _ in range(_STEPS):
        if high - low <= 0.01 * (high - start):
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if finds(middle) else (middle, high)
    return high


def _gaussian_share(mu: float, frequency: float) -> float:
    """Return Q(S) when the mean of Q(S) and Phi(Phi^-1(Q(S)) + mu) is the frequency."""

    def small(share: float) -> bool:
        return 0.5 * (share + _normal(_normal_quantile(share) + mu)) < frequency

    return bisect(small, 0.0, frequency, rounds=_STEPS)[1]


def _normal(x: Any) -> float:  # noqa: ANN401
    return float(special().ndtr(x))


def _normal_quantile(p: float) -> float:
    return float(special().ndtri(p))


def largest_difference(counts: PrefixCounts, level: float) -> float:
    """Return how much the probabilities of the counted events differ at most, at an error level."""
    share = level / (4 * max(1, len(counts.inside)))
    hits, others = np.array(counts.hits), np.array(counts.inside) - np.array(counts.hits)
    n1, n0 = np.full(hits.shape, counts.trials), np.full(hits.shape, counts.other_trials)
    return max(
        float(np.max(upper_limit(k, n, share) - lower_limit(k0, m, share), initial=0.0))
        for k, n, k0, m in ((hits, n1, others, n0), (others, n0, hits, n1))
    )


def alike(counts: PrefixCounts, claim: Claim, level: float) -> list[str]:
    """Return a note if a pair shows much less than a claim allows."""
    apart, allowed = largest_difference(counts, level), claim.guarantee.advantage().lower
    if apart >= allowed / 2:
        return []
    note = (
        f"the outputs on D and D' are alike: the score's events differ by at most {apart:.3g} in "
        f"probability, where the claim allows {allowed:.3g}; another pair may show more"
    )
    return [note]
