"""Finite pairs above the pairs of isoperimetric bounds: how fast the mass of an event can move.

If along a path of laws every event's mass p moves at a speed of at most kappa(p), and kappa is the
least of some lines, then the two ends are dominated by the pair (A, B) on the real line that
gives the half-lines {y <= x} the masses F(x + 1) and F(x), F' = kappa(F) (proofs/theory/path.md,
Theorem 1). F is piecewise exponential and the profile H_t = sup_x F(x + 1) - t F(x) closed.

The finite pair. For any ratios t_0 > t_1 > ... the trade-off 1 - F(x + 1) over F(x) is above each
of its tangents, 1 - H_t - t a at the mass a; their largest is a convex polygon. Its corners,
rounded to a multiple of 2^-160 and lowered by more than they are rounded by, are the corners of a
polygon below it, which is the trade-off of a finite pair with these exact masses.

Rounding. Everything is computed with 80 digits by ``decimal``, whose exp and ln are correctly
rounded; what a thousand operations on numbers of at most 10^9 lose is below 10^-60, which is below
what H is raised by, 10^-50, and that is below 2^-160.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias, final

from accountant.errors import ParameterError
from accountant.pairs.finite import FinitePair

Line: TypeAlias = tuple[Fraction, Fraction]
"""A line over the masses p from 0 to 1, by its heights at 0 and at 1, both at or above 0."""

DIGITS: Final = 80  # Soundness depends on it and on the three numbers below.
_RAISED: Final = Decimal(10) ** -50
_GRID: Final = 1 << 160
_LOWERED: Final = 1 << 24  # steps of the grid: more than rounding moves a corner, times the slope
_LARGEST: Final = 16  # Largest loss, nats; e^16 is below 2^24. Exceeding it raises.
_LEAST: Final = Fraction(1, 10**9)
_OUTCOMES: Final = 480  # Approximate number of outcomes. Heuristic.
_SMALL: Final = Fraction(1, 1 << 120)  # Corners closer to an end are cut off, together. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Isoperimetric:
    """The concave kappa that is the least of some lines, with the primitive G of 1/kappa.

    Attributes:
        at: shape (m + 1,), masses from 0 to 1 between which kappa is linear.
        height: kappa there, 0 at both ends.
        slope: shape (m,), of the pieces, falling.
        place: shape (m + 1,), G of the masses, -inf and +inf at the ends.
        breaks: shape (2m - 2,), all x at which F(x) or F(x + 1) enters a new piece.
        loss: log of F'(x + 1) / F'(x) there, falling.
    """

    at: tuple[Decimal, ...]
    height: tuple[Decimal, ...]
    slope: tuple[Decimal, ...]
    place: tuple[Decimal, ...]
    breaks: tuple[Decimal, ...]
    loss: tuple[Decimal, ...]

    def mass(self, x: Decimal) -> Decimal:
        """Return F(x)."""
        piece, away = self._piece(x)
        slope, height = self.slope[piece], self.height[max(piece, 1)]
        grown = (slope * away).exp() - 1 if slope else away
        return self.at[max(piece, 1)] + height * (grown / slope if slope else grown)

    def log_density(self, x: Decimal) -> Decimal:
        """Return log F'(x)."""
        piece, away = self._piece(x)
        return self.height[max(piece, 1)].ln() + self.slope[piece] * away

    def profile(self, t: Decimal) -> Decimal:
        """Return H_t of the pair, t > 0: F(x + 1) - t F(x) where the loss is log t."""
        level = t.ln()
        if level >= self.loss[0]:
            return Decimal(0)
        if level <= self.loss[-1]:
            return 1 - t
        after = bisect_right(self.loss, -level, key=lambda loss: -loss)
        left, right = self.breaks[after - 1], self.breaks[after]
        high, low = self.loss[after - 1], self.loss[after]
        x = left + (right - left) * (high - level) / (high - low)
        return self.mass(x + 1) - t * self.mass(x)

    def losses(self, count: int) -> list[float]:
        """Return about ``count`` losses, close to each other where much mass is. Heuristic."""
        masses = [float(self.mass(x)) + float(self.mass(x + 1)) for x in self.breaks]
        ends = list(zip(self.loss, masses, strict=True))
        cells = [
            (float(high), float(low), max(right - left, 0.0) ** (1 / 3))
            for (high, left), (low, right) in pairwise(ends)
        ]
        weights = [(high - low) ** (2 / 3) * root for high, low, root in cells]
        total = sum(weights) or 1.0  # 0 if only masses below all digits have other losses
        found = [float(self.loss[0]), float(self.loss[-1])]
        for (top, bottom, _), weight in zip(cells, weights, strict=True):
            parts = max(math.ceil(count * weight / total), 1)
            found += [top - (top - bottom) * k / parts for k in range(parts + 1)]
        return found

    def _piece(self, x: Decimal) -> tuple[int, Decimal]:
        """Return the piece that F(x) is in, and how far x is from where kappa is known."""
        piece = bisect_right(self.place, x) - 1
        return piece, x - self.place[max(piece, 1)]


