"""Witnesses for the best of some runs of finite pairs: Theorem 1 of proofs/selection.md as a sum.

The checker cuts the outcomes into blocks and the mass below an outcome into cells, and repeats the
sum (proofs/selection.md, Section 7). Nothing here is trusted: poor cuts make a larger bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from accountant.certify.finite import paired
from accountant.certify.json_form import Object, law_work, run_law
from accountant.errors import NotCertified
from accountant.guarantees.rounding import short_up
from accountant.numerics.enclosure import Reals
from accountant.pairs.finite import FinitePair
from accountant.runs.law import RunLaw
from proofs.certificate import Json, show_rational

_CHANGE = 0.03  # of log phi' over a cell
_FAINT = 1e-6  # of phi'(1): smaller values need no fine cells
_CELLS = 60, 400
_BLOCKS, _MORE_BLOCKS, _FEW = 200, 350, 100  # the latter for at most so many outcomes
_COUNT = 512  # ratios
_MOST_WORK = 15 << 20  # that the checker does for both directions, with some to spare
_FINE, _SMALLEST, _MASS_BITS = 2_000, 1e-12, 20
_FINER, _KINK_BITS = 4, 40
_NEAR, _SLIP = 1e-9, 1e-6
_HEAD, _STEEPER = 0.5, 1.3  # of the outcomes of most loss, where a few runs go by chords
_SPARE = 0.01  # of the tail
_SHORTEST = 1e-3

Curve = tuple[Reals, Reals, Reals]
"""The least masses under Q of some masses under P, and the ratios of the outcomes between."""


@final
@dataclass(frozen=True, slots=True)
class Best:
    """One direction's sum, of (gain - t cost)_+ at a ratio t >= 1.

    Attributes:
        blocks: the ends of the blocks of outcomes by falling loss.
        masses: the ends of the cells.
        close: for each block, of how many cells after it chords bound A better than tangents.
        turn: gain over cost, falling, shape (n,).
        gain: sums of the first gains, shape (n + 1,).
        cost: of the first costs, shape (n + 1,).
    """

    blocks: list[Fraction]
    masses: list[Fraction]
    close: list[int]
    turn: Reals
    gain: Reals
    cost: Reals

    def delta(self, t: Reals) -> Reals:
        """The sum at ratios t >= 1."""
        place = np.searchsorted(-self.turn, -t, side="right")
        return np.asarray(self.gain[place] - t * self.cost[place])

    def end(self, tail: float) -> float:
        """A log t beyond which the sum falls by little more."""
        turns = self.turn[np.isfinite(self.turn) & (self.turn > 1.0)]
        if not turns.size:
            return _SHORTEST
        left = self.delta(turns) - self.delta(turns[0])
        return float(np.log(turns[left <= tail].min()))

    def witness(self) -> Json:
        """In the certificate's JSON."""
        listed = {"blocks": self.blocks, "masses": self.masses}
        cuts: dict[str, Json] = {
            name: [show_rational(c) for c in found] for name, found in listed.items()
        }
        return {**cuts, "close": [*self.close]} if any(self.close) else cuts


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
    if sum(_work(one, runs, len(names[name].p)) for name, one in sums.items()) > _MOST_WORK:
        raise NotCertified(
            "bounding the best of these runs takes more work than the checker does; select from "
            "fewer outcomes or runs, or certify the runs without the selection"
        )
    ahead, behind = sums["forward"], sums.get("backward", sums["forward"])
    found = paired(ahead, behind, tail, one_way=len(sums) == 1, count=_COUNT)
    witness: Object = {name: one.witness() for name, one in sums.items()}
    swapped = FinitePair(p=found.q, q=found.p) if len(sums) > 1 else found
    return found, swapped, {"runs": run_law(runs), **witness}


def _work(one: Best, runs: RunLaw, outcomes: int) -> int:
    """What the checker counts for a sum (proofs/rules/select_pair.py), or somewhat more."""
    blocks = len(one.blocks)
    return len(one.masses) * (blocks * (2 * law_work(runs) + 16) + 4 * (blocks + outcomes))


def _sum(pair: FinitePair, runs: RunLaw) -> Best:
    """Cuts at which phi' changes evenly, and the checker's sum over them."""
    outcomes = sorted((b / a, a, b) for a, b in zip(pair.p, pair.q, strict=True) if a)
    ratio, p, q = (np.array([float(one[i]) for one in outcomes]) for i in range(3))
    k, least = (np.concatenate([[0.0], np.cumsum(one)]) for one in (p, q))
    curve = k, least, ratio
    blocks, masses = _blocks(curve, runs), _masses(curve, runs)
    first = np.array([bisect_left(masses, end) for end in blocks[1:]])
    cuts, x = (np.array([float(one) for one in listed]) for listed in (blocks, masses))
    known = np.interp(cuts, k, least)
    both = np.array([[cuts[:-1], known[:-1]], [cuts[1:], known[1:]]])
    gains, costs, close = _grid(runs, curve, x, both, first)
    slopes = ratio[_place(curve, cuts[:-1])]
    near = x[first] - both[:, 0]
    value = float(runs.derivative(np.zeros(1))[0])
    beside = value + _bend(runs) * slopes * near
    if runs.largest is not None:
        share = np.minimum(slopes, 1.0) ** (runs.largest - 1) * (1 - _SLIP)
        other = share * runs.derivative(np.clip(near, 0.0, 1.0))
        beside = np.where(other[0] > beside[0], other, beside)
    row = np.arange(first.size)
    costs[:, row, first] = np.minimum(costs[:, row, first], beside)
    gains, costs = (np.insert(one, 0, value, axis=2) for one in (gains, costs))
    gain, cost = _terms(gains, costs, first, _shares(curve, cuts))
    with np.errstate(divide="ignore"):
        turn = gain / cost
    order = np.argsort(-turn)
    sums = (np.insert(np.cumsum(one[order]), 0, 0.0) for one in (gain, cost))
    return Best(blocks, masses, close.tolist(), turn[order], *sums)


