"""Construct an instance of the worst order: a mechanism whose selection has at least this loss.

The order has the event's outcomes by falling loss, before each of them the number of outcomes of
lowest loss that is best (never fewer than before the last one). The pair of outputs of this
selection is finite, so its hockey-stick divergences are sums. As w is convex, the mass w integrated
over an outcome's stretch is at least w at its middle, at most the mean of w at its ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.convex_profile import Positions
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.run_counts.law import FARTHEST, LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import Outcomes, spread
from dpproof.accountant.selection.worst_order import (
    POSITION_ERROR,
    columns_from_bottom,
    event_cells,
    other_cells,
    top,
)

# Most event outcomes, and others, for which places are compared. Heuristic.
_ROWS, _COLUMNS = 200, 400
# Above the relative error of sums of a few thousand probabilities. Soundness depends on it.
_SUM_ERROR = 1e-12
_SPARED = 1e-9  # Share of the divergence that event outcomes have to add, to be placed. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Instance:
    """The probabilities with which some of the outcomes are selected.

    Attributes:
        p: sums of probabilities on one dataset, at most, by falling ratio p/q: shape (n + 1,).
        q: the same sums on the other dataset, at least.
        ratio: log of p/q, falling, shape (n,), nats.
    """

    p: Reals
    q: Reals
    ratio: Reals

    def lower(self, epsilon: Reals) -> Reals:
        """Return lower ends of the selection's hockey-stick divergence at any real epsilons.

        As a function of e^epsilon it is the largest of differences p - e^epsilon q, hence convex.
        """
        at = np.searchsorted(-self.ratio, -epsilon, side="left")
        with np.errstate(over="ignore", invalid="ignore"):
            gain = self.p[at] - np.where(self.q[at] > 0.0, np.exp(epsilon) * self.q[at], 0.0)
        lowered = np.where(at > 0, gain, 0.0) - _SUM_ERROR * self.p[at]
        return np.asarray(np.maximum(lowered, 0.0))


def instance(
    below: Outcomes, law: RunLaw, epsilon: float, least_loss: float, change: float
) -> Instance:
    """Return the order that is worst at epsilon, for a base that dominates ``below``."""
    every, columns = event_cells(below, law, change), other_cells(below, law, change)
    rows = top(every, int(np.searchsorted(-every.loss, -least_loss, side="right")))
    if not rows.p.size:
        return _ordered(np.zeros(0), np.zeros(0))
    position, worth = _choices(rows, columns, law, epsilon)
    gained = np.cumsum(np.maximum(worth, 0.0) * rows.p)
    events = min(int(np.searchsorted(gained, gained[-1] * (1 - _SPARED))) + 1, rows.p.size)
    free = int(np.searchsorted(columns.loss[::-1], rows.loss[events - 1], side="left"))
    position = np.minimum(np.maximum.accumulate(position[:events]), free)
    # Below the event, what is left by falling loss: it matters at a smaller epsilon.
    used = int(position[-1])
    last = columns.loss[::-1][used - 1] if used else -np.inf
    count = max(int(np.searchsorted(-every.loss, -last, side="left")), events)
    position = np.concatenate([position, np.full(count - events, used)])
    above_p, above_q = columns_from_bottom(columns)
    return _selected(top(every, count), above_p[position], above_q[position], law)


def _choices(
    rows: Outcomes, columns: Outcomes, law: RunLaw, epsilon: float
) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], Reals]:
    """Return for each event outcome how many others to put above it, and what it then adds.

    Heuristic: if there are many losses, among some of the positions, for some of the event
    outcomes; between these the mass that lies between theirs, or one of theirs.
    """
    above_p, above_q = columns_from_bottom(columns)
    middle_p, middle_q = np.cumsum(rows.p) - 0.5 * rows.p, np.cumsum(rows.q) - 0.5 * rows.q
    near = min(epsilon, FARTHEST)  # any order will do, and this one is a number

    def value(row: Positions, column: Positions) -> Reals:
        mass = 1.0 - middle_p[row] - above_p[column]
        left = 1.0 - rows.unseen - middle_q[row] - above_q[column]
        cost = np.exp(near - rows.loss[row]) * law.derivative(np.clip(left, 0.0, 1.0))
        found = law.derivative(np.clip(mass, 0.0, 1.0)) - cost
        return np.where(mass > 0.5 * rows.p[row], found, -1.0)

    smooth = np.unique(rows.loss).size > _ROWS
    some = spread(rows.p.size - 1, _ROWS if smooth else rows.p.size)
    few = spread(columns.p.size, _COLUMNS if smooth else columns.p.size + 1)
    best = above_p[few[value(some[:, None], few).argmax(axis=1)]]
    every, behind = np.arange(rows.p.size), np.searchsorted(some, np.arange(rows.p.size))
    between = np.interp(middle_p, middle_p[some], best)
    tried = [between, best[behind], best[np.maximum(behind - 1, 0)]]
    at = np.minimum(np.searchsorted(above_p, np.stack(tried)), columns.p.size)
    worth = value(every, at)
    chosen = worth.argmax(axis=0)
    return at[chosen, every], worth[chosen, every]


def _selected(rows: Outcomes, others_p: Reals, others_q: Reals, law: RunLaw) -> Instance:
    """Return the probabilities with which the event outcomes are selected."""
    start_p = np.cumsum(rows.p) - rows.p + others_p
    start_q = rows.unseen + np.cumsum(rows.q) - rows.q + others_q
    at_least = np.clip(1.0 - start_p - 0.5 * rows.p - POSITION_ERROR, 0.0, 1.0)
    ends = [
        law.derivative(np.clip(1.0 - start_q - part + POSITION_ERROR, 0.0, 1.0))
        for part in (0.0, rows.q)
    ]
    return _ordered(
        rows.p * law.derivative(at_least) * (1 - 2 * LAW_ERROR),
        rows.q * 0.5 * (ends[0] + ends[1]) * (1 + 2 * LAW_ERROR),
    )


def _ordered(p: Reals, q: Reals) -> Instance:
    """Return the instance with its outcomes by falling ratio."""
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(p, 1e-320)) - np.log(q)
    order = np.argsort(-ratio, kind="stable")
    sums = [np.concatenate([[0.0], np.cumsum(part[order])]) for part in (p, q)]
    return Instance(sums[0], sums[1], ratio[order])
