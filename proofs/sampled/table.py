"""From a profile on a grid to a finite pair above it, or below it.

Proofs: proofs/theory/sampled.md.

In t = e^eps a profile is convex, falls, and is 1 at t = 0. So a convex polygon from (0, 1)
through points at or above it, level after the last, is at or above it everywhere, and it is the
profile of a finite pair: at each corner Q has as much mass as the slope jumps, P that times t, and
P(L = inf) is the level. Left of t = 1 a bound r of the swapped pair's profile at 1/t gives the
point (t, 1 - t + t r). Below, the profile is above the lines through neighbouring chords: points
are lowered by what it may be below its own, and the polygon through them is below everywhere.

Pairs of which the profile is known and M is not get M by such tables above and below.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from flint import acb, acb_poly, arb, ctx

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.limits import DIRECT, MAX_NODES, MAX_TABLE_CELLS, MAX_TABLE_RUNS
from dpproof.proofs.pairs.pair import LossPair, Moments
from dpproof.proofs.sums.contour import Line, read_line

BLOCK: Final = 256  # turned factors that are made at once; speed alone
_MORE_BITS: Final = 128  # for slopes of close points; enclosures are sound with any number
Bound = Callable[[arb, int], arb]
Point: TypeAlias = "tuple[int, arb, arb]"


@frozen
class Side:
    """The positions at which one side's profile is bounded, and the lines that bound it."""

    runs: tuple[tuple[int, int], ...]  # strides with counts, outwards from 0
    lines: tuple[Line, ...]  # the lines that bound the base's profile; empty if it is closed
    # the number of points from 0 outwards of each line; the last serves the rest
    shares: tuple[int, ...]

    def points(self) -> Iterator[tuple[int, int]]:
        """Yield the positions above 0, outwards, each with the number of its line."""
        position, which, left = 0, 0, self.shares[0] if self.shares else 0
        for stride, count in self.runs:
            for _ in range(count):
                position += stride
                while which + 1 < len(self.shares) and left == 0:
                    which += 1
                    left = self.shares[which]
                left -= 1
                yield position, which


@frozen
class Hint:
    """The witness of a table."""

    span: Fraction  # nats between neighbouring positions
    level: Fraction  # masses above it, tilted, are kept apart in the ceiling
    forward: Side  # epsilon >= 0
    backward: Side  # the same for the swapped pair

    @property
    def size(self) -> int:
        """Return the number of positions of both sides, 0 counted once."""
        return 1 + sum(n for side in (self.forward, self.backward) for _, n in side.runs)

    @property
    def length(self) -> int:
        """Return the number of runs of both sides."""
        return len(self.forward.runs) + len(self.backward.runs)

    @property
    def lines(self) -> list[int]:
        """Return the number of nodes of every line."""
        return [line.nodes for side in (self.forward, self.backward) for line in side.lines]


@frozen
class EnclosedProfile:
    """An enclosure of one side's profile, and its limit."""

    bound: Bound  # encloses it
    rest: arb  # the limit of the profile, or less