def _terms(
    gains: Reals, costs: Reals, first: NDArray[np.intp], shares: list[list[tuple[Reals, Reals]]]
) -> tuple[Reals, Reals]:
    """The gains and costs of all terms, those of no gain left out."""
    found = []
    for end, listed in enumerate(shares):
        for block, (weight, ratio) in enumerate(listed):
            used = np.append(0, np.arange(first[block] + 1, gains.shape[2]))
            gain, cost = _steps(gains[end, block, used], costs[end, block, used])
            scaled = np.outer(weight, gain), np.outer(weight * ratio, cost)
            found.append(np.stack([one.ravel() for one in scaled]))
    gain, cost = np.concatenate(found, axis=1)
    return gain[gain > 0.0], cost[gain > 0.0]


def _steps(gains: Reals, costs: Reals) -> Reals:
    """Gains and costs of the steps along the convex hull, from nothing on: shape (2, n)."""
    order = np.lexsort((gains, costs))
    found: list[tuple[float, float]] = []
    x = y = 0.0
    for gain, cost in zip(gains[order].tolist(), costs[order].tolist(), strict=True):
        if gain <= x:
            continue
        step = gain - x, cost - y
        x, y = gain, cost
        while found and step[0] * found[-1][1] >= found[-1][0] * step[1]:
            last = found.pop()
            step = step[0] + last[0], step[1] + last[1]
        found.append(step)
    return np.array(found).reshape(-1, 2).T


def _shares(curve: Curve, cuts: Reals) -> list[list[tuple[Reals, Reals]]]:
    """For each end, of every block the masses of its outcomes, shared, and their ratios."""
    k, _, ratio = curve
    every = np.union1d(k, cuts)
    middle, width = 0.5 * (every[1:] + every[:-1]), np.diff(every)
    block = np.clip(np.searchsorted(cuts, middle) - 1, 0, cuts.size - 2)
    share = np.clip((middle - cuts[block]) / np.diff(cuts)[block], 0.0, 1.0)
    starts = np.searchsorted(block, np.arange(1, cuts.size - 1))
    scale = ratio[_place(curve, middle)]
    return [
        list(zip(np.split(width * part, starts), np.split(scale, starts), strict=True))
        for part in (1.0 - share, share)
    ]


def _place(curve: Curve, k: Reals) -> NDArray[np.intp]:
    """The outcomes after some masses."""
    found = np.searchsorted(curve[0], k, side="right") - 1
    return np.clip(found, 0, curve[2].size - 1)


def _blocks(curve: Curve, runs: RunLaw) -> list[Fraction]:
    """From 0 to 1, so that what a block loses is as much everywhere."""
    k, least, ratio = curve
    logs = _log(runs, 1.0 - k)
    parts = np.maximum(np.ceil(-_FINER * np.diff(logs) / _CHANGE), 1.0).astype(int)
    place = np.repeat(np.arange(ratio.size), parts)
    share = np.concatenate([np.arange(n) / n for n in parts])
    at = k[place] + share * np.diff(k)[place]
    known = least[place] + share * np.diff(least)[place]
    growth = runs.growth(np.clip(1.0 - known, 0.0, 1.0))
    logs = np.maximum(
        _log(runs, 1.0) - _log(runs, 1.0 - at), _log(runs, 1.0) - _log(runs, 1.0 - known)
    )
    blocks = _BLOCKS if ratio.size > _FEW else _MORE_BLOCKS
    most = max(_CHANGE, float(logs.max()) / blocks) ** 2 / 12
    slopes, found = ratio[place], [0]
    for n in range(1, at.size):
        start = found[-1]
        lost = (logs[n] - logs[start]) ** 2 / 12
        lost += growth[start] * (slopes[n - 1] - slopes[start]) * (at[n] - at[start]) / 8
        steep = runs.largest and at[n] < _HEAD and slopes[n - 1] > slopes[start] * _STEEPER
        if (lost > most or steep) and n - 1 > start:
            found.append(n - 1)
    return sorted({_short(float(at[n])) for n in found} | {Fraction(0), Fraction(1)})


