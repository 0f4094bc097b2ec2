"""Witnesses for the best of some runs of finite pairs: Theorem 1 of proofs/selection.md as a sum.

The checker cuts the outcomes into parts and the mass below an outcome into cells, and repeats the
sum (proofs/selection.md, Section 7). Nothing here is trusted: poor cuts make a larger bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import final

import numpy as np
from numpy.typing import NDArray

from accountant.certify.finite import above, point, ratios
from accountant.certify.json_form import Object, run_law
from accountant.guarantees.rounding import short_up
from accountant.numerics.enclosure import Reals
from accountant.pairs.finite import FinitePair
from accountant.runs.law import RunLaw
from proofs.certificate import Json, show_rational

_CHANGE = 0.07  # of log phi' over a cell
_FAINT = 1e-6  # of phi'(1): smaller values need no fine cells
_CELLS = (60, 300)
_COUNT = 400  # ratios
_FINE, _SMALLEST, _MASS_BITS = 2_000, 1e-12, 20
_SEEN = 1e-6  # of the losses below 0
_NEAR, _SLIP = 1e-9, 1e-6
_SPARE = 0.01  # of the tail
_FARTHEST = 500.0


@final
@dataclass(frozen=True, slots=True)
class Best:
    """One direction's sum.

    Attributes:
        parts: of every outcome by falling loss.
        masses: the ends of the cells.
        ratio: of Q's mass to P's in every row, shape (rows,).
        width: P's mass, shape (rows,).
        gains: at both ends of the row, -inf before its first cell, shape (2, rows, masses).
        costs: likewise, shape (2, rows, masses).
    """

    parts: list[int]
    masses: list[Fraction]
    ratio: Reals
    width: Reals
    gains: Reals
    costs: Reals

    def delta(self, t: float) -> float:
        """The sum at a ratio t >= 1."""
        worst = (self.gains - (t * self.ratio)[:, None] * self.costs).max(axis=2)
        return float((np.maximum(worst, 0.0) @ self.width).sum() / 2)

    def end(self, tail: float) -> float:
        """A log t beyond which the sum falls by little more."""
        least, low, high = self.delta(math.exp(_FARTHEST)) + tail, 0.0, 1.0
        while self.delta(math.exp(high)) > least:
            low, high = high, 2 * high
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(math.exp(middle)) > least else (low, middle)
        return high

    def witness(self) -> Json:
        """In the certificate's JSON."""
        return {"parts": list(self.parts), "masses": [show_rational(c) for c in self.masses]}


def best(
    forward: FinitePair, backward: FinitePair, runs: RunLaw, tail: float
) -> tuple[FinitePair, FinitePair, Object]:
    """Finite pairs above the best of some runs of finite pairs, and what shows it.

    Args:
        forward: one run, in one direction.
        backward: in the other.
        runs: how often.
        tail: the mass of losses that may be counted as infinite.
    """
    names = {"forward": forward}
    if forward != backward:
        names["backward"] = backward
    sums = {name: _sum(pair, runs) for name, pair in names.items()}
    ahead, behind = sums["forward"], sums.get("backward", sums["forward"])
    seen = tail if len(sums) > 1 else max(tail, _SEEN)
    found = _pair(ahead, behind, tail, seen)
    witness: Object = {name: one.witness() for name, one in sums.items()}
    swapped = FinitePair(p=found.q, q=found.p) if len(sums) > 1 else found
    return found, swapped, {"runs": run_law(runs), **witness}


def _pair(ahead: Best, behind: Best, tail: float, seen: float) -> FinitePair:
    """The sums at some ratios, as a finite pair; what is lost below 0 matters less."""
    ends = behind.end(seen), ahead.end(tail)
    listed = ratios(*ends, (-ends[0], ends[1]), count=_COUNT)
    points = []
    for t in listed:
        bounds = [ahead.delta(float(t))] if t >= 1 else []
        bounds += [behind.delta(float(1 / t))] if t <= 1 else []
        points.append(point(t, max(bounds) + _SPARE * tail))  # differences of masses cancel
    return above(points)


