"""The bound for numbers of trials fixed in advance: two Clopper-Pearson limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import LARGEST_EPSILON, EventBound, significance_of
from dpproof.auditing.counts.binomial import (
    complement_up,
    exp_up,
    lower_limit,
    tail_up,
    upper_limit,
)
from dpproof.auditing.counts.counts import EventCounts


@final
@dataclass(frozen=True, slots=True, init=False)
class Rectangle(EventBound):
    """P(S) and Q(S) each inside their limit, at half the significance each.

    Statement: for S and the numbers of trials fixed in advance, Pr(P(S) < lower limit) and
        Pr(Q(S) > upper limit) are at most significance / 2 each, so (epsilon, delta) is refuted
        when the lower limit exceeds e^eps times the upper limit plus delta. The p-value is the
        smallest significance at which that happens, bounded from above by bisection.
    Source: Clopper & Pearson, Biometrika 26 (1934); used so by Jagielski, Ullman & Oprea
        (arXiv:2006.07709), Section 4.
    Rounds: the p-value up.

    Args:
        significance: error probability, in (0, 1).
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Upper bound of the p-value of P(S) <= e^epsilon Q(S) + delta; grows with epsilon."""
        counts.design.compare()
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        mass = floats_around(arguments.probability(delta=delta))[1]
        return 1.0 if loss > LARGEST_EPSILON else _crossing(counts, loss, mass)

    def limits(self, counts: EventCounts) -> tuple[float, float]:
        """The lower limit of P(S) and the upper limit of Q(S), both right at once."""
        counts.design.compare()
        half = self.significance / 2
        return (
            float(lower_limit(counts.hits, counts.trials, half)),
            float(upper_limit(counts.other_hits, counts.other_trials, half)),
        )


def _crossing(counts: EventCounts, epsilon: float, delta: float) -> float:
    """Return twice the smallest level a at which the limits contradict the inequality.

    For any q in [0, 1] and p = e^eps q + delta: if Pr(Bin >= hits | p) <= a and
    Pr(Bin <= other_hits | q) <= a then the limits at level a are above p and below q. The first
    tail grows with q and the second falls, so their crossing is found by bisection on q, and
    the larger of the two tails there is a valid a wherever q stands.
    """
    slope = exp_up(epsilon)

    def tails(q: float) -> tuple[float, float]:
        p = min(1.0, (slope * q + delta) * (1 + 4e-16))
        misses = counts.other_trials - counts.other_hits
        above = float(tail_up(counts.hits, counts.trials, p))
        unhit = complement_up(np.asarray(q))
        return above, float(tail_up(misses, counts.other_trials, unhit))

    low, high = 0.0, 1.0
    best = 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        first, second = tails(middle)
        best = min(best, max(first, second))
        if first < second:
            low = middle
        else:
            high = middle
        if high - low <= 1e-7 * high:
            break
    return min(1.0, 2.0 * best)
