"""Make witnesses for the best of some runs of finite pairs: proofs/theory/selection.md, Theorem 1.

The checker cuts the outcomes into blocks and the mass below an outcome into cells, and repeats the
sum (proofs/theory/selection.md, Section 7). Heuristic: poor cuts make a larger bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals, float_up
from dpproof.accountant.certificates.format.serialize import Object, law_work, run_law
from dpproof.accountant.certificates.selection.finite_base import Aim, pair_of_bounds
from dpproof.accountant.certificates.selection.partition import Cuts
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Json, show_rational


def exact_curve(pair: FinitePair) -> NeymanPearsonCurve:
    """Return the curve of a finite pair, from the outcomes with mass under P.

    Corners are rounded up: a float is at or beyond one of them exactly if it is at or beyond the
    corner itself, which the checker compares it with.
    """
    listed = sorted((b / a, a, b) for a, b in zip(pair.p, pair.q, strict=True) if a)
    ratio = np.array([float(one) for one, _, _ in listed])
    k, least = _sums(a for _, a, _ in listed), _sums(b for _, _, b in listed)
    return NeymanPearsonCurve(k, least, ratio)


def _sums(masses: Iterable[Fraction]) -> Reals:
    """Return the exact sums of the first masses, from 0 on, rounded up."""
    return np.array([float_up(one) for one in accumulate(masses, initial=Fraction(0))])


_COUNT = 1024  # Ratios of all selections.
# Shares of the checker's work, alone and inside a composition: profiles and the last sum take the
# rest.
_ALONE = limits.MAX_WORK * 11 // 24
_AMONG = limits.MAX_WORK * 9 // 24
_CELLS = 2.4  # Cells for each block.
_BLOCKS = 8, 288  # Fewest and most blocks.
_SHORTEST = 1e-3  # Least end of a table, nats.
_UNIT = 2.0**-128  # The checker's unit of rounding.


@final
@dataclass(frozen=True, slots=True)
class BestOfRuns:
    """One direction's sum of (gain - t cost)_+ at ratios t >= 1, by blocks of outcomes and cells.

    ``close`` says for each block of how many cells after it chords bound A better than tangents.
    ``turn`` is gain over cost, falling; ``gain`` and ``cost`` are sums of the first ones.
    ``room`` is at least what the checker's roundings add.
    """

    blocks: list[Fraction]
    masses: list[Fraction]
    close: list[int]
    turn: Reals
    gain: Reals
    cost: Reals
    room: float

    def delta(self, t: Reals) -> Reals:
        """Return the sum at ratios t >= 1."""
        place = np.searchsorted(-self.turn, -t, side="right")
        return np.asarray(self.gain[place] - t * self.cost[place] + self.room)

    def end(self, tail: float) -> float:
        """Return a log t beyond which the sum falls by a negligible amount."""
        turns = self.turn[np.isfinite(self.turn) & (self.turn > 1.0)]
        if not turns.size:
            return _SHORTEST
        left = self.delta(turns) - self.delta(turns[0])
        return float(np.log(turns[left <= tail].min()))

    def witness(self) -> Json:
        """Return the cuts in the certificate's JSON."""
        listed = {"blocks": self.blocks, "masses": self.masses}
        cuts: dict[str, Json] = {
            name: [show_rational(c) for c in numbers] for name, numbers in listed.items()
        }
        return {**cuts, "close": [*self.close]} if any(self.close) else cuts


def pairs_above_best(
    forward: FinitePair, backward: FinitePair, runs: RunLaw, aim: Aim
) -> tuple[FinitePair, FinitePair, Object]:
    """Return finite pairs above the best of some runs of finite pairs, and their witness."""
    names = {"forward": forward}
    if forward != backward:
        names["backward"] = backward
    work = (_ALONE if aim.epsilon else _AMONG) // (len(names) * aim.selections)
    sums = {name: _sum(pair, runs, aim.tail, work) for name, pair in names.items()}
    ahead, behind = sums["forward"], sums.get("backward", sums["forward"])
    finite = pair_of_bounds(
        ahead, behind, aim, one_way=len(sums) == 1, count=_COUNT // aim.selections
    )
    witness: Object = {name: one.witness() for name, one in sums.items()}
    swapped = FinitePair(p=finite.q, q=finite.p) if len(sums) > 1 else finite
    return finite, swapped, {"runs": run_law(runs), **witness}