@frozen
class Table:
    """M of a finite pair with losses at integer multiples of a span."""

    span: Fraction  # nats
    level: Fraction  # as in the hint
    masses: dict[int, arb]  # under P, by position
    # first position, stride and length of each run outwards from 0
    runs: list[tuple[int, int, int]]
    fine: range  # positions of neighbours one span apart, around 0; empty if a side starts coarser
    rest: arb  # P(L = inf)

    @staticmethod
    def above(hint: Hint, forward: Bound, backward: Bound) -> Table:
        """Return the table above, from upper bounds of both sides' profiles."""
        sides = (hint.forward, forward), (hint.backward, backward)
        heights = [_heights(_values(side, hint.span, bound)) for side, bound in sides]
        with ctx.workprec(ctx.prec + _MORE_BITS):
            points = _points(heights, ball(hint.span))
            return Table._of(hint, *_masses(points, _corners(points)))

    @staticmethod
    def below(hint: Hint, forward: EnclosedProfile, backward: EnclosedProfile) -> Table:
        """Return the table below both sides' profiles, from enclosures and their limits, or less.

        A point that may be below the polygon by rounding costs a share of everything, which goes to
        equal laws: those lose nothing.
        """
        sides = (hint.forward, forward), (hint.backward, backward)
        values = [_values(side, hint.span, bound.bound) for side, bound in sides]
        with ctx.workprec(ctx.prec + _MORE_BITS):
            both = zip(values, (forward, backward), strict=True)
            heights = [_lowered(one, bound.rest, ball(hint.span)) for one, bound in both]
            points = _points(heights, ball(hint.span))
            corners = _corners(points)
            masses, rest = _masses(points, corners)
            share = _excess(points, corners)
            lowered = {k: (1 - share) * mass for k, mass in masses.items()}
            lowered[0] = lowered.get(0, arb(0)) + share
            return Table._of(hint, lowered, (1 - share) * rest)

    @staticmethod
    def _of(hint: Hint, masses: dict[int, arb], rest: arb) -> Table:
        runs = []
        for side, sign in ((hint.forward, 1), (hint.backward, -1)):
            start = 0
            for stride, count in side.runs:
                runs.append((sign * (start + stride), sign * stride, count))
                start += stride * count
        ends = [
            side.runs[0][1] if side.runs[0][0] == 1 else 0 for side in (hint.forward, hint.backward)
        ]
        fine = range(-ends[1], ends[0] + 1) if min(ends) else range(0)
        return Table(hint.span, hint.level, masses, runs, fine, rest)

    @property
    def infinite(self) -> arb:
        """Return the polygon's level after its last corner."""
        return self.rest

    @property
    def top(self) -> Fraction | None:
        """Return 3/span: from there to pi/span neighbours turn against each other."""
        return 3 / self.span if self.fine else None

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return sum of mass e^{s loss} at s = c + i k step, k = 0, ..., count - 1."""
        tilt, turn = ball(c * self.span), step * ball(self.span)
        weights = {k: mass * (tilt * k).exp() for k, mass in self.masses.items()}
        if len(weights) > DIRECT:
            return self._folded(weights, turn, count)
        totals = [acb(0)] * count
        for k, weight in weights.items():
            small = [weight * acb(0, turn * (k * j)).exp() for j in range(min(count, BLOCK))]
            large = (acb(0, turn * (k * j)).exp() for j in range(0, count, BLOCK))
            turned = (once * one for once in large for one in small)
            totals = [total + one for total, one in zip(totals, turned, strict=False)]
        return totals

    def _folded(self, weights: dict[int, arb], turn: arb, count: int) -> list[acb]:
        """Return the same sums for many masses, run by run."""
        totals = [acb(weights.get(0, arb(0)))] * count
        for start, stride, length in self.runs:
            own = [weights.get(start + stride * i, arb(0)) for i in range(length)]
            sums = _chirped(own, turn * stride, count)
            first = [acb(0, turn * (start * k)).exp() for k in range(count)]
            totals = [t + f * x for t, f, x in zip(totals, first, sums, strict=True)]
        return totals

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:
        """Return the sum by parts over the fine positions, up to the top; M(c) beyond.

        With w the tilted masses and v = min(w, level) at the fine positions, |M(c + iy)| is at
        most what exceeds v, and there |sum v e^{iykh}| |1 - e^{iyh}| <= sum |v_k - v_{k-1}|.
        """
        (flat,) = self.along(c, arb(0), 1)
        mine = self.top
        if mine is None or top is None or top > mine:
            return flat.real
        level, before, moves, within = ball(self.level), arb(0), arb(0), arb(0)
        tilt = ball(c * self.span)
        for k in self.fine:
            tilted = self.masses[k] * (tilt * k).exp() if k in self.masses else arb(0)
            clipped = tilted.min(level)
            moves += abs(clipped - before)
            within += clipped
            before = clipped
        turned = (moves + before) / (2 * (y * ball(self.span) / 2).sin())
        return flat.real.min(flat.real - within + turned)


def _chirped(weights: list[arb], turn: arb, count: int) -> list[acb]:
    """Return sum_j w_j e^{i j k turn} for k = 0, ..., count - 1, by one product of polynomials.

    As 2 j k = j^2 + k^2 - (k - j)^2 (Bluestein), with e(x) = e^{i x^2 turn / 2} the sum is e(k)
    times that of w_j e(j) / e(k - j).
    """
    last = len(weights) - 1
    chirps = [acb(0, turn * (x * x) / 2).exp() for x in range(max(last + 1, count))]
    left = acb_poly([weight * chirp for weight, chirp in zip(weights, chirps, strict=False)])
    right = acb_poly([chirps[abs(x)].conjugate() for x in range(-last, count)])
    spectrum = left * right
    return [chirps[k] * spectrum[k + last] for k in range(count)]


def read_beyond(witness: object) -> tuple[Fraction | None, object]:
    """Return the order of a bound beyond a table's end, None if there is none, and the table."""
    if not (isinstance(witness, Mapping) and "table" in witness):
        return None, witness
    fields = Fields(witness, "what lies beyond a table")
    beyond, table = fields.positive("beyond"), fields.take("table")
    fields.close()
    return beyond, table


