"""The questions that every bound from one event answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.auditing.counts.counts import EventCounts

LARGEST_EPSILON = 600.0
_STEPS = 60
_CURVED = 12


class EventBound(ABC):
    """A test of P(S) <= e^epsilon Q(S) + delta from the counts of one event S fixed in advance.

    Law: when the inequality holds, ``refutes`` is true with probability at most ``significance``,
    and so is ``epsilon(...) >`` the smallest epsilon for which it holds.
    """

    __slots__ = ()

    significance: float

    @abstractmethod
    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the p-value of P(S) <= e^epsilon Q(S) + delta.

        It grows with epsilon.
        """

    @final
    def refutes(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> bool:
        """Return whether the counts contradict (epsilon, delta) at the significance."""
        return self.p_value(counts, epsilon=epsilon, delta=delta) <= self.significance

    @final
    def epsilon(self, counts: EventCounts, *, delta: Number = 0) -> float:
        """Return the lower confidence bound of epsilon at delta, in nats; 0 if none is refuted."""
        arguments.probability(delta=delta)
        return self.roughly(counts, delta=delta, tolerance=1e-5)

    @final
    def roughly(self, counts: EventCounts, *, delta: Number, tolerance: float) -> float:
        """Return the bound up to a tolerance, never above it."""
        return largest_at_most(
            lambda e: self.p_value(counts, epsilon=e, delta=delta), self.significance, tolerance
        )


def largest_refuted(refutes: Callable[[float], bool], tolerance: float = 1e-5) -> float:
    """Return a refuted epsilon within ``tolerance`` of the first one that is not; 0 when none is.

    The predicate has to be true up to some point and false from there on.
    """
    if not refutes(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refutes(high):
        low, high = high, 2.0 * high
        if high > LARGEST_EPSILON:
            return low
    return bisect(refutes, low, high, rounds=_STEPS, close=tolerance)[0]


def largest_at_most(p_value: Callable[[float], float], level: float, tolerance: float) -> float:
    """Return a refuted epsilon as in ``largest_refuted``, from p-values that grow with epsilon.

    The search is the Illinois variant of regula falsi on the logarithm of the p-value. Every fourth
    step halves the interval. So does every step once the logarithm is clearly not linear.
    """

    def excess(epsilon: float) -> float:
        value = p_value(epsilon)
        logarithm = math.log(max(value, 1e-300)) - math.log(level)
        return max(logarithm, 1e-12) if value > level else min(logarithm, 0.0)

    low, high = 0.0, 1.0
    below = excess(low)
    if below > 0.0:
        return 0.0
    while (above := excess(high)) <= 0.0:
        low, below, high = high, above, 2.0 * high
        if high > LARGEST_EPSILON:
            return low
    raised = lowered = False
    for step in range(_STEPS):
        if high - low <= tolerance:
            break
        share = 0.5 if step % 4 == 3 or step >= _CURVED else below / (below - above)
        beyond = 0.4 * tolerance * (raised - lowered)
        inset = min(0.4 * tolerance, 0.5 * (high - low))
        middle = min(max(low + share * (high - low) + beyond, low + inset), high - inset)
        here = excess(middle)
        if here <= 0.0:
            low, below, above = middle, here, (0.5 if raised else 1.0) * above
        else:
            high, above, below = middle, here, (0.5 if lowered else 1.0) * below
        raised, lowered = here <= 0.0, here > 0.0
    return low


def significance_of(value: Number) -> float:
    """Return a significance level as a float at or below the exact value."""
    exact = arguments.open_probability(significance=value)
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, 0.0)