def _sizes(runs: RunLaw, outcomes: int, work: int) -> tuple[int, int]:
    """Return how many blocks and masses fit into the checker's work."""
    least, size = _BLOCKS
    law = law_work(runs)
    while size > least and limits.blocks_work(size, int(_CELLS * size), outcomes, law) > work:
        size -= 1
    return size, int(_CELLS * size)


def _sum(pair: FinitePair, runs: RunLaw, tail: float, work: int) -> BestOfRuns:
    """Return cuts within the checker's work, and its sum over them."""
    base = exact_curve(pair)
    cuts = Cuts.of(base, runs, tail, *_sizes(runs, len(pair.p), work))
    grid, first = cuts.grid, cuts.grid.first
    value = float(runs.derivative(np.zeros(1))[0])
    gains = np.insert(grid.gains, 0, value, axis=2)
    costs = np.maximum(np.insert(grid.costs(cuts.close), 0, value, axis=2) - _rounded(runs), 0.0)
    ends = np.array([float(one) for one in cuts.blocks])
    gain, cost = _terms(gains, costs, first, _shares(base, ends))
    with np.errstate(divide="ignore"):
        turn = gain / cost
    order = np.argsort(-turn)
    gains, costs = (np.insert(np.cumsum(one[order]), 0, 0.0) for one in (gain, cost))
    room = _UNIT * order.size * (1.0 + runs.mean)
    close = cuts.close.tolist()
    return BestOfRuns(cuts.blocks, cuts.masses, close, turn[order], gains, costs, room)


def _rounded(runs: RunLaw) -> float:
    """Return what the checker's roundings take from a cost, in A and in its last unit."""
    bend = runs.mean * float(runs.growth(np.ones(1))[0])
    return 4.0 * _UNIT * (1.0 + bend)


def _terms(
    gains: Reals, costs: Reals, first: NDArray[np.intp], shares: list[list[tuple[Reals, Reals]]]
) -> tuple[Reals, Reals]:
    """Return the gains and costs of all terms with a gain."""
    terms = []
    for end, listed in enumerate(shares):
        for block, (weight, ratio) in enumerate(listed):
            used = np.append(0, np.arange(first[block] + 1, gains.shape[2]))
            gain, cost = _steps(gains[end, block, used], costs[end, block, used])
            scaled = np.outer(weight, gain), np.outer(weight * ratio, cost)
            terms.append(np.stack([one.ravel() for one in scaled]))
    gain, cost = np.concatenate(terms, axis=1)
    return gain[gain > 0.0], cost[gain > 0.0]


def _steps(gains: Reals, costs: Reals) -> Reals:
    """Return gains and costs of the steps along the convex hull, from 0 on, shape (2, n)."""
    order = np.lexsort((gains, costs))
    steps: list[tuple[float, float]] = []
    x = y = 0.0
    for gain, cost in zip(gains[order].tolist(), costs[order].tolist(), strict=True):
        if gain <= x:
            continue
        step = gain - x, cost - y
        x, y = gain, cost
        while steps and step[0] * steps[-1][1] >= steps[-1][0] * step[1]:
            last = steps.pop()
            step = step[0] + last[0], step[1] + last[1]
        steps.append(step)
    return np.array(steps).reshape(-1, 2).T


def _shares(base: NeymanPearsonCurve, cuts: Reals) -> list[list[tuple[Reals, Reals]]]:
    """Return for each end and block the shared masses of its outcomes, and their ratios."""
    middle, width, block, share = base.parts(cuts)
    starts = np.searchsorted(block, np.arange(1, cuts.size - 1))
    scale = base.ratio[base.place(middle)]
    return [
        list(zip(np.split(width * part, starts), np.split(scale, starts), strict=True))
        for part in (1.0 - share, share)
    ]
