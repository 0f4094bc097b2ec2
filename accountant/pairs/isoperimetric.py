"""Pairs of AboveThreshold: with Laplace noise, and with normal noise by isoperimetry.

If along a path of laws every event's mass p moves at a speed of at most kappa(p), and kappa is the
least of some lines, then the two ends are dominated by the pair (A, B) on the real line that
gives the half-lines {y <= x} the masses F(x + 1) and F(x), F' = kappa(F) (proofs/theory/path.md,
Theorem 1). F is piecewise exponential and the profile H_t = sup_x F(x + 1) - t F(x) closed.

The finite pair. For any ratios t_0 > t_1 > ... the trade-off 1 - F(x + 1) over F(x) is above each
of its tangents, 1 - H_t - t a at the mass a; their largest is a convex polygon. Its corners,
rounded to a multiple of 2^-208 and lowered by more than they are rounded by, are the corners of a
polygon below it, which is the trade-off of a finite pair with these exact masses. Its losses are
the log t of its edges: they are taken from a lattice, on which sums over losses are folded.

Rounding. Everything is computed with 80 digits by ``decimal``, whose exp and ln are correctly
rounded; what a thousand operations on numbers of at most 10^9 lose is below 10^-60, which is below
what H is raised by, 10^-50.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias, final

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.finite import FinitePair

Line: TypeAlias = tuple[Fraction, Fraction]
"""A line over the masses p from 0 to 1, by its heights at 0 and at 1, both at or above 0."""

DIGITS: Final = 80  # Soundness depends on it and on the three numbers below.
_RAISED: Final = Decimal(10) ** -50
_GRID: Final = 1 << 208
_LOWERED: Final = 1 << 24  # steps of the grid: more than rounding moves a corner, times the slope
_STEPS: Final = Context(prec=55)  # To which steps count as equal; what is left is corrected.
_LARGEST: Final = 16  # Largest loss, nats; e^16 is below 2^24. Exceeding it raises.
_LEAST: Final = Fraction(1, 10**9)
_OUTCOMES: Final = 320  # Approximate number of outcomes. Heuristic.
_EVEN: Final = 0.2  # 1/3 would suit errors of masses; less suits tails. Heuristic.
_FINEST: Final = 13  # Log2 of the most places of the lattice. Heuristic.
_SMALL: Final = _GRID >> 120  # Corners closer to an end are left out. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Isoperimetric:
    """The concave kappa that is the least of some lines, with the primitive G of 1/kappa."""

    at: tuple[Decimal, ...]  # shape (m + 1,), masses from 0 to 1 between which kappa is linear
    height: tuple[Decimal, ...]  # kappa there, 0 at both ends
    log_height: tuple[Decimal, ...]  # log of kappa there, 0 at both ends
    slope: tuple[Decimal, ...]  # shape (m,), of the pieces, falling
    place: tuple[Decimal, ...]  # shape (m + 1,), G of the masses, -inf and +inf at the ends
    # shape (2m - 2,), all x at which F(x) or F(x + 1) enters a new piece
    breaks: tuple[Decimal, ...]
    loss: tuple[Decimal, ...]  # log of F'(x + 1) / F'(x) there, falling

    def mass(self, x: Decimal) -> Decimal:
        """Return F(x)."""
        piece, away = self._piece(x)
        slope, height = self.slope[piece], self.height[max(piece, 1)]
        grown = (slope * away).exp() - 1 if slope else away
        return self.at[max(piece, 1)] + height * (grown / slope if slope else grown)

    def log_density(self, x: Decimal) -> Decimal:
        """Return log F'(x)."""
        piece, away = self._piece(x)
        return self.log_height[max(piece, 1)] + self.slope[piece] * away

    def profile(self, t: Decimal) -> Decimal:
        """Return H_t of the pair, t > 0: F(x + 1) - t F(x) where the loss is log t."""
        return self.profiles([(t, t.ln())])[0]

    def profiles(self, ratios: Sequence[tuple[Decimal, Decimal]]) -> list[Decimal]:
        """Return H_t at falling t, each given with log t.

        Between two breaks x is linear in the loss, and F(x) and F(x + 1) are exponentials.
        """
        profiles, last = [], -1
        for t, level in ratios:
            if level >= self.loss[0] or level <= self.loss[-1]:
                profiles.append(1 - t if level <= self.loss[-1] else Decimal(0))
                continue
            after = bisect_right(self.loss, -level, key=lambda loss: -loss)
            if after != last:
                last, start = after, level
                left, right = self.breaks[after - 1], self.breaks[after]
                high, low = self.loss[after - 1], self.loss[after]
                speed = (right - left) / (high - low)
                x = left + speed * (high - level)
                middle = (left + right) / 2
                later, now = self._growth(middle + 1, x + 1), self._growth(middle, x)
            away = speed * (start - level)
            profiles.append(later(away) - t * now(away))
        return profiles

    def widths(self, count: int) -> list[tuple[float, float, float]]:
        """Return the largest and smallest loss of each cell, and how far tangents are apart there.

        They are about ``count`` in all, close to each other where much mass is. Heuristic.
        """
        masses = [self._rough(x) + self._rough(x + 1) for x in self.breaks]
        cells = [
            (float(high), float(low), max(right - left, 0.0) ** _EVEN)
            for (high, left), (low, right) in pairwise(zip(self.loss, masses, strict=True))
        ]
        total = sum((high - low) ** (2 / 3) * root for high, low, root in cells)
        return [
            (high, low, (high - low) ** (1 / 3) * total / (count * root))
            for high, low, root in cells
            if high > low and root
        ]

    def _growth(self, inside: Decimal, start: Decimal) -> Callable[[Decimal], Decimal]:
        """Return F(start + away) as a function of distances that grow, in the piece of a point.

        The exponential of a step is remembered, as most steps are equal.
        """
        piece, _ = self._piece(inside)
        place, height = self.place[max(piece, 1)], self.height[max(piece, 1)]
        slope, mass = self.slope[piece], self.at[max(piece, 1)]
        if not slope:
            return lambda away: mass + height * (start + away - place)
        value, reached = (slope * (start - place)).exp(), Decimal(0)
        steps: dict[Decimal, Decimal] = {}

        def after(away: Decimal) -> Decimal:
            nonlocal value, reached
            step = _STEPS.plus(away - reached)
            if step:
                if step not in steps:
                    steps[step] = (slope * step).exp()
                value, reached = value * steps[step], reached + step
            return mass + height * (value * (1 + slope * (away - reached)) - 1) / slope

        return after

    def _rough(self, x: Decimal) -> float:
        """Approximate F(x). Heuristic."""
        piece, away = self._piece(x)
        slope, height = float(self.slope[piece]), float(self.height[max(piece, 1)])
        grown = math.expm1(slope * float(away)) / slope if slope else float(away)
        return float(self.at[max(piece, 1)]) + height * grown

    def _piece(self, x: Decimal) -> tuple[int, Decimal]:
        """Return the piece that F(x) is in, and how far x is from where kappa is known."""
        piece = bisect_right(self.place, x) - 1
        return piece, x - self.place[max(piece, 1)]


