"""Rényi divergences of mechanisms of bounded range, and the smallest zCDP parameter."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from dpproof.accountant.arithmetic.enclosure import DENORMAL_ROUNDING, float_up, raised_up
from dpproof.accountant.bound import Bound

# Orders minus 1, between which the curve of divergences is bounded by its chords. Heuristic: chords
# are valid for any orders.
_ORDERS = tuple(1.0 + 10.0 ** (k / 60) for k in range(-360, 361))
# Epsilons between which rho is refined; outside them the proved bound is rho to 1e-6. Heuristic.
_PLAIN = Fraction(1, 1000), 10**6


def divergence(length: Fraction, order: float) -> Bound:
    """Enclose the largest divergence of a mechanism whose loss takes both ends of an interval.

    Statement: with e = epsilon and a the order, log x + (log((e^{a e} - 1)/(e^e - 1)) -
        log a)/(a - 1), x = (a - 1)/a e^{-e} (e^{a e} - 1)/(e^{(a-1) e} - 1). With
        g(y) = log(sinh(y)/y) that is g(a e/2) - g((a-1) e/2) + (g(a e/2) - g(e/2))/(a - 1),
        two positive terms, about a e^2/8 next to 0.
    Proof: given the lower end t of the interval, E_Q e^{a L} is largest when the likelihood
        ratio e^L, of mean 1 under Q, takes the two ends only, as its a-th power is convex:
        it is x^{a-1} (A - 1 - x (A - e^e))/(e^e - 1) with x = e^t and A = e^{a e}, and
        largest at the x above. So many mechanisms have so many times that at most, and
        exactly that with the same x each.
    Source: Dong, Durfee & Rogers (arXiv:1909.13830) maximise the same two-point laws.
    """
    epsilon = float_up(length)
    cap = epsilon
    if order < math.inf:  # the float above an order beyond floats
        cap = min(float_up(length**2 * Fraction(order) / 8), epsilon)
    if epsilon == 0.0 or math.isinf(epsilon):
        return Bound(0.0, cap)
    half, more = 0.5 * epsilon, 0.5 * epsilon * (order - 1.0)
    if not 0.0 < min(half, more) <= max(half, more) < math.inf:
        return Bound(0.0, cap)
    value = log_sinh_growth(more, half) + log_sinh_growth(half, more) / (order - 1.0)
    upper = min(raised_up(value, 2 * GROWTH_ERROR), cap)
    lower = max(value * (1 - 2 * GROWTH_ERROR) - DENORMAL_ROUNDING, 0.0)
    return Bound(min(lower, upper), upper)


def smallest_rho(epsilon: Fraction) -> Bound:
    """Bracket the smallest rho, where orders next to 1 decide: about the largest KL divergence.

    Statement: the supremum over s > 0 of k(s)/(s(s + 1)), k(s) = s times the divergence of
        order s + 1. As a supremum of functions log E_P e^{sL}, k is convex, and k(0) = 0:
        between two orders it is below its chord, beyond the last one at most epsilon s. Nor
        is rho above epsilon^2 / 8 or epsilon.
    """
    proved = float_up(min(epsilon * epsilon / 8, epsilon))
    divergences = [(order, divergence(epsilon, order)) for order in _ORDERS]
    least = max(one.lower / order for order, one in divergences) * (1 - 1e-15)
    upper = proved
    if _PLAIN[0] <= epsilon <= _PLAIN[1]:
        cells = [
            (0.0, 0.0),
            *((order - 1.0, (order - 1.0) * one.upper) for order, one in divergences),
        ]
        most = max(_steepest(left, right) for left, right in pairwise(cells))
        beyond = float_up(epsilon) / _ORDERS[-1]
        upper = min(max(most, beyond) * (1 + 1e-12), proved)
    return Bound(min(least, upper), upper)


def _steepest(left: tuple[float, float], right: tuple[float, float]) -> float:
    """Return the largest (a + b s)/(s(s + 1)) on a cell in s, of the line through its two ends."""
    (start, low), (end, high) = left, right
    slope = (high - low) / (end - start)
    if start == 0.0:
        return slope
    level = low - slope * start
    inside = math.sqrt(max(level * (level - slope), 0.0)) - level
    turn = min(max(inside / slope, start), end) if slope > 0.0 else start
    return max((level + slope * s) / (s * (s + 1.0)) for s in (start, turn, end))


# Relative error of approximately forty roundings of positive terms. Soundness depends on it.
GROWTH_ERROR = 1e-13
# Largest d for which sinh(d)/d - 1 is summed as a series. The error bound depends on it.
_SERIES = 1.0
_TERMS = 12  # Terms of 1 + d^2/(4*5) + ...; the next is below 2^-80. The error bound depends on it.
# Levels of the continued fraction; the rest is below 2^-60 for y up to 2. The error bound depends
# on it.
_FRACTIONS = 24
_NEAR = 2.0  # Largest y for which the continued fraction is used. The error bound depends on it.
_FAR = 300.0  # A step from which sinh might overflow; another expression is used. Heuristic.


def log_sinh_growth(start: float, step: float) -> float:
    """Return g(start + step) - g(start), g(y) = log(sinh(y)/y), for start and step above 0.

    Statement: with y = start and d = step it is log(1 + N/(1 + d/y)),
        N = 2 sinh(d/2)^2 + (coth(y) - 1/y) sinh(d) + (sinh(d) - d)/y,
        as sinh(y + d)/sinh(y) = cosh(d) + coth(y) sinh(d). All terms are positive.
    Rounds: within ``GROWTH_ERROR`` of it, relative, or within 1e-315.
    """
    if step > _FAR:
        decay = math.log(-math.expm1(-2.0 * (start + step)) / -math.expm1(-2.0 * start))
        return step + decay - math.log1p(step / start)
    grown = 2.0 * math.sinh(0.5 * step) ** 2
    grown += langevin(start) * math.sinh(step) + _sinh_excess(step) * (step / start)
    return math.log1p(grown / (1.0 + step / start))


def langevin(y: float) -> float:
    """Return coth(y) - 1/y for y > 0, next to 0 by the continued fraction y/(3 + y^2/(5 + ...))."""
    if y > _NEAR:
        return 1.0 / math.tanh(y) - 1.0 / y
    below = 2.0 * _FRACTIONS + 3.0
    for k in range(_FRACTIONS, 0, -1):
        below = 2.0 * k + 1.0 + y * y / below
    return y / below


def _sinh_excess(d: float) -> float:
    """Return sinh(d)/d - 1 for d > 0."""
    if d > _SERIES:
        return math.sinh(d) / d - 1.0
    total = 1.0
    for k in range(_TERMS, 0, -1):
        total = 1.0 + total * d * d / ((2.0 * k + 2.0) * (2.0 * k + 3.0))
    return d * d / 6.0 * total
