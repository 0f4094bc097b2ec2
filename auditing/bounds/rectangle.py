"""The bound for numbers of trials fixed in advance: two Clopper-Pearson limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import renyi_order
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import LARGEST_EPSILON, EventBound, significance_of
from dpproof.auditing.counts.binomial import (
    complement_up,
    exp_up,
    lower_limit,
    special,
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
        """Return an upper bound of the p-value of P(S) <= e^epsilon Q(S) + delta.

        It grows with epsilon.
        """
        counts.design.compare()
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        mass = floats_around(arguments.probability(delta=delta))[1]
        return 1.0 if loss > LARGEST_EPSILON else _crossing(counts, loss, mass)

    def limits(self, counts: EventCounts) -> tuple[float, float]:
        """Return the lower limit of P(S) and the upper limit of Q(S), valid jointly."""
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


_MARGIN = 1e-9


@final
@dataclass(frozen=True, slots=True, init=False)
class GaussianEvent:
    """The distance of two normal distributions that is needed to explain one event.

    Statement: if the mechanism is mu-GDP then Phi^-1(P(S)) - Phi^-1(Q(S)) <= mu for every event
        S; with the limits of ``Rectangle`` in place of P(S) and Q(S), the left side exceeds mu
        with probability at most the significance.
    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6; used so by Nasr et al.
        (arXiv:2302.07956), Section 5.
    Rounds: down.
    Beware: this is a bound of mu, for a claim of mu. To turn it into a bound of epsilon one has to
        assume that the trade-off curve is Gaussian; ``epsilon`` of an event bound needs no such
        assumption.

    Args:
        significance: error probability, in (0, 1).
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def mu(self, counts: EventCounts) -> float:
        """Return the lower confidence bound of mu; 0 when nothing is shown."""
        low, high = Rectangle(significance=self.significance).limits(counts)
        if not low > 0 or not high < 1 or low <= high:
            return 0.0
        quantile = special().ndtri
        return max(0.0, float(quantile(low) - quantile(high)) - _MARGIN)


_RENYI_EVENT_MARGIN = 1e-12
_FAR = 600.0  # e^x is a float for x up to here


@final
@dataclass(frozen=True, slots=True, init=False)
class RenyiEvent:
    """The divergence between two coins, which data processing puts below that of the outputs.

    Statement: D_a(P || Q) >= d_a(p, q) = ln(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) / (a - 1) with p =
        P(S), q = Q(S). It grows with p and falls with q where p > q, so that d_a at the limits of
        ``Rectangle`` exceeds D_a with probability at most the significance; the same limits serve
        every order, and rho >= D_a / a at each of them.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9 (data processing).
    Rounds: down.
    Limit: one event shows about two thirds of the divergence of Gaussians at order 2, less above.

    Args:
        significance: error probability, in (0, 1), for all orders together.
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def rdp(self, counts: EventCounts, *, order: Number) -> float:
        """Return the lower confidence bound of the divergence at an order above 1, in nats."""
        exact = float(renyi_order(order=order))
        low, high = Rectangle(significance=self.significance).limits(counts)
        if low <= high:
            return 0.0
        return _of_coins(low, high, exact - 1.0)

    def rho(self, counts: EventCounts, *, orders: Sequence[Number] = (1.01, 1.5, 2, 4, 8)) -> float:
        """Return the lower confidence bound of rho for a claim of zCDP: the best of the orders."""
        if not orders:
            raise ParameterError("orders", orders, "at least one order above 1")
        shares = [self.rdp(counts, order=order) / float(order) for order in orders]
        return max(shares) * (1 - _RENYI_EVENT_MARGIN)


def _of_coins(p: float, q: float, excess: float) -> float:
    """Return d_a(p, q) for p > q and a = 1 + excess, rounded down.

    As log(1 + p (e^(s l) - 1) + (1-p) (e^(s m) - 1))/s, s = a - 1, with l = log p/q and
    m = log (1-p)/(1-q): next to order 1 the terms are as small as s, and so is their rounding. Far
    out the first of them alone is enough.
    """
    hit = math.log1p((p - q) / q)
    if excess * hit > _FAR:
        value, size = math.log(p) + excess * hit, abs(math.log(p)) + excess * hit
    else:
        missed = math.log1p(-(p - q) / (1.0 - q)) if p < 1.0 else -math.inf
        terms = p * math.expm1(excess * hit), (1.0 - p) * math.expm1(excess * missed)
        size = value = math.log1p(max(sum(terms) - _RENYI_EVENT_MARGIN * sum(map(abs, terms)), 0.0))
    return max(0.0, (value - _RENYI_EVENT_MARGIN * size) / excess)
