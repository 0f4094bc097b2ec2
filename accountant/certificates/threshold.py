"""Make witnesses for stopping at a threshold by rectangles of masses: proofs/theory/threshold.md.

The checker bounds the divergence of every rule on rectangles of two masses, those of the best and
of the worst accepted outcomes (Section 6). They are cut finer where the bound is largest.
Heuristic: all constants; poor cuts make a larger bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.arithmetic.hull import hull_positions
from dpproof.accountant.certificates.base_profile import MARGIN, BaseProfile, base_facts
from dpproof.accountant.certificates.finite_pairs import Aim, pair_of_bounds, reach
from dpproof.accountant.certificates.serialize import Object, law_work, run_law
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import Outcomes, curve
from dpproof.proofs import limits
from dpproof.proofs.certificate import Json, Step, show_rational

_COUNT = 300  # Ratios of the finite pair.
_SHIFTED, _TOP = 240, 60  # Points of the base's profile, and those of its largest losses.
_FIRST = (80, 50)  # Cells of either mass before they are cut.
# Rounds of cutting, and ratios at which the bound is evaluated in each.
_ROUNDS, _EVALUATED, _FURTHER = 8, 160, 40
_RECTANGLES = 20_000  # Most rectangles.
_SHARE = limits.MAX_WORK // 6  # Share of the checker's work.
_FINE, _BITS = 2_000, 20  # Masses from which cuts are chosen, and bits of a cut.
_LEAST, _SMALLEST = 1e-200, 1e-14  # Replaces 0 in quotients, and the least mass that is cut.
_ROUNDED = 2e-15  # Relative rounding of a line.
_FLAT = 1e-9  # Least growth that a coordinate is divided by.
_DIRECT = 1e-5  # Share of phi'(1) a from which g(a) keeps its digits.
_NEXT_TO_NONE = 2.0**-40  # Least mass at which the checker evaluates.
_FARTHEST, _SHORTEST = 600.0, 1e-3  # Largest and least log t.
_SHARES = (1.0, 1.0, 1.0, 0.5, 0.5)  # Weights of the coordinates along which cuts are even.

Masses = list[Fraction]
Places = NDArray[np.intp]


@final
@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a mass under P with a linear bound of the mass under Q, at their starts and ends."""

    masses: Masses  # their ends, from 0 to 1, exactly
    places: list[int]  # of the known points that the bounds use, counted from 1; 0 for none
    p: Reals  # shape (2, n)
    left: Reals  # 1 - p, with all its digits
    q: Reals  # shape (2, n)
    spared: Reals  # 1 - q likewise

    @staticmethod
    def best(base: BaseProfile, masses: Masses) -> Cells:
        """Return cells with a lower bound of the least mass under Q, (x - H_s)/s or 0."""
        p, left = _ends(masses)
        row = np.arange(p.shape[1])
        first, middle = (
            base.lines(b, a) for a, b in ((p[0], left[0]), (p.mean(axis=0), left.mean(axis=0)))
        )
        place = np.where(first > 0.0, middle, -np.inf).argmax(axis=1)
        start, end = (base.lines(b, a)[row, place] for a, b in zip(p, left, strict=True))
        q = np.where(start > 0.0, np.stack([start, end]), 0.0)
        return Cells(masses, np.where(start > 0.0, place + 1, 0).tolist(), p, left, q, 1.0 - q)

    @staticmethod
    def worst(base: BaseProfile, masses: Masses) -> Cells:
        """Return cells with an upper bound of the largest mass, 1 - (1 - r - H_s)/s."""
        p, left = _ends(masses)
        row, lines = np.arange(p.shape[1]), base.rest(p.mean(axis=0), left.mean(axis=0))
        lines[base.lines(p[1], left[1]) < 0.0] += 1.0
        place = lines.argmin(axis=1)
        q = np.stack([base.rest(a, b)[row, place] for a, b in zip(p, left, strict=True)])
        spared = np.stack([base.lines(a, b)[row, place] for a, b in zip(p, left, strict=True)])
        return Cells(masses, (place + 1).tolist(), p, left, q, spared)

    @property
    def width(self) -> Reals:
        """Return the widths of the cells under P, shape (n,)."""
        return _apart(self.p, self.left)

    @property
    def height(self) -> Reals:
        """Return the widths of the bounds under Q, shape (n,)."""
        return _apart(self.q, self.spared)

    def witness(self) -> Json:
        """Return the cells in the certificate's JSON."""
        return {"masses": [show_rational(a) for a in self.masses], "tangents": list(self.places)}