def _log(runs: RunLaw, z: Reals | float) -> Reals:
    """Log phi', where it is not negligible."""
    return np.asarray(np.log(runs.derivative(np.clip(z, 0.0, 1.0)) + _FAINT * runs.mean))


def _short(mass: float) -> Fraction:
    """About a mass."""
    return short_up(mass, _KINK_BITS) if mass < 0.5 else 1 - short_up(1 - mass, _KINK_BITS)


def _masses(curve: Curve, runs: RunLaw) -> list[Fraction]:
    """From 0 to 1, where log phi'(c) and log phi'(A(c)) change evenly, and where A bends much."""
    k, least, ratio = curve
    fine = 1.0 - np.geomspace(1.0, _SMALLEST, _FINE)
    along = _log(runs, fine) + _log(runs, np.interp(fine, k, least))
    along = np.maximum.accumulate(along)
    count = int(np.clip((along[-1] - along[0]) / _CHANGE, *_CELLS))
    chosen = np.interp(np.linspace(along[0], along[-1], count), along, 1.0 - fine)
    inside = {1 - short_up(float(a), _MASS_BITS) for a in chosen}
    inner, width = k[1:-1], np.interp(k[1:-1], 1.0 - chosen[1:], np.abs(np.diff(chosen)))
    bent = runs.growth(np.clip(least[1:-1], 0.0, 1.0)) * np.diff(ratio) * width
    inside |= {_short(float(one)) for one in inner[bent > _CHANGE**2]}
    return sorted({c for c in inside if 0 < c < 1} | {Fraction(0), Fraction(1)})


def _bend(runs: RunLaw) -> float:
    """At or below phi'' at 0."""
    near = runs.derivative(np.array([0.0, _NEAR]))
    if near[0] > 0.0:
        return float(near[0] * runs.growth(np.zeros(1))[0])
    return float(near[1] / _NEAR) * (1 - _SLIP)


def _grid(
    runs: RunLaw,
    curve: Curve,
    x: Reals,
    ends: Reals,
    first: NDArray[np.intp],
) -> tuple[Reals, Reals, NDArray[np.intp]]:
    """What a mass adds, and at most takes, on every cell, and of how many cells by chords.

    Lines below A and tangents of phi', or chords of A where they are better.
    """
    k, least, ratio = curve
    at = _place(curve, 0.5 * (x[1:] + x[:-1]))
    line = [least[at] + ratio[at] * (one - k[at]) for one in (x[:-1], x[1:])]
    inside = ends[:, 1, :, None]
    lowest = runs.derivative(np.zeros(1))[0]
    middle, low = 0.5 * (line[0] + line[1]) - inside.mean(axis=0), line[0] - inside[1]
    plane = _plane(runs, middle, line, inside)
    plane = np.where(plane[1, 0] >= lowest, plane, _plane(runs, low, line, inside))
    start = np.interp(x[:-1], k, least)
    other = [start, start + ratio[_place(curve, x[:-1])] * np.diff(x)]
    plane = np.where(plane[1, 0] >= 0.0, plane, _plane(runs, start - inside[1], other, inside))
    used = np.arange(x.size - 1) >= first[:, None]
    plane = np.where(used, plane, math.inf)
    gains = runs.derivative(np.clip(x - ends[:, 0, :, None], 0.0, 1.0))
    share = _chords(runs, x[:-1], start, ends[0]) * used
    better = (share * gains[:, :, :-1] >= plane[:, 0]) | (share * gains[:, :, 1:] >= plane[:, 1])
    close = np.argmin(
        np.append(better.all(axis=0) | ~used, np.zeros((first.size, 1)), axis=1), axis=1
    )
    chosen = used & (np.arange(x.size - 1) < close[:, None])
    plane[:, 0] = np.where(chosen, math.inf, plane[:, 0])
    plane[:, 1] = np.where(chosen, share * gains[:, :, 1:], plane[:, 1])
    beside = np.full((2, first.size, 1), math.inf)
    costs = np.minimum(
        np.concatenate([plane[:, 0], beside], axis=2), np.concatenate([beside, plane[:, 1]], axis=2)
    )
    return gains, costs, np.maximum(close - first, 0)


def _chords(runs: RunLaw, x: Reals, least: Reals, starts: Reals) -> Reals:
    """r^(n-1) for at most n runs, r the slopes of A's chords from the blocks' beginnings to x.

    Shape (blocks, x.size); 0 where the number of runs has no largest.
    """
    if runs.largest is None:
        return np.zeros((starts.shape[1], x.size))
    rise, run = (one - mine[:, None] for one, mine in ((least, starts[1]), (x, starts[0])))
    slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0.0)
    return np.asarray(np.clip(slope, 0.0, 1.0) ** (runs.largest - 1) * (1 - _SLIP))


def _plane(runs: RunLaw, z: Reals, line: Sequence[Reals], inside: Reals) -> Reals:
    """The tangent of phi' at z, at both ends of the rows and of the cells."""
    z = np.clip(z, 0.0, 1.0)
    value = runs.derivative(z)
    tilt = value * runs.growth(z)
    return np.array([[value + tilt * (one - known - z) for one in line] for known in inside])
