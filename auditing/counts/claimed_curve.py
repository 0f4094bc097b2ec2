"""A claimed trade-off curve as a function that is quick to ask, at or below the claim's own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpproof.auditing.counts.binomial import exp_up, special
from dpproof.auditing.counts.claim import Claim

_LINES = 128
_FAR = 1e-9

# The least probability of an event on one dataset, given that on the other: f(1 - right).
LeastWrong = Callable[[float], float]


def gaussian(mu: float) -> LeastWrong:
    """Phi(Phi^-1(right) - mu): the curve of a claim of mu-GDP."""
    ndtr, ndtri = special().ndtr, special().ndtri
    return lambda right: float(ndtr(ndtri(right) - mu))


def lines(points: list[tuple[float, float]]) -> LeastWrong:
    """The greatest of the lines that (epsilon, delta)-DP in both orders gives.

    right <= e^eps wrong + delta, and 1 - wrong <= e^eps (1 - right) + delta, which is the same of
    the complements with the datasets exchanged.
    """
    growth = np.array([exp_up(epsilon) for epsilon, _ in points])
    mass = np.array([delta for _, delta in points])

    def least(right: float) -> float:
        first = float(np.max((right - mass) / growth))
        return max(0.0, first, float(np.max(1.0 - mass - growth * (1.0 - right))))

    return least


def supported(claim: Claim) -> LeastWrong:
    """Lines of the claimed profile at many epsilons; each is true, together close to the curve."""
    if not claim.is_curve:
        return lines([(claim.epsilon, claim.delta_up)])
    far = claim.guarantee.epsilon(delta=_FAR).upper
    last = far if math.isfinite(far) else claim.guarantee.epsilon(delta=0.01).upper
    epsilons = np.linspace(0.0, last, _LINES) if math.isfinite(last) else np.zeros(1)
    return lines(
        [(float(e), claim.guarantee.delta(epsilon=float(e)).upper) for e in np.unique(epsilons)]
    )