def isoperimetric(lines: Iterable[Line]) -> Isoperimetric:
    """Return the least of the lines at 80 digits: one is 0 at 0 alone, and one is 0 at 1 alone."""
    corners = _corners(list(lines))
    with localcontext(Context(prec=DIGITS)):
        at, height = (tuple(_decimal(c[k]) for c in corners) for k in (0, 1))
        slope = tuple(_decimal((d - b) / (c - a)) for (a, b), (c, d) in pairwise(corners))
        log = tuple(one.ln() if one else one for one in height)
        place = [Decimal("-inf"), Decimal(0)]
        for k in range(1, len(at) - 2):
            rise, run = log[k + 1] - log[k], at[k + 1] - at[k]
            place.append(place[-1] + (rise / slope[k] if slope[k] else run / height[k]))
        place.append(Decimal("inf"))
        inner = place[1:-1]
        breaks = tuple(sorted({*inner, *(x - 1 for x in inner)}))
        made = Isoperimetric(at, height, log, slope, tuple(place), breaks, ())
        loss = tuple(made.log_density(x + 1) - made.log_density(x) for x in breaks)
        return Isoperimetric(at, height, log, slope, tuple(place), breaks, _falling(loss))


def finite_pair_above(
    curves: Sequence[Isoperimetric], missed: Fraction = Fraction(0)
) -> FinitePair:
    """Return a finite pair above the profile H of each curve.

    With ``missed``, the mass of an event may be by so much more than F(x + 1), and by so much less
    than F(x): then the profiles are H_t + missed min(1, t).

    Raises:
        ParameterError: the largest loss is above 16 nats, or below 10^-9.
    """
    with localcontext(Context(prec=DIGITS)):
        low, high = min(one.loss[-1] for one in curves), max(one.loss[0] for one in curves)
        if not _LEAST <= max(high, -low) <= _LARGEST:
            raise ParameterError(
                "scales",
                float(max(high, -low)),
                f"such that losses lie from {float(_LEAST):g} to {_LARGEST}",
            )
        ratios = _ratios(curves, low, high)
        worst = [max(each) for each in zip(*(one.profiles(ratios) for one in curves), strict=True)]
        lines = [(_GRID, _steps(ratios[0][0] * (1 + _RAISED)) + 1)]
        for (t, _), height in zip(ratios[1:-1], worst[1:-1], strict=True):
            lines.append((_steps(1 - height - _RAISED), _steps(t)))
        last = _steps(ratios[-1][0] * (1 - _RAISED))
        lines.append((last, last))
    lost = [math.ceil(missed * min(slope, _GRID)) for _, slope in lines]
    lines = [(start - less, slope) for (start, slope), less in zip(lines, lost, strict=True)]
    edges = list(pairwise(_polygon(lines)))
    return FinitePair(
        p=tuple(Fraction(high - low, _GRID) for (_, high), (_, low) in edges),
        q=tuple(Fraction(right - left, _GRID) for (left, _), (right, _) in edges),
    )