def _sum(pair: FinitePair, runs: RunLaw) -> Best:
    """Cuts at which phi' changes evenly, and the checker's sum over them."""
    outcomes = sorted((b / a, a, b) for a, b in zip(pair.p, pair.q, strict=True) if a)
    ratio, p, q = (np.array([float(one[i]) for one in outcomes]) for i in range(3))
    k, least = (np.concatenate([[0.0], np.cumsum(one)]) for one in (p, q))
    logs = np.log(runs.derivative(np.clip(1.0 - k, 0.0, 1.0)) + _FAINT * runs.mean)
    parts = np.maximum(np.ceil(-np.diff(logs) / _CHANGE), 1.0).astype(int)
    masses = _masses(k, least, runs)
    ends = [
        (a * (n + 1) / int(count) + start)
        for (_, a, _), start, count in zip(outcomes, _sums(outcomes), parts, strict=True)
        for n in range(int(count))
    ]
    first = np.array([bisect_left(masses, end) for end in ends])
    share = np.concatenate([np.arange(n) / n for n in parts])
    place = np.repeat(np.arange(p.size), parts)
    width, rise = (one[place] / parts[place] for one in (p, q))
    starts = np.stack([k[place] + share * p[place], least[place] + share * q[place]])
    x = np.array([float(one) for one in masses])
    both = np.stack([starts, starts + np.stack([width, rise])])
    gains, costs = _grid(runs, (k, least, ratio), x, both, first)
    slopes = ratio[place]
    near = x[first] - both[:, 0]
    value = float(runs.derivative(np.zeros(1))[0])
    beside = value + _bend(runs) * slopes * near
    if runs.largest is not None:
        share = np.minimum(slopes, 1.0) ** (runs.largest - 1) * (1 - _SLIP)
        other = share * runs.derivative(np.clip(near, 0.0, 1.0))
        beside = np.where(other[0] > beside[0], other, beside)
    row = np.arange(first.size)
    costs[:, row, first] = np.minimum(costs[:, row, first], beside)
    flat = np.full((2, first.size, 1), value)
    return Best(
        parts.tolist(),
        masses,
        slopes,
        width,
        np.concatenate([flat, gains], axis=2),
        np.concatenate([flat, np.where(np.isfinite(gains), costs, 0.0)], axis=2),
    )


def _masses(k: Reals, least: Reals, runs: RunLaw) -> list[Fraction]:
    """From 0 to 1, where log phi'(c) and log phi'(A(c)) change evenly."""
    fine = 1.0 - np.geomspace(1.0, _SMALLEST, _FINE)
    values = (runs.derivative(np.clip(c, 0.0, 1.0)) for c in (fine, np.interp(fine, k, least)))
    along = sum((np.log(one + _FAINT * runs.mean) for one in values), np.zeros(_FINE))
    along = np.maximum.accumulate(along)
    count = int(np.clip((along[-1] - along[0]) / _CHANGE, *_CELLS))
    chosen = np.interp(np.linspace(along[0], along[-1], count), along, 1.0 - fine)
    inside = {1 - short_up(float(a), _MASS_BITS) for a in chosen}
    return sorted({c for c in inside if 0 < c < 1} | {Fraction(0), Fraction(1)})


def _sums(outcomes: list[tuple[Fraction, Fraction, Fraction]]) -> list[Fraction]:
    """Where the outcomes begin, exactly."""
    return list(accumulate((a for _, a, _ in outcomes[:-1]), initial=Fraction(0)))


def _bend(runs: RunLaw) -> float:
    """At or below phi'' at 0."""
    near = runs.derivative(np.array([0.0, _NEAR]))
    if near[0] > 0.0:
        return float(near[0] * runs.growth(np.zeros(1))[0])
    return float(near[1] / _NEAR) * (1 - _SLIP)


def _grid(
    runs: RunLaw,
    curve: tuple[Reals, Reals, Reals],
    x: Reals,
    ends: Reals,
    first: NDArray[np.intp],
) -> tuple[Reals, Reals]:
    """What a mass adds, and at most takes: lines below A and tangents of phi' on every cell."""
    k, least, ratio = curve
    at = np.clip(np.searchsorted(k, 0.5 * (x[1:] + x[:-1]), side="right") - 1, 0, ratio.size - 1)
    line = [least[at] + ratio[at] * (one - k[at]) for one in (x[:-1], x[1:])]
    inside = ends[:, 1, :, None]
    lowest = runs.derivative(np.zeros(1))[0]
    middle, low = 0.5 * (line[0] + line[1]) - inside.mean(axis=0), line[0] - inside[1]
    plane = _plane(runs, middle, line, inside)
    plane = np.where(plane[1, 0] >= lowest, plane, _plane(runs, low, line, inside))
    plane = np.maximum(plane, 0.0)
    used = np.arange(x.size) >= first[:, None]
    plane = np.where(used[:, :-1], plane, math.inf)
    beside = np.full((2, first.size, 1), math.inf)
    costs = np.minimum(
        np.concatenate([plane[:, 0], beside], axis=2), np.concatenate([beside, plane[:, 1]], axis=2)
    )
    gains = runs.derivative(np.clip(x - ends[:, 0, :, None], 0.0, 1.0))
    return np.where(used, gains, -math.inf), costs


def _plane(runs: RunLaw, z: Reals, line: Sequence[Reals], inside: Reals) -> Reals:
    """The tangent of phi' at z, at both ends of the rows and of the cells."""
    z = np.clip(z, 0.0, 1.0)
    value = runs.derivative(z)
    tilt = value * runs.growth(z)
    return np.array([[value + tilt * (one - known - z) for one in line] for known in inside])
