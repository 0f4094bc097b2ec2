"""Private selection from finite pairs: the worst score, from above at the corners of finite pairs.

proofs/selection.md, Theorem 1 and Section 7. With A(x) the least mass under Q of a set of mass x
under P, the profile of the selection at t = e^epsilon >= 1 is at most the integral over k in [0, 1]
of the largest phi'(x - k) - t A'(k) phi'(A(x) - A(k)), x from k to 1, where that is above 0.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Final, TypeAlias, final

from flint import arb, ctx

from proofs.arithmetic import ball, show
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.pairs.finite import FinitePair
from proofs.rules.finite_pair import alone
from proofs.rules.rule import Application
from proofs.rules.select import selects
from proofs.runs import Runs, read_runs
from proofs.statement import Pairs

BITS: Final = 96
Edge: TypeAlias = tuple[Fraction, Fraction]
"""A mass k under P, and A(k)."""
Outcome: TypeAlias = tuple[Fraction, Fraction, Fraction]
"""Q's mass over P's, P's, and Q's."""
Bound: TypeAlias = Callable[[Fraction], Fraction]
"""At or above the selection's profile, as a function of a ratio t >= 1."""


def pair(step: Application) -> tuple[str, ...]:
    """Finite pairs -> finite pairs above the best of some runs.

    Source: proofs/selection.md, Theorem 1 and Section 7.
    """
    runs = read_runs(step.witness.take("runs"))
    base, claim = step.only(Pairs), step.concludes(Pairs)
    forward, backward = (alone(one, "concludes") for one in (claim.forward, claim.backward))
    ways = {"forward": base.forward}
    if base.forward != base.backward:
        ways["backward"] = base.backward
    bounds = []
    for name, product in ways.items():
        one, fields = alone(product, "takes"), Fields(step.witness.take(name), name)
        parts, masses = fields.wholes("parts"), fields.rationals("masses")
        fields.close()
        asked = 4 * (len(forward.p) + len(backward.p))
        step.budget.spend(sum(parts) * (len(masses) * (2 * runs.work + 16) + asked))
        bounds.append(sums(runs, one, parts, masses))
    _require_above(forward, bounds[0], bounds[-1])
    _require_above(backward, bounds[-1], bounds[0])
    return selects(step, runs)


def _require_above(pair: FinitePair, ahead: Bound, behind: Bound) -> None:
    """Accept a pair above the bounds, for t < 1 by H_t(P || Q) = 1 - t + t H_{1/t}(Q || P)."""
    for t, allowed in pair.corners():
        found = ahead(t) if t >= 1 else 1 - t + t * behind(1 / t)
        if found > allowed:
            raise RefusedError(
                f"the profile at ratio {show(t)} may be {show(found)}, above {show(allowed)}"
            )


@final
@dataclass(frozen=True, slots=True)
class End:
    """One end of a row: what may be best for some scale, by rising cost, in units of 2^-BITS.

    Attributes:
        gains: growing.
        costs: growing.
        turns: the largest scale at which the next is as good, times -1, growing.
    """

    gains: list[int]
    costs: list[int]
    turns: list[int]

    @staticmethod
    def of(gains: list[int], costs: list[int]) -> End:
        """The corners of the convex hull, by exact arithmetic."""
        best: dict[int, int] = {}
        for gain, cost in zip(gains, costs, strict=True):
            best[cost] = max(gain, best.get(cost, gain))
        x: list[int] = []
        y: list[int] = []
        turns: list[int] = []
        for cost, gain in sorted(best.items()):
            while turns and _turn(gain - x[-1], cost - y[-1]) <= turns[-1]:
                del x[-1], y[-1], turns[-1]
            if x:
                turns.append(_turn(gain - x[-1], cost - y[-1]))
            x.append(gain)
            y.append(cost)
        return End(x, y, turns)

    def most(self, scale: int) -> int:
        """The largest gain less a multiple of its cost, or 0."""
        place = bisect(self.turns, -scale)
        return max(0, (self.gains[place] << BITS) - scale * self.costs[place])


@final
@dataclass(frozen=True, slots=True)
class Row:
    """Masses k from one to another on which A' is constant; its width in units of 2^-BITS."""

    ratio: Fraction
    width: int
    ends: list[End]


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """Masses x between neighbours, with a line that is nowhere above A: its value at either end."""

    left: arb
    right: arb


def sums(
    runs: Runs, base: FinitePair, parts: tuple[int, ...], masses: tuple[Fraction, ...]
) -> Bound:
    """The trapezoid sum over the rows, as a function of t >= 1."""
    if len(masses) < 2 or list(masses) != sorted(set(masses)) or masses[0] != 0 or masses[-1] != 1:
        raise RefusedError("the masses must grow from 0 to 1")
    outcomes = sorted((b / a, a, b) for a, b in zip(base.p, base.q, strict=True) if a)
    if len(parts) != len(outcomes) or min(parts) < 1:
        raise RefusedError("the rule takes a number of parts for each outcome that P has")
    with ctx.workprec(BITS + 32):
        rows = list(_rows(runs, outcomes, parts, masses))

    @cache
    def total(t: Fraction) -> Fraction:
        found = 0
        for row in rows:
            above, below = t.numerator * row.ratio.numerator, t.denominator * row.ratio.denominator
            scale = (above << BITS) // below
            found += row.width * sum(end.most(scale) for end in row.ends)
        return Fraction(found, 1 << 3 * BITS + 1)

    return total


