"""Construct an instance of the worst order: a mechanism whose selection has at least this loss.

The order has the event's outcomes by falling loss, before each of them the mass of outcomes of
lowest loss that is best (never less than before the last one). The pair of outputs of this
selection is finite, so its hockey-stick divergences are sums. The mass selected of an outcome is
the integral of phi' over a stretch, bounded by its value in the middle and the third derivative of
phi at an end (proofs/theory/selection.md, Section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.arithmetic.hull import hull_positions
from dpproof.accountant.run_counts.law import FARTHEST, LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve
from dpproof.accountant.selection.worst_order import POSITION_ERROR

# Above the relative error of sums of a few thousand probabilities. Soundness depends on it.
_SUM_ERROR = 1e-12
_MOST_RATIO, _ROUNDED = 1e200, 1e-15  # Largest slope, and A's rounding. Heuristic.
_SPARED = 1e-9  # Share of the divergence that event outcomes have to add, to be placed. Heuristic.
# Cuts of an event as shares of its mass, for many orders. Heuristic.
_SHARES = np.linspace(0.0, 1.0, 321) ** 3


@final
@dataclass(frozen=True, slots=True)
class Instance:
    """The probabilities with which some of the outcomes are selected, summed by falling ratio p/q.

    ``p`` is at most those on one dataset, ``q`` at least those on the other; ``ratio`` is log p/q.
    """

    p: Reals
    q: Reals
    ratio: Reals

    def lower(self, epsilon: Reals) -> Reals:
        """Return lower ends at real epsilons: the largest p - t q, convex in t = e^epsilon."""
        at = np.searchsorted(-self.ratio, -epsilon, side="left")
        with np.errstate(over="ignore", invalid="ignore"):
            gain = self.p[at] - np.where(self.q[at] > 0.0, np.exp(epsilon) * self.q[at], 0.0)
        lowered = np.where(at > 0, gain, 0.0) - _SUM_ERROR * self.p[at]
        return np.asarray(np.maximum(lowered, 0.0))

    def power(self, rate: float) -> tuple[float, float]:
        """Return at most the largest P(S) where Q(S) <= rate, and the loss at S's edge or -inf."""
        p, q = self._ends()
        at = int(np.searchsorted(q, rate)) - 1
        return float(np.interp(rate, q, p)), float(np.append(self.ratio, -np.inf)[max(at, 0)])

    def swapped_power(self, rate: float) -> tuple[float, float]:
        """Return the same with P and Q exchanged, by the tests' complements."""
        p, q = self._ends()
        needed = 1.0 - rate
        if needed > p[-1]:
            return 0.0, math.inf
        at = max(int(np.searchsorted(p, needed)) - 1, 0)
        power = 1.0 - float(np.interp(needed, p, q))
        return max(power, 0.0) * (1 - _SUM_ERROR), -float(self.ratio[at])

    def _ends(self) -> tuple[Reals, Reals]:
        """Return the sums, rounded down under P and up under Q."""
        return self.p * (1 - _SUM_ERROR), self.q * (1 + _SUM_ERROR)


def instance(below: NeymanPearsonCurve, law: RunLaw, order: tuple[Reals, Reals, Reals]) -> Instance:
    """Return the selection by an order of ``Lines.order``: any order gives a lower end.

    ``order``: cuts of the event's mass, what the outcomes between add, and the mass x there, whose
    part beyond an outcome is ranked below it.
    """
    k, worth, x = order
    within = 0.5 * (k[1:] + k[:-1])
    count = _event(worth)
    if count == 0:
        return _ordered(np.zeros(0), np.zeros(0))
    x = np.maximum(np.minimum.accumulate(x[:count]), k[count])
    # Below the event, what is left by falling loss.
    cuts = np.unique(np.concatenate([below.k[below.k < x[-1]], k[1:count], x[-1:]]))
    middle = 0.5 * (cuts[1:] + cuts[:-1])
    # Next to k = 1 widths are rounded, where A may rise by much.
    rise = np.diff(below.under(cuts))
    mass = np.minimum(below.ratio[below.place(middle)], _MOST_RATIO) * np.diff(cuts)
    mass = np.maximum(rise, np.minimum(mass, rise + _ROUNDED))
    return _ordered(*_selected(below, law, cuts, np.interp(middle, within[:count], x), mass))