@final
@dataclass(frozen=True, slots=True)
class ThresholdBound:
    """One direction's bound, the largest of lines gain - t cost."""

    best: Cells  # cells of the accepted mass of largest loss
    worst: Cells  # of lowest loss
    gain: Reals  # of the lines on the convex hull, growing
    cost: Reals  # growing
    origin: Places  # the cells that each of these lines comes from, shape (2, n)

    def delta(self, t: Reals) -> Reals:
        """Return the bound at ratios t >= 1."""
        at = self.active(t)
        blur = _ROUNDED * (np.abs(self.gain[at]) + t * np.abs(self.cost[at]))
        bound = self.gain[at] - t * self.cost[at]
        return np.asarray(np.maximum(bound * (1 + MARGIN) + np.where(bound > 0.0, blur, 0.0), 0.0))

    def active(self, t: Reals) -> Places:
        """Return the position of the largest line."""
        turns = np.diff(self.gain) / np.diff(self.cost)
        return np.searchsorted(-turns, -t)

    def end(self, tail: float) -> float:
        """Return a log t beyond which the bound falls by a negligible amount."""
        turns = np.diff(self.gain) / np.diff(self.cost)
        turns = turns[(turns > 1.0) & (turns < math.exp(_FARTHEST))]
        if not turns.size:
            return _SHORTEST
        left = self.delta(turns) - self.delta(turns[:1])
        return float(np.log(turns[left <= tail].min()))

    def witness(self) -> Json:
        """Return both kinds of cells in the certificate's JSON."""
        return {"best": self.best.witness(), "worst": self.worst.witness()}


def pairs_above_threshold(
    base: DominatingPair[Any], runs: RunLaw, aim: Aim
) -> tuple[FinitePair, FinitePair, list[Step], Object]:
    """Return finite pairs above stopping at a threshold, facts about the base, and a witness."""
    least = max(aim.tail / runs.mean, _LEAST)
    first = math.log1p(-runs.probability_of_none) - math.log(runs.mean)

    def shifted(one: Product) -> Reals:
        ahead = np.linspace(min(first, 0.0), reach(one, least), _SHIFTED)
        return np.concatenate([ahead, _top(one, least)])

    facts, ways = base_facts(base, runs, shifted)
    products = {"forward": base.forward, "backward": base.backward}
    bounds = {
        name: _threshold_bound(one, products[name], runs, aim.tail) for name, one in ways.items()
    }
    ahead, behind = bounds["forward"], bounds.get("backward", bounds["forward"])
    pair = pair_of_bounds(ahead, behind, aim, one_way=len(bounds) == 1, count=_COUNT)
    witness: Object = {name: one.witness() for name, one in bounds.items()}
    swapped = FinitePair(p=pair.q, q=pair.p) if len(bounds) > 1 else pair
    return pair, swapped, facts, {"runs": run_law(runs), **witness}


def _top(base: Product, smallest: float) -> Reals:
    """Return losses beyond which little mass is left, to be refused if nearly all is accepted."""
    base_curve = curve(base)
    outcomes = base_curve.above(*base_curve.size)
    at = np.searchsorted(np.cumsum(outcomes.p), np.geomspace(smallest, 0.5, _TOP))
    losses = outcomes.loss[np.minimum(at, outcomes.loss.size - 1)]
    return np.asarray(np.unique(losses[np.isfinite(losses)]))