def _turn(gain: int, cost: int) -> int:
    """The largest scale at which so much more gain is worth so much more cost, times -1."""
    return -((gain << BITS) // cost)


def _rows(
    runs: Runs, outcomes: list[Outcome], parts: tuple[int, ...], masses: tuple[Fraction, ...]
) -> Iterator[Row]:
    """The outcomes by falling loss, each cut into equal parts."""
    edges = [(Fraction(0), Fraction(0))]
    for _, p, q in outcomes:
        edges.append((edges[-1][0] + p, edges[-1][1] + q))
    cells, placed = _cells(outcomes, edges, masses), [ball(x) for x in masses]
    for (ratio, p, q), (k, least), count in zip(outcomes, edges, parts, strict=False):
        cuts = [(k + p * n / count, least + q * n / count) for n in range(count + 1)]
        for ends in pairwise(cuts):
            first = bisect_left(masses, ends[1][0])
            near = _near(runs, ratio, [masses[first] - k for k, _ in ends])
            costs = _costs(runs, near, cells[first:], [least for _, least in ends])
            gains = (_gains(runs, placed[first:], ball(k)) for k, _ in ends)
            found = [End.of(*both) for both in zip(gains, costs, strict=True)]
            yield Row(ratio, ceil((p / count) * (1 << BITS)), found)


def _gains(runs: Runs, masses: list[arb], k: arb) -> list[int]:
    """At or above phi'(0) and phi'(x - k)."""
    below = [arb(0), *((x - k).max(0).min(1) for x in masses)]
    return [-_units(-runs.phi(1, z)) for z in below]


def _cells(outcomes: list[Outcome], edges: list[Edge], masses: tuple[Fraction, ...]) -> list[Cell]:
    """The line of the outcome in the middle of each cell."""
    found = []
    for left, right in pairwise(masses):
        place = min(bisect(edges, ((left + right) / 2, Fraction(1))), len(outcomes)) - 1
        k, least = edges[place]
        ends = (least + outcomes[place][0] * (x - k) for x in (left, right))
        found.append(Cell(*map(ball, ends)))
    return found


def _near(runs: Runs, ratio: Fraction, widths: list[Fraction]) -> list[arb]:
    """At either end of a row the bound at the first x, from k to which A has the row's slope.

    By the tangent at 0, or for at most n runs by phi'(r c) >= r^(n-1) phi'(c) for r <= 1.
    """
    value, tilt = runs.phi(1, arb(0)), runs.phi(2, arb(0))
    found = [value + tilt * ball(ratio * width) for width in widths]
    if runs.largest is not None:
        share = ball(min(ratio, Fraction(1))) ** (runs.largest - 1)
        other = [share * runs.phi(1, ball(width)) for width in widths]
        found = other if other[0] > found[0] else found
    return found


def _costs(
    runs: Runs, near: list[arb], cells: list[Cell], known: list[Fraction]
) -> list[list[int]]:
    """At or below phi'(0) and phi'(A(x) - A(k)), at both ends of a row.

    On a cell A is above a line, and phi' above a tangent, which grows: the result is linear in x
    and in k. Where the tangent in the middle of the cell falls below phi'(0), it is taken at the
    least value. An x between two cells takes the smaller bound.
    """
    lowest, ends = runs.phi(1, arb(0)), [ball(least) for least in known]
    found = [[lowest, one] for one in near]
    for cell in cells:
        middle = (cell.left + cell.right - ends[0] - ends[1]) / 2
        plane = _plane(runs, middle, cell, ends)
        if not plane[1][0] >= lowest:
            plane = _plane(runs, cell.left - ends[1], cell, ends)
        for side, (left, right) in zip(found, plane, strict=True):
            side[-1:] = [left.min(side[-1]), right]
    return [[max(_units(one), 0) for one in side] for side in found]


def _plane(runs: Runs, z: arb, cell: Cell, ends: list[arb]) -> list[list[arb]]:
    """The tangent at z, cut to [0, 1], at both ends of the row and of the cell."""
    z = z.max(0).min(1)
    value, tilt = runs.phi(1, z), runs.phi(2, z)
    return [[value + tilt * (x - least - z) for x in (cell.left, cell.right)] for least in ends]


def _units(value: arb) -> int:
    """Rounded down to a whole number of 2^-BITS."""
    mantissa, exponent = map(int, value.lower().man_exp())
    shift = exponent + BITS
    return mantissa << shift if shift >= 0 else mantissa >> -shift