def read_table(witness: object) -> Hint:
    """Return the hint from its JSON."""
    fields = Fields(witness, "the table of a sampled pair")
    span, level = fields.positive("span"), fields.rational("level", least=0)
    hint = Hint(span, level, _side(fields, "forward"), _side(fields, "backward"))
    fields.close()
    if sum(hint.lines) > MAX_NODES:
        raise RefusedError(f"the lines of a table have at most {MAX_NODES} nodes together")
    return hint


def _side(fields: Fields, name: str) -> Side:
    entry = Fields(fields.take(name), name)
    runs, lines, shares = [], [], []
    for item in entry.items("runs"):
        run = Fields(item, f"a run of {name}")
        runs.append(
            (run.whole("stride", most=MAX_TABLE_CELLS), run.whole("count", most=MAX_TABLE_CELLS))
        )
        run.close()
    if not 1 <= len(runs) <= MAX_TABLE_RUNS or sum(count for _, count in runs) > MAX_TABLE_CELLS:
        raise RefusedError(
            f"{name}: 1 to {MAX_TABLE_RUNS} runs with at most {MAX_TABLE_CELLS} points"
        )
    for item in entry.items("lines"):
        line = Fields(item, f"a line of {name}")
        shares.append(line.whole("points", most=MAX_TABLE_CELLS))
        lines.append(read_line(line))
        line.close()
    entry.close()
    return Side(tuple(runs), tuple(lines), tuple(shares))


def _values(side: Side, span: Fraction, bound: Bound) -> list[tuple[int, arb]]:
    """Return the profile's bound at each of the side's positions, 0 first."""
    values = []
    for position, which in ((0, 0), *side.points()):
        value = bound(ball(span * position), which)
        if not value.is_finite():
            raise RefusedError("a bound of the profile is not finite at this precision")
        values.append((position, value))
    return values


def _heights(values: list[tuple[int, arb]]) -> list[tuple[int, arb]]:
    """Return exact upper bounds, each at most the one before, as a profile falls."""
    best, heights = arb(1), []
    for position, value in values:
        best = min(best, value.upper())
        heights.append((position, best))
    return heights


