"""Brute force on finite mechanisms: plain sums over outcomes, sharing nothing with the engine.

An instance is a list of (p, q) masses, one an outcome.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from scipy import optimize, special

Masses = Sequence[tuple[float, float]]


def swapped(masses: Masses) -> Masses:
    """The other order of the neighbours."""
    return [(q, p) for p, q in masses]


def product(*parts: Masses) -> Masses:
    """Independent runs."""
    return [
        (math.prod(p for p, _ in outcome), math.prod(q for _, q in outcome))
        for outcome in itertools.product(*parts)
    ]


def delta(masses: Masses, epsilon: float) -> float:
    """Hockey-stick divergence."""
    ratio = math.exp(min(epsilon, 700.0))
    return math.fsum(max(p - ratio * q, 0.0) for p, q in masses)


def renyi(masses: Masses, order: float) -> float:
    """Renyi divergence."""
    if any(p > 0 and q == 0 for p, q in masses):
        return math.inf
    terms = [order * math.log(p) + (1 - order) * math.log(q) for p, q in masses if p > 0]
    return float(special.logsumexp(terms)) / (order - 1)


def max_loss(masses: Masses) -> float:
    """Largest log ratio."""
    return max(math.inf if q == 0 else math.log(p / q) for p, q in masses if p > 0)


def epsilon(masses: Masses, target: float) -> float:
    """Smallest epsilon >= 0 with delta at or below the target."""
    if delta(masses, 0.0) <= target:
        return 0.0
    top = max_loss(masses)
    if math.isinf(top):
        top = 1.0
        while delta(masses, top) > target and top < 600:
            top *= 2
        if delta(masses, top) > target:
            return math.inf
    return (
        float(optimize.brentq(lambda x: delta(masses, x) - target, 0.0, top, xtol=1e-14))
        if target > 0
        else max_loss(masses)
    )


def smallest_rho(masses: Masses) -> float:
    """Sup of Renyi divergence over order, on a fine grid (from below)."""
    return max(renyi(masses, 1 + s) / (1 + s) for s in (10 ** (k / 40) for k in range(-240, 240)))


def power(masses: Masses, false_positive_rate: float) -> float:
    """Neyman-Pearson: take outcomes by falling ratio, the last one in part."""
    ordered = sorted(masses, key=lambda m: -math.inf if m[1] == 0 else -m[0] / m[1])
    room, reached = false_positive_rate, 0.0
    for p, q in ordered:
        part = 1.0 if q <= room else room / q
        reached += part * p
        room -= part * q
    return min(reached, 1.0)


def gaussian_delta(mu: float, eps: float) -> float:
    """Profile of mu-GDP."""
    return float(special.ndtr(mu / 2 - eps / mu) - math.exp(eps) * special.ndtr(-mu / 2 - eps / mu))


def smallest_mu(masses: Masses) -> float:
    """Largest mu that some breakpoint of the trade-off curve forces: it is convex between."""
    ordered = sorted(masses, key=lambda m: -math.inf if m[1] == 0 else -m[0] / m[1])
    rate = power_reached = largest = 0.0
    for p, q in ordered[:-1]:
        rate, power_reached = rate + q, power_reached + p
        if power_reached > rate:
            if rate == 0 or power_reached >= 1 - 1e-15:
                return math.inf
            forced = float(special.ndtri(power_reached) - special.ndtri(rate))
            largest = max(largest, forced)
    return largest


def randomized_response(eps: float) -> Masses:
    """Binary randomised response."""
    high = 1 / (1 + math.exp(-eps))
    return [(high, 1 - high), (1 - high, high)]
