"""Bounds that a Renyi curve implies, by data processing to two outcomes; all are rounded up.

``orders`` has shape (n,), each above 1; ``values`` holds an upper bound of the divergence at each
order, in nats, both orders of the neighbours. Every order alone gives a valid bound, so the
smallest over any set of orders is valid.
"""

from __future__ import annotations

import math

import numpy as np

from dpproof.accountant.arithmetic.enclosure import ELEMENTARY_ULPS, UNIT_ROUNDOFF, Reals, up

# Above the rounding of a sum of at most eight elementary terms, each within ELEMENTARY_ULPS,
# relative to its size. Soundness depends on it.
_MARGIN = 16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF
# Most bisection steps, enough for every float. Heuristic: the upper end is valid after any number.
_MAX_HALVINGS = 1200


def epsilon_terms(orders: Reals, values: Reals, delta: float) -> Reals:
    """Return for each order an epsilon (of any sign) such that (epsilon, delta)-DP holds.

    Rounded up.

    Statement: R - log(order/(order - 1)) - (log delta + log order)/(order - 1).
    Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Proposition 12; derived in
        ``log_delta_terms``.
    """
    excess = orders - 1.0
    ratio = np.log1p(1.0 / excess)
    tail = (math.log(delta) + np.log(orders)) / excess
    tail_size = (abs(math.log(delta)) + np.log(orders)) / excess
    terms: Reals = values - ratio - tail + _MARGIN * (values + ratio + tail_size)
    return terms


def log_delta_terms(orders: Reals, values: Reals, epsilon: float) -> Reals:
    """Return for each order the log of a delta such that (epsilon, delta)-DP holds.

    Rounded up.

    Statement: with s = order - 1, s (R - epsilon) - log s - order log(1 + 1/s).
    Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Proposition 12.
    Proof: (1 - e^{eps - l})_+ <= c e^{s l} for every l with the smallest such c, attained at
        e^{eps - l} = s/order: c = e^{-s eps} s^s / order^order. Average over the loss l under
        P, where E e^{s l} = e^{s R}.
    """
    excess = orders - 1.0
    first = excess * (values - epsilon)
    second = np.log(excess)
    third = orders * np.log1p(1.0 / excess)
    size = excess * (values + abs(epsilon)) + np.abs(second) + third
    terms: Reals = first - second - third + _MARGIN * (size + 1.0)
    return terms


def total_variation(smallest_value: float) -> float:
    """Return the largest total variation given a bound of the divergence at some order.

    Statement: divergences grow with the order, so the Kullback-Leibler divergence (order 1) is
        at most the value; TV <= sqrt(KL/2) and TV <= sqrt(1 - e^{-KL}).
    Source: Pinsker's inequality; Bretagnolle & Huber (1979); both in Tsybakov, "Introduction to
        Nonparametric Estimation", Lemma 2.5 (i) and equation (2.25).
    """
    if smallest_value == 0 or math.isinf(smallest_value):
        return 0.0 if smallest_value == 0 else 1.0
    pinsker = math.sqrt(0.5) * math.sqrt(smallest_value)  # half a denormal number may be 0
    huber = math.sqrt(-math.expm1(-smallest_value))
    return min(1.0, up(min(pinsker, huber) * (1.0 + _MARGIN)))


def power(orders: Reals, values: Reals, false_positive_rate: float) -> float:
    """Return the largest true-positive rate p at a false-positive rate q.

    Statement: a test is a map to two outcomes, so by data processing, at every order a,
        p^a q^{1-a} + (1-p)^a (1-q)^{1-a} <= e^{(a-1) R}, and the same with p and q swapped.
        Both left sides grow with p on [q, 1]: bisect, and keep a p where one is exceeded.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9 (data processing).
    """
    finite = np.isfinite(values)
    if not finite.any():
        return 1.0
    if false_positive_rate == 0.0:
        return 0.0  # a finite divergence leaves no mass outside the support of Q
    orders, values = orders[finite], values[finite]
    low, high = false_positive_rate, 1.0
    for _ in range(_MAX_HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high) if high > 2 * low else 0.5 * (low + high)
        if not low < middle < high:
            break
        if _exceeds(middle, false_positive_rate, orders, values):
            high = middle
        else:
            low = middle
    return high


def _exceeds(p: float, q: float, orders: Reals, values: Reals) -> bool:
    """Return whether some order certainly forbids power p at rate q, both in (0, 1)."""
    spread = abs(math.log(p)) + abs(math.log(q)) + abs(math.log1p(-p)) + abs(math.log1p(-q))
    with np.errstate(over="ignore", invalid="ignore"):  # what is inf or nan forbids nothing
        allowed = (orders - 1.0) * values
        margin = _MARGIN * (orders * spread + allowed + 1.0)
        return bool(np.any(log_power_terms(orders, p, q) > allowed + margin))


def log_power_terms(orders: Reals, p: float, q: float) -> Reals:
    """Return the log of the larger left side of ``power`` at each order."""
    excess = orders - 1.0
    log_p, log_q = math.log(p), math.log(q)
    log_not_p, log_not_q = math.log1p(-p), math.log1p(-q)
    forward = np.logaddexp(orders * log_p - excess * log_q, orders * log_not_p - excess * log_not_q)
    backward = np.logaddexp(
        orders * log_q - excess * log_p, orders * log_not_q - excess * log_not_p
    )
    return np.asarray(np.maximum(forward, backward))