def _threshold_bound(
    base: BaseProfile, product: Product, runs: RunLaw, tail: float
) -> ThresholdBound:
    """Return the bound on cells that are cut where it is largest."""
    base_curve = curve(product)
    outcomes = base_curve.above(*base_curve.size)
    smallest = max(min(tail / runs.mean * 1e-2, 1e-9), _SMALLEST)
    best = _cuts(outcomes, runs, smallest, _FIRST[0])
    upside_down = Outcomes(outcomes.p[::-1], outcomes.q[::-1], -outcomes.loss[::-1], 0.0)
    worst = _cuts(upside_down, runs, smallest, _FIRST[1])
    most = min(_RECTANGLES, _SHARE // limits.rectangle_work(law_work(runs)))
    bound = _lines(base, best, worst, runs)
    near = np.linspace(0.0, 2.0 * reach(product, smallest), _EVALUATED)
    for _ in range(_ROUNDS):
        ratios = np.exp(np.append(near, np.linspace(near[-1], bound.end(tail), _FURTHER)))
        cells = bound.origin[:, bound.active(ratios)]
        both = zip((best, worst), cells, strict=True)
        better, worse = (_halved(masses, at) for masses, at in both)
        if 2 * len(better) * len(worse) > 3 * most:  # about a third has x + r > 1
            break
        best, worst = better, worse
        bound = _lines(base, best, worst, runs)
    return bound


def _halved(masses: Masses, active: Places) -> Masses:
    """Return the cells with the active ones cut in two."""
    cuts = set(masses)
    for place in set(active.tolist()):
        start, end = masses[place], masses[place + 1]
        cuts.add(_between(start, end))
    return sorted(cuts)


def _between(start: Fraction, end: Fraction) -> Fraction:
    """Return about the middle, of the logs where masses or remainders are small."""
    if not start or end == 1:
        middle = 0.5 * float(start + end)
    elif end <= Fraction(1, 2):
        middle = math.sqrt(float(start) * float(end))
    else:
        return 1 - short_up(math.sqrt(float(1 - start) * float(1 - end)), 2 * _BITS)
    return short_up(middle, 2 * _BITS)


def _cuts(outcomes: Outcomes, runs: RunLaw, smallest: float, count: int) -> Masses:
    """Return masses from 0 to 1 at which mass, loss, phi' and remainder change evenly."""
    small = np.geomspace(smallest, 0.5, _FINE)
    x = np.unique(np.concatenate([small, 1.0 - small]))
    p, q = (np.insert(np.cumsum(one), 0, 0.0) for one in (outcomes.p, outcomes.q))
    at = np.clip(np.searchsorted(p, x, side="right") - 1, 0, outcomes.p.size - 1)
    loss = np.nan_to_num(outcomes.loss[at], posinf=0.0, neginf=0.0)
    loss = np.abs(loss - loss[0])
    logs = [
        -np.log(runs.derivative(np.clip(1.0 - one, 0.0, 1.0)) + smallest * runs.mean)
        for one in (x, np.interp(x, p, q))
    ]
    grown = np.maximum.accumulate(np.stack([np.log(x), loss, *logs, -np.log1p(-x)]), axis=1)
    grown -= grown[:, :1]
    along = np.array(_SHARES) @ (grown / np.maximum(grown[:, -1:], _FLAT))
    chosen = np.interp(np.linspace(along[0], along[-1], count), along, x)
    inside = {
        short_up(one, _BITS) if one < 0.5 else 1 - short_up(1 - one, _BITS)
        for one in chosen.tolist()
    }
    return sorted(inside | {Fraction(0), Fraction(1)})


def _ends(masses: Masses) -> tuple[Reals, Reals]:
    """Return starts and ends of the cells between some masses, and 1 minus these."""
    p = np.array([[float(one) for one in both] for both in pairwise(masses)]).T
    left = np.array([[float(1 - one) for one in both] for both in pairwise(masses)]).T
    return p, left


def _inside(spared: Reals) -> Reals:
    """Return a remaining mass, clipped as the checker clips it."""
    return np.clip(spared, 0.0, 1.0 - _NEXT_TO_NONE)


def _apart(values: Reals, left: Reals) -> Reals:
    """Return the second minus the first value, from the remainders if these are smaller."""
    return np.asarray(np.where(values[0] < 0.5, values[1] - values[0], left[0] - left[1]))


def _mean_runs(runs: RunLaw, a: Reals, left: Reals) -> Reals:
    """Return g(a), for small a by Simpson's rule, as the mean of phi' over [1 - a, 1]."""
    middle, end = (runs.derivative(np.clip(1.0 - one, 0.0, 1.0)) for one in (0.5 * a, a))
    simpson = (runs.mean + 4.0 * middle + end) / 6.0
    direct = (1.0 - runs.pgf(left)) / np.maximum(a, _LEAST)
    return np.asarray(np.where(runs.mean * a < _DIRECT, simpson, direct))


def _lines(base: BaseProfile, masses: Masses, others: Masses, runs: RunLaw) -> ThresholdBound:
    """Return the bound from the checker's lines at all corners of all rectangles."""
    best, worst = Cells.best(base, masses), Cells.worst(base, others)
    i, j = np.nonzero(best.p[0][:, None] < worst.left[0])
    gain, without = _gains(best, worst, (i, j), runs)
    cost, likewise = _costs(best, worst, (i, j), runs)
    alone = best.p[0][i] == 0.0
    gains = [gain.ravel(), (gain + without).ravel(), without[:2, alone].ravel()]
    costs = [cost.ravel(), (cost + likewise).ravel(), likewise[:2, alone].ravel()]
    cells = np.stack([i, j])
    origin = np.concatenate([np.tile(cells, 8), np.tile(cells[:, alone], 2)], axis=1)
    gained, taken = (np.concatenate(one) for one in (gains, costs))
    order = np.lexsort((gained, taken))
    order = order[gained[order] >= np.maximum.accumulate(gained[order])]
    order = order[(gained[order] > 0.0) & np.append(np.diff(taken[order]) > 0.0, True)]
    keep = order[hull_positions(taken[order], -gained[order])]
    return ThresholdBound(best, worst, gained[keep], taken[keep], origin[:, keep])


def _gains(
    best: Cells, worst: Cells, cells: tuple[Places, Places], runs: RunLaw
) -> tuple[Reals, Reals]:
    """Return gains of outcomes and of no output at the corners, the first x first, shape (4, n)."""
    i, j = cells
    x, wide, high = best.p[:, i], best.width[i], worst.width[j]
    a, left = x + worst.p[:, j], np.maximum(worst.left[:, j] - x, 0.0)
    length = np.minimum(wide + high, left[0])
    none, mean = runs.pgf(left), _mean_runs(runs, np.minimum(a, 1.0), left)
    fall, lost = (mean[0] - mean[1]) / length, (none[0] - none[1]) / length
    along = np.stack([0.0 * high, high, wide, wide + high])
    gain = x[[0, 0, 1, 1]] * (mean[0] - fall * along) + 0.25 * fall * wide**2
    return gain, none[0] - lost * along


def _costs(
    best: Cells, worst: Cells, cells: tuple[Places, Places], runs: RunLaw
) -> tuple[Reals, Reals]:
    """Return costs of outcomes and of no output at the corners, shape (4, n)."""
    i, j = cells
    y, s = best.q[:, i], worst.q[:, j]
    wide, high = best.height[i], worst.height[j]
    middle, spared = (y + s).mean(axis=0), (worst.spared[:, j] - y).mean(axis=0)
    down = 0.5 * (wide + high)
    far = runs.pgf(_inside(spared)) < runs.derivative(_inside(spared)) * down
    middle, spared = middle + far * down, spared - far * down
    b, rest = np.clip(middle, _NEXT_TO_NONE, 1.0), _inside(spared)
    mean, slope = _mean_runs(runs, b, rest), runs.derivative(rest)
    moved = np.where(middle < _NEXT_TO_NONE, middle - b, rest - spared) - far * down
    beside = moved + 0.5 * np.stack([-wide - high, high - wide, wide - high, wide + high])
    cost = y[[0, 0, 1, 1]] * (mean - (mean - slope) / b * beside)
    return cost, runs.pgf(rest) - slope * beside