def _ratios(
    curves: Sequence[Isoperimetric], low: Decimal, high: Decimal
) -> list[tuple[Decimal, Decimal]]:
    """Return ratios t with log t, falling: some places of a lattice through both ends.

    Its places are 2^k; each cell has every 2^j-th of them, so that tangents are close to each other
    where much mass is. Heuristic: any ratios serve.
    """
    count = round(_OUTCOMES / math.sqrt(len(curves)))
    cells = [cell for one in curves for cell in one.widths(count)]
    reach = float(high - low)
    finest = min((width for *_, width in cells), default=reach)
    places = 1 << min(max(math.ceil(math.log2(reach / finest)), 0), _FINEST)
    listed = {0, places}
    for top, bottom, width in cells:
        stride = 1 << max(math.floor(math.log2(min(width, top - bottom) / reach * places)), 0)
        first, end = ((one - float(low)) / reach * places / stride for one in (bottom, top))
        listed.update(stride * k for k in range(math.ceil(first), math.floor(end) + 1))
    span, base = (high - low) / places, low.exp()
    powers = [span.exp()]
    while len(powers) < places.bit_length():
        powers.append(powers[-1] * powers[-1])
    ratios, at, t = [], 0, base
    for place in sorted(one for one in listed if 0 <= one <= places):
        for bit in range((place - at).bit_length()):
            if (place - at) >> bit & 1:
                t *= powers[bit]
        at = place
        ratios.append((t, low + span * place))
    return ratios[::-1]