def isoperimetric(lines: Iterable[Line]) -> Isoperimetric:
    """Return the least of the lines, at 80 digits.

    Args:
        lines: two at least, one of them 0 at 0 and above 0 at 1, one the other way round.
    """
    corners = _corners(list(lines))
    with localcontext(Context(prec=DIGITS)):
        at, height = (tuple(_decimal(c[k]) for c in corners) for k in (0, 1))
        slope = tuple(_decimal((d - b) / (c - a)) for (a, b), (c, d) in pairwise(corners))
        place = [Decimal("-inf"), Decimal(0)]
        for k in range(1, len(at) - 2):
            one = height[k + 1] / height[k]
            place.append(
                place[-1] + (one.ln() if slope[k] else at[k + 1] - at[k]) / (slope[k] or height[k])
            )
        place.append(Decimal("inf"))
        inner = place[1:-1]
        breaks = tuple(sorted({*inner, *(x - 1 for x in inner)}))
        made = Isoperimetric(at, height, slope, tuple(place), breaks, ())
        loss = tuple(made.log_density(x + 1) - made.log_density(x) for x in breaks)
        return Isoperimetric(at, height, slope, tuple(place), breaks, _falling(loss))


def finite_pair_above(
    curves: Sequence[Isoperimetric], missed: Fraction = Fraction(0)
) -> FinitePair:
    """Return a finite pair that dominates the pair of each curve.

    Args:
        curves: whose profiles H it is above.
        missed: by how much more than F(x + 1), and how much less than F(x), the mass of an event
            may get: then the profiles are H_t + missed min(1, t).


    Raises:
        ParameterError: the largest loss is above 16 nats, or below 10^-9.
    """
    with localcontext(Context(prec=DIGITS)):
        top = max(max(one.loss[0], -one.loss[-1]) for one in curves)
        if not _LEAST <= top <= _LARGEST:
            raise ParameterError(
                "scales", float(top), f"such that losses lie from {float(_LEAST):g} to {_LARGEST}"
            )
        count = _OUTCOMES // len(curves)
        listed = {loss for one in curves for loss in one.losses(count)}
        ratios = sorted({Fraction(math.exp(x)) for x in listed})
        low, high = min(one.loss[-1] for one in curves), max(one.loss[0] for one in curves)
        ratios = [_down(low), *(t for t in ratios if _down(low) < t < _up(high)), _up(high)]
        lines = []
        for t in ratios[::-1]:
            worst = max(one.profile(_decimal(t)) for one in curves)
            exact = Fraction(worst + _RAISED) if t < ratios[-1] else Fraction(0)
            lines.append(((1 - t if t == ratios[0] else exact) + missed * min(t, Fraction(1)), t))
    return _walked(_polygon(lines))