def _lowered(values: list[tuple[int, arb]], rest: arb, span: arb) -> list[tuple[int, arb]]:
    """Return exact heights all of whose chords are below the profile.

    On a cell of width w with chord slope b, neighbouring chords of slopes a and c say that the
    profile is at most w (b-a)(c-b)/(c-a) below its chord: both ends are lowered by so much.
    Before the first cell slopes are at least -1, after the last at most 0. The first height that
    would be next to what the profile ends at, or below it, ends the side: the one before is level.
    """
    t, end = [(span * place).exp() for place, _ in values], rest.lower()
    widths = [after - before for before, after in itertools.pairwise(t)]
    rises = [after - before for (_, before), (_, after) in itertools.pairwise(values)]
    slopes = [arb(-1), *(a / b for a, b in zip(rises, widths, strict=True)), arb(0)]
    bends = [(c - b).nonnegative_part().upper() for b, c in itertools.pairwise(slopes)]
    gaps = [arb(0)]
    for width, p, r in zip(widths, bends, bends[1:], strict=False):
        gaps.append(arb(0) if p.is_zero() or r.is_zero() else width * p * r / (p + r))
    gaps.append(arb(0))
    if not all(gap.is_finite() for gap in gaps):
        raise RefusedError("positions are not apart at this precision")
    lowered = [
        (place, (value - before.max(after)).lower())
        for (place, value), (before, after) in zip(values, itertools.pairwise(gaps), strict=True)
    ]
    margin = end + arb(2) ** (-ctx.prec // 2)
    level = next(k for k, (_, height) in enumerate([*lowered, (0, end)]) if not height >= margin)
    used = max(level, 1)
    return [*lowered[: used - 1], (lowered[used - 1][0], end)]


def _points(heights: list[list[tuple[int, arb]]], span: arb) -> list[Point]:
    """Return position, t and height of every point, by increasing t, from (0, 1) on."""
    forward, backward = heights
    points = [(0, arb(0), arb(1))]
    for position, height in reversed(backward[1:]):
        t = (-span * position).exp()
        points.append((-position, t, 1 - t + t * height))
    points.append((0, arb(1), min(backward[0][1], forward[0][1])))
    points.extend((position, (span * position).exp(), height) for position, height in forward[1:])
    return points


def _corners(points: list[Point]) -> list[int]:
    """Return the points of a polygon, without those where it is not surely convex and falling."""
    corners: list[int] = []
    for place, point in enumerate(points):
        while len(corners) > 1:
            before, last = (points[k] for k in corners[-2:])
            if _slope(before, last) < _slope(last, point):
                break
            corners.pop()
        corners.append(place)
    while len(corners) > 1 and not _slope(*(points[k] for k in corners[-2:])) < 0:
        corners.pop()
    return corners


def _masses(points: list[Point], corners: list[int]) -> tuple[dict[int, arb], arb]:
    """Return the masses under P at the corners of a polygon, by position, and its last level."""
    used = [points[k] for k in corners]
    slopes = [_slope(*both) for both in itertools.pairwise(used)] + [arb(0)]
    jumps = zip(used[1:], slopes, slopes[1:], strict=False)
    masses = {k: t * (after - before) for (k, t, _), before, after in jumps}
    return masses, used[-1][2]


def _excess(points: list[Point], corners: list[int]) -> arb:
    """Return a share of equal laws, of profile (1 - t)_+, beside which no point is too low."""
    share = arb(0)
    for first, second in itertools.pairwise([*corners, len(points)]):
        start = points[first]
        slope = _slope(start, points[second]) if second < len(points) else arb(0)
        for _, t, height in points[first + 1 : second]:
            polygon = start[2] + slope * (t - start[1])
            if not polygon <= height:
                needed = ((polygon - height) / (polygon - (1 - t).max(arb(0)))).upper()
                share = share.max(needed) if needed < 1 else arb(1)
    return share


def _slope(first: Point, second: Point) -> arb:
    return (second[2] - first[2]) / (second[1] - first[1])


# How many tables are kept: as many as a product may cite again for free. Speed alone.
TABLES: Final = 4
# Extra bits of a table whose large ratios magnify rounding. Enclosures stay sound with any number.
MORE_BITS: Final = 256
Profile = Callable[[arb], arb]


class TabulatedPair(LossPair, ABC):
    """A pair answered through a finite pair that dominates it, or one that it dominates.

    Both are made from bounds of the profile on a grid (proofs/sampled/table.py).
    """

    __slots__ = ()

    @abstractmethod
    def swapped(self) -> TabulatedPair:
        """Return the pair (Q, P)."""

    @abstractmethod
    def bounds(self, lines: Sequence[Line]) -> Callable[[arb, int], arb]:
        """Return upper bounds of the profile, by its formula or by each of the lines."""

    @abstractmethod
    def enclosed_profile(self, lines: Sequence[Line]) -> EnclosedProfile:
        """Return an enclosure of the profile and its limit."""

    def moments(self, witness: object) -> Moments:
        """Return M of the witness's table above the pair."""
        return table_above(self, witness)

    def moments_below(self, witness: object) -> Moments:
        """Return M of a table below the pair."""
        return table_below(self, witness)

    def moment(self, witness: object, s: Fraction) -> arb:
        """Bound E_P[e^{sL}] from above at one s > 0; refuse a table that does not end at 0."""
        beyond, table = read_beyond(witness)
        with ctx.workprec(ctx.prec + MORE_BITS):
            above = table_above(self, table)
        if beyond is not None or not above.infinite.is_zero():
            raise RefusedError("what lies beyond a table counts as infinite")
        (body,) = above.along(s, arb(0), 1)
        return body.real


def table_above(pair: TabulatedPair, witness: object) -> Table:
    """Return the table above a pair that a witness describes."""
    return _above(pair, read_table(witness), ctx.prec)


def table_below(pair: TabulatedPair, witness: object) -> Table:
    """Return the table below a pair that a witness describes."""
    return _below(pair, read_table(witness), ctx.prec)


@lru_cache(maxsize=TABLES)
def _above(pair: TabulatedPair, hint: Hint, precision: int) -> Table:  # noqa: ARG001  # of balls
    """Return the table of a hint; the precision is part of the key, and many orders share one."""
    forward, backward = pair.bounds(hint.forward.lines), pair.swapped().bounds(hint.backward.lines)
    return Table.above(hint, forward, backward)


@lru_cache(maxsize=TABLES)
def _below(pair: TabulatedPair, hint: Hint, precision: int) -> Table:  # noqa: ARG001  # as above
    """Return the table below the pair; the precision is part of the key."""
    forward, backward = hint.forward.lines, hint.backward.lines
    return Table.below(
        hint, pair.enclosed_profile(forward), pair.swapped().enclosed_profile(backward)
    )