def _corners(lines: list[Line]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of the least of the lines, by growing mass."""
    unit = math.lcm(*(end.denominator for line in lines for end in line))
    whole = {tuple(end.numerator * (unit // end.denominator) for end in one) for one in lines}
    corners: list[tuple[int, int]] = []  # by the height at 0 and by how much it falls
    for fall, left in sorted((left - right, left) for left, right in whole):
        if corners and fall == corners[-1][1]:
            continue  # parallel, and not below
        line = left, fall
        while len(corners) > 1 and _left_of(
            _meet(line, corners[-2]), _meet(corners[-1], corners[-2])
        ):
            corners.pop()
        corners.append(line)
    inner = [(Fraction(*_meet(other, one)), one) for one, other in pairwise(corners)]
    return [
        (Fraction(0), Fraction(min(left for left, _ in corners), unit)),
        *((at, (left - fall * at) / unit) for at, (left, fall) in inner if 0 < at < 1),
        (Fraction(1), Fraction(min(left - fall for left, fall in corners), unit)),
    ]


def _falling(losses: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """Return the losses without the rises that rounding makes of equal ones."""
    kept_losses = [losses[0]]
    for loss in losses[1:]:
        kept_losses.append(min(kept_losses[-1], loss))
    return tuple(kept_losses)


def _polygon(lines: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return corners (a, b), in steps of the grid, of a polygon below tangents.

    The tangents, C - T a at the mass a, come by falling T, all in steps; where two neighbours meet
    there is a corner, unless a third is above it. A corner is moved by one step at most, and
    lowered by as many as the steepest slope can turn that into, but one at height 0. A tangent
    whose corners are next to an end is left out, but the first and the last.
    """
    kept: list[tuple[int, int]] = []
    for line in lines:
        while len(kept) > 1 and _left_of(_meet(kept[-2], line), _meet(kept[-2], kept[-1])):
            kept.pop()
        kept.append(line)
    while len(kept) > 2 and _mass(_meet(kept[0], kept[1])) <= _SMALL:
        del kept[1]
    while len(kept) > 2 and _height(kept[-1], _meet(kept[-2], kept[-1])) <= _SMALL:
        del kept[-2]
    corners = [(0, _GRID)]
    if kept[0][0] < _GRID:
        corners.append((0, kept[0][0] - _LOWERED))
    for one, other in pairwise(kept):
        meeting = _meet(one, other)
        corner = _mass(meeting), _height(one, meeting) - _LOWERED
        if corner[0] > corners[-1][0]:
            corners.append(corner)
    end = kept[-1][0] * _GRID // kept[-1][1]
    return [*corners, *([(end, 0)] if corners[-1][0] < end < _GRID else []), (_GRID, 0)]


def _meet(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return the mass at which two tangents meet, as a fraction with a denominator above 0."""
    return one[0] - other[0], one[1] - other[1]


def _left_of(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether the first of two masses is not the larger one."""
    return one[0] * other[1] <= other[0] * one[1]


def _mass(at: tuple[int, int]) -> int:
    """Return a mass in steps, rounded down."""
    return at[0] * _GRID // at[1]


def _height(line: tuple[int, int], at: tuple[int, int]) -> int:
    """Return what a tangent has at a mass, in steps, rounded down."""
    return (line[0] * at[1] - line[1] * at[0]) // at[1]


def _steps(value: Decimal) -> int:
    """Return a number in steps of the grid, rounded down."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * _GRID // denominator


def _decimal(value: Fraction) -> Decimal:
    """Return a rational at the present precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)


Points: TypeAlias = tuple[Fraction, ...]

_BITS: Final = 300  # Of the heights of tangents, rounded up.
_RAISED_NORMAL: Final = 1 + Fraction(1, 10**9)  # Over errors of floats; soundness depends on it.
# Log2 of masses below which events are missed, the smallest first. Heuristic.
_MISSED: Final = (100, 90, 80, 70, 60)
_FINENESS: Final = 64
_NEAR: Final = tuple(Fraction(3 * k, 8) for k in range(32))  # Up to the tail of 2^-100. Heuristic.
_LEVELS: Final = 8


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tangents:
    """The tangents that replace the concave bounds; any places give valid bounds. Heuristic."""

    near: Points  # normal quantiles z, tangents of I at the mass of the tail beyond z
    deep: Points  # for each of them, one for I at a share of that mass
    levels: Points  # three for every line of mu, or of m
    missed: int = _MISSED[0]  # minus log2 of the mass below which events are missed


def tangents(
    *, threshold: Fraction, query: Fraction, queries: int, cutoff: int, monotone: bool
) -> Tangents:
    """Return places where the tangents come close, and the least mass whose losses are in reach."""
    from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

    def beyond(mass: float) -> Fraction:
        share = max(min(cutoff * mass / queries, 0.5), 1e-300)
        return Fraction(round(-special.ndtri(share) * _FINENESS), _FINENESS)

    near = [float(special.ndtr(-float(z))) for z in _NEAR]
    sums = [m for level in range(_LEVELS) for m in _sums(level, monotone=monotone)]
    at = Tangents(near=_NEAR, deep=tuple(map(beyond, near)), levels=tuple(map(beyond, sums)))
    lines = _lines(threshold, query, queries, cutoff, at, monotone=monotone)
    lines += [line[::-1] for line in lines]  # as steep at one end as the other order is
    reached = (missed for missed in _MISSED if max(_slopes(lines, missed)) <= _LARGEST)
    return replace(at, missed=next(reached, _MISSED[0]))


@lru_cache(maxsize=64)
def gaussian_threshold_pairs(
    *,
    threshold: Fraction,
    query: Fraction,
    queries: int,
    cutoff: int,
    monotone: bool,
    rising: bool,
    at: Tangents,
) -> tuple[FinitePair, FinitePair]:
    """Return finite pairs above AboveThreshold with normal noise and at most so many queries.

    Statement: with a = sensitivity/threshold sigma, b = sensitivity/query sigma, n the queries, c
        the cut-off, I the Gaussian isoperimetric function and J(x) = n I(min(x/n, 1/2)), every
        event's mass p moves at a speed of at most min(2b J(c min(p, 1 - p)) + a I(p), b J(c mu(p)),
        b sqrt(n) I(p)); if queries move up, min(b J(c m(p)), b J(c(1 - p)) + a I(p), b sqrt(n)
        I(p)). Tangents of these are lines above them; masses below 2^-missed are missed.
    Source: proofs/theory/above_threshold.md, Theorems 5 and 6.
    Rounds: up.

    Raises:
        ParameterError: scales with which losses are above 16 nats, or below 10^-9.
    """
    up = _lines(threshold, query, queries, cutoff, at, monotone=monotone)
    down = [(right, left) for left, right in up]
    if not monotone:
        up = down = up + down
    curves = [_floored(lines, at.missed) for lines in (up, down)]
    missed = max(one[1] for one in curves)
    if not monotone:
        pair = finite_pair_above([isoperimetric(curves[0][0])], missed)
        return pair, pair
    each = [isoperimetric(lines) for lines, _ in curves]
    if not rising:
        pair = finite_pair_above(each, missed)
        return pair, pair
    return finite_pair_above(each[:1], missed), finite_pair_above(each[1:], missed)


def _lines(a: Fraction, b: Fraction, n: int, c: int, at: Tangents, *, monotone: bool) -> list[Line]:
    """Return tangents above the bounds, half of them if no two queries move in opposite ways."""
    lines: list[Line] = []
    root = Fraction(math.isqrt(n << 128) + 1, 1 << 64)
    for z, deep in zip(at.near, at.deep, strict=True):
        # I(p) is at most tail(z) + z p, and J(cp) at most n tail(deep) + c deep p.
        plain, many = (_tail(z), z), (n * _tail(deep), c * deep)
        flat = _climbing(b * root * plain[0], b * root * z)
        if monotone:
            alone = _climbing(b * many[0], b * many[1])
            line = _climbing(b * many[0] + a * plain[0], b * many[1] + a * z)
            lines += [alone, line[::-1], flat, flat[::-1]]
        else:
            line = _climbing(2 * b * many[0] + a * plain[0], 2 * b * many[1] + a * z)
            lines += [line, flat]
    for k, z in enumerate(at.levels):
        start, end = _level(k // 3, monotone=monotone)
        low = b * n * _tail(z)
        lines.append((low + b * c * z * start, low + b * c * z * end))
    return lines


def _climbing(height: Fraction, slope: Fraction) -> Line:
    """Return a line by its height at 0 and its slope."""
    return height, height + slope


def _level(level: int, *, monotone: bool) -> Line:
    """Return a line of mu, or of m, by its ends."""
    if not monotone:
        low = Fraction(2, 3 << level)
        return _climbing(low, Fraction(level))
    if level == 0:
        return Fraction(0), Fraction(1)
    low = Fraction(1, 1 << level)
    return low + level - 1, low


def _sums(level: int, *, monotone: bool) -> list[float]:
    """Return values of mu, or of m, where this line is the least. Heuristic."""
    start, end = map(float, _level(level, monotone=monotone))
    if not monotone:
        first, last = (1 / 3, 2 / 3) if level == 0 else (2.0**-level / 3, 2.0 ** (1 - level) / 3)
    elif level == 0:
        first, last = 0.05, 0.5
    else:
        first, last = 1 - 2.0**-level, 1 - 2.0 ** (-1 - level)
    parts = ((5 * first + last) / 6, (first + last) / 2, (first + 5 * last) / 6)
    return [start + (end - start) * p for p in parts]


def _slopes(lines: list[Line], missed: int) -> tuple[Fraction, Fraction]:
    """Return the slopes of lines through the ends that meet the least of the lines at a mass."""
    smallest = Fraction(1, 1 << missed)
    starts = min(left + (right - left) * smallest for left, right in lines) / smallest
    ends = min(right + (left - right) * smallest for left, right in lines) / smallest
    return starts, ends


def _floored(lines: list[Line], missed: int) -> tuple[list[Line], Fraction]:
    """Return the lines with two through the ends, below the others beyond a mass, and the miss."""
    starts, ends = _slopes(lines, missed)
    steepest = max(starts, ends)
    if steepest > _LARGEST:
        shown = float(min(steepest, Fraction(2) ** 1000))
        raise ParameterError("scales", shown, f"such that losses are at most {_LARGEST} nats")
    lost = Fraction(3 ** math.ceil(steepest), 1 << missed)
    return [*lines, (Fraction(0), starts), (ends, Fraction(0))], lost


@lru_cache(maxsize=4096)
def _tail(z: Fraction) -> Fraction:
    """Return E(Z - z)+ of a standard normal Z, rounded up, z >= 0."""
    from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

    # phi(z) (1 - z R(z)), R Mills' ratio: the difference is above 1/(z^2 + 3), z below 40, so that
    # errors of 10^-13 in R and phi are errors of less than 10^-9 of all.
    x = float(z)
    mills = math.sqrt(math.pi / 2) * float(special.erfcx(x / math.sqrt(2)))
    value = math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (1 - x * mills)
    return Fraction(math.ceil(Fraction(value) * _RAISED_NORMAL * 2**_BITS) + 1, 1 << _BITS)


_DEPTH: Final = (
    64  # Lines of mu on either side: further ones lower kappa below masses of 2^-64 only.
)


@lru_cache(maxsize=256)
def above_threshold_pair(
    *, threshold: Fraction, query: Fraction, cutoff: int = 1, monotone: bool = False
) -> FinitePair:
    """Return a finite pair that dominates AboveThreshold, in both orders of two neighbours.

    Queries get Laplace noise and are compared, one after the other, with a threshold that got
    Laplace noise once; the comparisons are released until ``cutoff`` of them said "above". The same
    holds if the gaps between the sums above and the noisy threshold are released as well.

    Statement: with a = sensitivity/threshold scale, b = sensitivity/query scale, c the cut-off,
        every event's mass p moves along the path of the queries at a speed of at most
        kappa(p) = min((a + 2bc) min(p, 1 - p), b c mu(p)), mu(p) = mu(1 - p) the least of the lines
        kp + 2^(1-k)/3, k = 0, 1, ...; if queries move in one direction only, up, at most
        min(b c m(p), (a + bc)(1 - p)), m(p) the least of p and k(1 - p) + 2^(-k-1), k = 0, 1, ...
    Source: proofs/theory/above_threshold.md, Theorems 1 to 4.
    Rounds: up; the pair's epsilon is above that of the law of the statement by a few millionths.

    Args:
        threshold: a, sensitivity over the scale of the threshold's noise.
        query: b, sensitivity over the scale of the queries' noise.
        cutoff: c, at least 1.
        monotone: whether no two queries move in opposite directions between neighbours.
    """
    if monotone:
        up = _rising(threshold, query * cutoff)
        curves = [isoperimetric(up), isoperimetric([(right, left) for left, right in up])]
    else:
        curves = [isoperimetric(_both_ways(threshold, query * cutoff))]
    return finite_pair_above(curves)


@lru_cache(maxsize=256)
def rising_pairs(
    *, threshold: Fraction, query: Fraction, cutoff: int = 1
) -> tuple[FinitePair, FinitePair]:
    """Return finite pairs for each order of neighbours, if a further record moves no query down.

    Statement: as ``above_threshold_pair`` for queries that move up; the path goes from the dataset
        without the record to that with it, so the bound serves (with, without), and reversed, as
        kappa(1 - p), (without, with).
    Source: proofs/theory/above_threshold.md, Theorem 3.
    Rounds: up.

    Args:
        threshold: a, sensitivity over the scale of the threshold's noise.
        query: b, sensitivity over the scale of the queries' noise.
        cutoff: c, at least 1.
    """
    up = _rising(threshold, query * cutoff)
    down = [(right, left) for left, right in up]
    return finite_pair_above([isoperimetric(up)]), finite_pair_above([isoperimetric(down)])


def _both_ways(threshold: Fraction, query: Fraction) -> list[Line]:
    """Return the lines whose least is kappa, for queries that move in any direction."""
    zero, steepest = Fraction(0), threshold + 2 * query
    lines = [(zero, steepest), (steepest, zero)]
    for k in range(_DEPTH):
        start = Fraction(2, 3 * 2**k)
        lines += [(query * start, query * (start + k)), (query * (start + k), query * start)]
    return lines


def _rising(threshold: Fraction, query: Fraction) -> list[Line]:
    """Return the lines whose least is kappa, for queries that move up."""
    zero = Fraction(0)
    lines = [(zero, query), (threshold + query, zero)]
    for k in range(_DEPTH):
        end = Fraction(1, 2 ** (k + 1))
        lines.append((query * (end + k), query * end))
    return lines