def _corners(lines: list[Line]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of the least of the lines, by growing mass."""
    kept: list[Line] = []
    for line in sorted(set(lines), key=lambda one: (one[0] - one[1], one[0])):
        if kept and _fall(line) == _fall(kept[-1]):
            continue  # parallel, and not below
        while len(kept) > 1 and _crossing(kept[-2], line) <= _crossing(kept[-2], kept[-1]):
            kept.pop()
        kept.append(line)
    inner = [(_crossing(one, other), one) for one, other in pairwise(kept)]
    return [
        (Fraction(0), min(left for left, _ in kept)),
        *((at, one[0] - _fall(one) * at) for at, one in inner if 0 < at < 1),
        (Fraction(1), min(right for _, right in kept)),
    ]


def _fall(line: Line) -> Fraction:
    """Return by how much a line falls from 0 to 1."""
    return line[0] - line[1]


def _crossing(one: Line, other: Line) -> Fraction:
    """Return where a line crosses one that falls faster."""
    return (other[0] - one[0]) / (_fall(other) - _fall(one))


def _falling(losses: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """Return the losses without the rises that rounding makes of equal ones."""
    found = [losses[0]]
    for loss in losses[1:]:
        found.append(min(found[-1], loss))
    return tuple(found)


def _polygon(lines: list[tuple[Fraction, Fraction]]) -> list[tuple[int, int]]:
    """Return corners (a, b), in steps of the grid, of a polygon below the tangents (H, t).

    The tangents 1 - H - t a come by falling t; where two neighbours meet there is a corner, unless
    a third is above it. A corner is moved by one step at most, and lowered by as many as the
    steepest slope can turn that into, but one at height 0. Corners next to an end are cut off by
    the tangent that ends there, followed to where all of them are passed; a chord in its place
    would be above them.
    """
    kept: list[tuple[Fraction, Fraction]] = []
    for line in lines:
        while len(kept) > 1 and _meet(kept[-2], line) <= _meet(kept[-2], kept[-1]):
            kept.pop()
        kept.append(line)
    exact = [(mass, _height(one, mass)) for one, mass in _meetings(kept)]
    inner = [(mass, height) for mass, height in exact if mass > _SMALL and height > _SMALL]
    if exact[0][0] <= _SMALL:
        first = _height(kept[0], _SMALL)
        inner = [(_SMALL, first), *(corner for corner in inner if corner[1] < first)]
    if exact[-1][1] <= _SMALL:
        last = (1 - kept[-1][0] - _SMALL) / kept[-1][1]
        inner = [*(corner for corner in inner if corner[0] < last), (last, _SMALL)]
    found = [(0, _GRID)]
    if kept[0][0]:
        found.append((0, math.floor(_height(kept[0], Fraction(0)) * _GRID) - _LOWERED))
    for mass, height in inner:
        corner = math.floor(mass * _GRID), math.floor(height * _GRID) - _LOWERED
        if corner[0] > found[-1][0]:
            found.append(corner)
    end = math.floor((1 - kept[-1][0]) / kept[-1][1] * _GRID)
    return [*found, *([(end, 0)] if found[-1][0] < end < _GRID else []), (_GRID, 0)]


def _meetings(
    lines: list[tuple[Fraction, Fraction]],
) -> list[tuple[tuple[Fraction, Fraction], Fraction]]:
    """Return every tangent but the last, and the mass at which it meets the next one."""
    return [(one, _meet(one, other)) for one, other in pairwise(lines)]


def _height(line: tuple[Fraction, Fraction], mass: Fraction) -> Fraction:
    """Return what a tangent has at a mass."""
    return 1 - line[0] - line[1] * mass


def _meet(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> Fraction:
    """Return the mass at which two tangents meet."""
    return (other[0] - one[0]) / (one[1] - other[1])


def _walked(corners: list[tuple[int, int]]) -> FinitePair:
    """Return the pair whose trade-off is the polygon: an outcome for each of its edges."""
    edges = list(pairwise(corners))
    return FinitePair(
        p=tuple(Fraction(high - low, _GRID) for (_, high), (_, low) in edges),
        q=tuple(Fraction(right - left, _GRID) for (left, _), (right, _) in edges),
    )


def _decimal(value: Fraction) -> Decimal:
    """Return a rational at the present precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _up(loss: Decimal) -> Fraction:
    """Return a ratio just above that of a loss."""
    return Fraction((loss.exp() * (1 + _RAISED)).quantize(_RAISED) + _RAISED)


def _down(loss: Decimal) -> Fraction:
    """Return a ratio just below that of a loss."""
    return Fraction((loss.exp() * (1 - _RAISED)).quantize(_RAISED) - _RAISED)
