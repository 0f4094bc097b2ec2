"""Stopping at a threshold, as finite pairs: the worst acceptance rule over rectangles of masses.

A rule accepts the outcomes of largest loss, of mass x under P, and those of lowest loss, of mass r.
With g(a) = (1 - phi(1-a))/a the divergence at t = e^epsilon is at most the largest of four terms,
each on a rectangle of x and r at most a function that is largest at a corner. Proofs:
proofs/theory/threshold.md, Theorem 2 and Section 6.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias

from flint import arb, ctx

from dpproof.proofs.balls.arithmetic import lower_units
from dpproof.proofs.balls.run_counts import Runs, read_runs
from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.rule import ALONE, FRESH, Application, Budget
from dpproof.proofs.core.statements import Pairs, Points
from dpproof.proofs.fields import wholes
from dpproof.proofs.limits import rectangle_work
from dpproof.proofs.rules.finite_pair import bound_at_ratio, profile_bounds, require_both_above
from dpproof.proofs.rules.select import HIDDEN

# Lines are rounded outwards to multiples of 2^-BITS; soundness does not depend on the number.
BITS: Final = 128
ONE: Final = 1 << BITS
# The least place of a tangent of g, which divides by it. Any number above 0 is sound (Lemma 3).
_LEAST: Final = Fraction(1, 1 << 40)
Line: TypeAlias = tuple[int, int]
"""A gain and a cost in units of 2^-BITS: the divergence gain - t cost at a ratio t."""


def pair(step: Application) -> tuple[str, ...]:
    """Check finite pairs above stopping at a threshold, from pairs and bounds of their profiles.

    Source: proofs/theory/threshold.md, Theorem 2 and Section 6.
    """
    runs, claim = read_runs(step.witness.take("runs")), step.concludes(Pairs)
    bounds = []
    for name, points in profile_bounds(step).items():
        fields = Fields(step.witness.take(name), name)
        best, worst = (
            _masses(fields, "best", len(points), 0),
            _masses(fields, "worst", len(points), 1),
        )
        fields.close()
        bounds.append(bound(runs, points, best, worst, step.budget))
    require_both_above(step, claim, [one.at for one in bounds])
    return stops(step, runs)


def stops(step: Application, runs: Runs) -> tuple[str, ...]:
    """Return, in words, what the theorem assumes about the runs, the score and the release."""
    (name,) = (name for name in step.mechanisms if name)
    drawn = f"a number of times that is drawn independently of everything ({runs.describe()})"
    until = (
        "until an output reaches a threshold by a score that looks at an output alone; score and "
        "threshold are fixed in advance and the same for all datasets"
    )
    made = f"runs {name} on the same data at most {drawn}, {until}"
    released = "its result is only that output, or that none did"
    return f"{made}; {released}, and {HIDDEN}", FRESH, ALONE


@frozen
class Masses:
    """Masses under P from 0 to 1, and for each cell between neighbours the place of a bound."""

    ends: tuple[Fraction, ...]  # of the cells
    places: tuple[int, ...]  # counted from 1; 0 if the cell uses no bound

    def cells(self) -> list[tuple[tuple[Fraction, Fraction], int]]:
        """Return both ends of every cell, and the number of its bound."""
        return list(zip(pairwise(self.ends), self.places, strict=True))


@frozen
class Cell:
    """Masses under P between two ends, and at the ends a linear bound of those under Q."""

    p: tuple[Fraction, Fraction]
    q: tuple[arb, arb]


@frozen
class Envelope:
    """The largest of some lines gain - t cost and 0."""

    lines: list[Line]  # the corners of the convex hull, gains and costs growing

    @staticmethod
    def of(lines: Iterator[Line]) -> Envelope:
        """Return the hull of the lines and of 0, by exact arithmetic."""
        hull: list[Line] = []
        for cost, gain in sorted((cost, gain) for gain, cost in {*lines, (0, 0)}):
            if hull and hull[-1][1] == cost:
                hull.pop()
            if hull and gain <= hull[-1][0]:
                continue
            while len(hull) > 1 and _is_above(hull[-2], (gain, cost), hull[-1]):
                hull.pop()
            hull.append((gain, cost))
        return Envelope(hull)

    def at(self, ratios: list[Fraction]) -> dict[Fraction, Fraction]:
        """Return the largest value at each ratio t > 0: along the corners it grows, then falls."""
        values = {}
        for t in ratios:
            first, last = 0, len(self.lines) - 1
            while first < last:
                middle = (first + last) // 2
                ahead = self._value(t, middle) < self._value(t, middle + 1)
                first, last = (middle + 1, last) if ahead else (first, middle)
            values[t] = Fraction(self._value(t, first), t.denominator << BITS)
        return values

    def _value(self, t: Fraction, place: int) -> int:
        gain, cost = self.lines[place]
        return gain * t.denominator - t.numerator * cost


def bound(runs: Runs, bounds: Points, best: Masses, worst: Masses, budget: Budget) -> Envelope:
    """Return the largest of all lines of all rectangles, those with x + r < 1 somewhere.

    ``best`` has masses x of the accepted outcomes of largest loss, ``worst`` r of those of lowest.
    """
    many = [bisect_left(worst.ends[:-1], 1 - x) for x in best.ends[:-1]]
    budget.spend(sum(many) * rectangle_work(runs.work))
    with ctx.workprec(BITS + 64):
        levels = [bound_at_ratio(*point) for point in bounds]
        top = [Cell(ends, _least(levels, place, ends)) for ends, place in best.cells()]
        low = [Cell(ends, _most(levels[place - 1], ends)) for ends, place in worst.cells()]
        return Envelope.of(
            line
            for x, count in zip(top, many, strict=True)
            for r in low[:count]
            for line in _rectangle(runs, x, r)
        )


def _least(
    levels: list[tuple[arb, arb]], place: int, ends: tuple[Fraction, Fraction]
) -> tuple[arb, arb]:
    """Return at most the least mass under Q of masses x under P, at both ends: (x - H_s)/s or 0."""
    if place:
        ratio, height = levels[place - 1]
        start, end = ((ball(x) - height) / ratio for x in ends)
        if start >= 0:
            return start, end
    return arb(0), arb(0)


def _most(line: tuple[arb, arb], ends: tuple[Fraction, Fraction]) -> tuple[arb, arb]:
    """Return, at both ends, at least the largest mass under Q: 1 - (1 - r - H_s)/s."""
    ratio, height = line
    start, end = (1 - (ball(1 - r) - height) / ratio for r in ends)
    return start, end


def _rectangle(runs: Runs, best: Cell, worst: Cell) -> Iterator[Line]:
    """Yield the lines at the corners of a rectangle.

    x g(x + r) is at most x times the chord of g, in which -x^2 is below its tangent, and y g(y + s)
    at least y times a tangent of g. phi(1 - a) is below its chord, phi(1 - b) above a tangent: that
    in the middle, or that at the largest b if the first is below 0 there. What results is linear in
    r and convex in x.
    """
    a = best.p[0] + worst.p[0], min(best.p[1] + worst.p[1], Fraction(1))
    length, first = ball(a[1] - a[0]), a[0]
    none = [runs.phi(0, ball(1 - one)) for one in a]
    # g, the mean number of runs that are made
    made = [
        (1 - left) / ball(one) if one else runs.phi(1, arb(1))
        for one, left in zip(a, none, strict=True)
    ]
    fall, lost = (made[0] - made[1]) / length, (none[0] - none[1]) / length
    bent = fall * ball(best.p[1] - best.p[0]) ** 2 / 4
    start, end = (y + s for y, s in zip(best.q, worst.q, strict=True))
    b = _usable_mass((start + end) / 2)
    kept, slope = runs.phi(0, 1 - b), runs.phi(1, 1 - b)
    if kept < slope * (end - b):
        b = _usable_mass(end)
        kept, slope = runs.phi(0, 1 - b), runs.phi(1, 1 - b)
    other = (1 - kept) / b
    sink = (other - slope) / b
    for x, y in zip(best.p, best.q, strict=True):
        for r, s in zip(worst.p, worst.q, strict=True):
            along, beside = ball(x + r - first), y + s - b
            gain = ball(x) * (made[0] - fall * along) + bent
            cost = y * (other - sink * beside)
            without, likewise = none[0] - lost * along, kept - slope * beside
            yield _line(gain, cost)
            yield _line(gain + without, cost + likewise)
            if not x:
                yield _line(without, likewise)


def _usable_mass(b: arb) -> arb:
    """Return a ball's middle, cut to [_LEAST, 1]. Heuristic: a tangent is sound anywhere."""
    return b.mid().max(ball(_LEAST)).min(1)


def _line(gain: arb, cost: arb) -> Line:
    """Return a line with its gain rounded up and its cost rounded down."""
    return -_lower(-gain), _lower(cost)


def _lower(value: arb) -> int:
    """Return a number of units at or below the least of a ball."""
    if not abs(value) < ONE:
        raise RefusedError("a line of the rectangles is too steep")
    return lower_units(value, BITS)


def _is_above(left: Line, right: Line, middle: Line) -> bool:
    """Return whether one of two lines is at or above a third, whose cost is between, everywhere."""
    gain, cost = right[0] - left[0], right[1] - left[1]
    return gain * (middle[1] - left[1]) >= (middle[0] - left[0]) * cost


def _masses(fields: Fields, name: str, most: int, least: int) -> Masses:
    own = Fields(fields.take(name), name)
    ends, places = own.rationals("masses"), wholes(own, "tangents")
    own.close()
    if len(ends) < 2 or ends != tuple(sorted(set(ends))) or ends[0] != 0 or ends[-1] != 1:
        raise RefusedError("the masses must grow from 0 to 1")
    if len(places) + 1 != len(ends) or not least <= min(places) <= max(places) <= most:
        raise RefusedError("the rule takes the place of a bound for each cell")
    return Masses(ends, places)
