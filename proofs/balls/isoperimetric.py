"""The profile of the pair of an isoperimetric bound that is the least of some lines.

F' = kappa(F), kappa the least of the lines, concave and 0 at 0 and 1. The pair gives the half-lines
{y <= x} the masses F(x + 1) and F(x). Proof of what follows: proofs/theory/path.md, Theorem 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from flint import arb

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen

Line: TypeAlias = "tuple[Fraction, Fraction]"
"""A line over [0, 1], by its heights at both ends."""


@frozen
class Piece:
    """A stretch of masses on which kappa is one line."""

    # the x at which F enters it; None of the first, where F is 0 at minus infinity
    start: arb | None
    end: arb | None  # the x at which F leaves it; None of the last
    slope: Fraction  # of the line
    known: tuple[arb, arb, arb]  # an x at one end of the piece, with F and F' there

    def mass(self, x: arb) -> arb:
        """Return F(x), for an x of the piece."""
        place, mass, speed = self.known
        away, slope = x - place, ball(self.slope)
        return mass + speed * ((slope * away).expm1() / slope if self.slope else away)

    def log_speed(self, x: arb) -> arb:
        """Return log F'(x), for an x of the piece."""
        place, _, speed = self.known
        return speed.log() + ball(self.slope) * (x - place)


@frozen
class Cell:
    """All x with F(x) in one piece and F(x + 1) in another, where the loss is a line that falls."""

    now: Piece  # the piece of F(x)
    later: Piece  # the piece of F(x + 1)
    low: arb  # the first x
    high: arb  # the last
    most: arb  # the loss at the first
    least: arb  # the loss at the last

    def best(self, level: arb) -> list[arb]:
        """Return balls one of which holds the best x of the cell for F(x + 1) - t F(x).

        With level = log t its derivative has the sign of the loss less the level, which falls.
        """
        if self.now.slope == self.later.slope:
            return [self.low, self.high]
        x = self.low + (level - self.most) / ball(self.later.slope - self.now.slope)
        return [x.max(self.low).min(self.high)]


def corners(lines: Iterable[Line]) -> list[Line]:
    """Return the corners (p, kappa(p)) of the least of the lines, from p = 0 to 1.

    Refuse a kappa that is not 0 at both ends, or not above 0 between them.
    """
    kept: list[Line] = []
    for line in sorted(set(lines), key=lambda one: (one[0] - one[1], one[0])):
        if kept and _fall(line) == _fall(kept[-1]):
            continue  # parallel, and not below
        while len(kept) > 1 and _meet(kept[-2], line) <= _meet(kept[-2], kept[-1]):
            kept.pop()
        kept.append(line)
    inner = [
        (p, _at(line, p))
        for line, p in ((one, _meet(one, other)) for one, other in pairwise(kept))
        if 0 < p < 1
    ]
    ends = min(left for left, _ in kept), min(right for _, right in kept)
    if any(ends) or not inner or min(height for _, height in inner) <= 0:
        raise RefusedError("kappa is not 0 at the ends of [0, 1], or elsewhere")
    return [(Fraction(0), ends[0]), *inner, (Fraction(1), ends[1])]


def pieces(corners: list[Line]) -> list[Piece]:
    """Return the pieces between corners, x counted from the first inner one."""
    x, made = arb(0), []
    last = len(corners) - 2
    for k, ((left, low), (right, high)) in enumerate(pairwise(corners)):
        slope = (high - low) / (right - left)
        if k == 0:
            made.append(Piece(None, x, slope, (x, ball(right), ball(high))))
            continue
        start, ends = x, (x, ball(left), ball(low))
        if k < last:
            x = x + (ball(high / low).log() / ball(slope) if slope else ball((right - left) / low))
        made.append(Piece(start, x if k < last else None, slope, ends))
    return made


def cells(listed: list[Piece]) -> list[Cell]:
    """Return every cell that is bounded and not certainly empty, by growing x.

    In the two others, before the first and after the last, the loss is constant: the supremum there
    is 0, or 1 - t, or that at the end that is bounded, which belongs to another cell.
    """
    result = []
    for i, now in enumerate(listed):
        for later in listed[i:]:
            low = _farther(arb.max, now.start, None if later.start is None else later.start - 1)
            high = _farther(arb.min, now.end, None if later.end is None else later.end - 1)
            if low is not None and high is not None and not low > high:
                ends = [later.log_speed(x + 1) - now.log_speed(x) for x in (low, high)]
                result.append(Cell(now, later, low, high, *ends))
    return result


def profile(listed: list[Cell], t: arb, spend: Callable[[int], None]) -> arb:
    """Return a number that is at least sup_x F(x + 1) - t F(x), unless that is 0 or 1 - t, t > 0.

    The supremum is taken where the loss is log t, if anywhere; a cell that holds no such x is left
    out. A cell that is in truth empty adds a candidate, which keeps the result an upper bound.
    Every profile is at least 0 and 1 - t. ``spend`` is told first in how many cells it is computed.
    """
    level, best = t.log(), arb(-1)
    reached = [cell for cell in listed if not (cell.most < level or cell.least > level)]
    spend(len(reached))
    for cell in reached:
        for x in cell.best(level):
            best = best.max(cell.later.mass(x + 1) - t * cell.now.mass(x))
    return best


def _fall(line: Line) -> Fraction:
    return line[0] - line[1]


def _at(line: Line, p: Fraction) -> Fraction:
    return line[0] + (line[1] - line[0]) * p


def _meet(one: Line, other: Line) -> Fraction:
    """Return where a line crosses one that falls faster."""
    return (other[0] - one[0]) / (_fall(other) - _fall(one))


def _farther(choose: Callable[[arb, arb], arb], one: arb | None, other: arb | None) -> arb | None:
    """Return the larger of two lower ends, or the smaller of two upper ones; None is infinite."""
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)