def near_worst(
    below: NeymanPearsonCurve,
    law: RunLaw,
    epsilons: Reals,
    known: Reals,
    orders: list[tuple[Reals, Reals, Reals]],
) -> Instance:
    """Return tests of many orders, each near the worst one at its epsilon, as one concave curve.

    ``orders`` are those of ``Lines.order`` at the increasing epsilons ``known``; between them the
    event's mass and the masses x are interpolated. ``Instance.lower`` holds, as it does for each.
    """
    middle = 0.5 * (_SHARES[1:] + _SHARES[:-1])
    ends, beyond = np.zeros(known.size), np.zeros((known.size, middle.size))
    for one, (k, worth, x) in enumerate(orders):
        if count := _event(worth):
            ends[one], within = k[min(count + 1, k.size - 1)], 0.5 * (k[1:] + k[:-1])[:count]
            beyond[one] = np.interp(middle * ends[one], within, x[:count])
    place = np.interp(epsilons, known, np.arange(known.size))
    at = np.minimum(place.astype(np.intp), max(known.size - 2, 0))
    after, part = np.minimum(at + 1, known.size - 1), (place - at)[:, None]
    end = np.exp(np.interp(place, np.arange(known.size), np.log(np.maximum(ends, 1e-300))))
    x = np.minimum.accumulate((1.0 - part) * beyond[at] + part * beyond[after], axis=1)
    cuts = end[:, None] * _SHARES
    under = below.under(cuts)
    mass = np.diff(under) + 4 * UNIT_ROUNDOFF * under[:, 1:]
    p, q = _selected(below, law, cuts, x, mass)
    p, q = np.cumsum(p, axis=1), np.cumsum(q, axis=1)
    t = np.exp(np.minimum(epsilons, FARTHEST))[:, None]
    gain = np.where(x >= cuts[:, 1:], p - t * q, -1.0)
    best, row = gain.argmax(axis=1), np.arange(gain.shape[0])
    some = gain[row, best] > 0.0
    return concave(p[row, best][some], q[row, best][some])


def _event(worth: Reals) -> int:
    """Return how many blocks hold the event: those that add to the divergence."""
    gained = np.cumsum(worth)
    if not gained[-1] > 0.0:
        return 0
    return int(np.searchsorted(gained, gained[-1] * (1 - _SPARED))) + 1


def _selected(
    below: NeymanPearsonCurve, law: RunLaw, cuts: Reals, beyond: Reals, mass: Reals
) -> tuple[Reals, Reals]:
    """Return what is selected between cuts at least under P, and at most under Q.

    ``beyond`` is x there, and ``mass`` at least Q's. Cuts lie along the last axis.
    """
    width, ends = np.diff(cuts), cuts * (1 + POSITION_ERROR)
    ahead, lesser = (
        np.clip(beyond * (1 - POSITION_ERROR) - one, 0.0, 1.0)
        for one in (ends[..., :-1], ends[..., 1:])
    )
    p = law.derivative(0.5 * (ahead + lesser)) + width**2 / 24 * law.third(lesser)
    top = below.under(beyond * (1 + POSITION_ERROR)) * (1 + POSITION_ERROR)
    under = below.under(cuts * (1 - POSITION_ERROR)) * (1 - POSITION_ERROR)
    ahead, lesser = (np.clip(top - one, 0.0, 1.0) for one in (under[..., :-1], under[..., 1:]))
    q = law.derivative(0.5 * (ahead + lesser)) + mass**2 / 24 * law.third(ahead)
    return width * p * (1 - 2 * LAW_ERROR), mass * q * (1 + 2 * LAW_ERROR)


def concave(p: Reals, q: Reals) -> Instance:
    """Return the tests of masses p and q that some line from above touches, and the empty one."""
    order = np.lexsort((-p, q))
    p, q = (np.append(0.0, one[order]) for one in (p, q))
    rises = np.append(True, np.maximum.accumulate(p)[:-1] < p[1:])
    p, q = p[rises], q[rises]
    at = hull_positions(q, -p)
    with np.errstate(divide="ignore"):
        ratio = np.log(np.diff(p[at])) - np.log(np.diff(q[at]))
    return Instance(p[at], q[at], ratio)


def _ordered(p: Reals, q: Reals) -> Instance:
    """Return the instance with its outcomes by falling ratio."""
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(p, 1e-320)) - np.log(q)
    order = np.argsort(-ratio, kind="stable")
    sums = [np.concatenate([[0.0], np.cumsum(part[order])]) for part in (p, q)]
    return Instance(sums[0], sums[1], ratio[order])
