"""Finite pairs above a profile, by exact arithmetic: polygons through bounds at short ratios.

In t = e^eps a profile is convex, falls and is 1 at t = 0. A convex polygon from (0, 1) through
points at or above it, level after the last, is the profile of the finite pair with the jumps of its
slope as masses under Q, and t times these under P.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from accountant.guarantees.rounding import short_up
from accountant.pairs.finite import FinitePair

_BITS = 30  # of a bound
_ROOM = 1e-8  # of a bound, for the roundings of the engine
_LEAST = Fraction(1, 1 << 80)  # for t < 1, so that balls decide

Point = tuple[Fraction, Fraction]


def ratios(least: float, most: float, extra: Iterable[float] = (), *, count: int) -> list[Fraction]:
    """Ratios t from e^-least to beyond e^most, as many on each octave as the count allows.

    Neighbours differ by powers of two, which keeps the masses short.

    Args:
        least: nats, at or above 0.
        most: nats, above 0.
        extra: logs of ratios to be listed too.
        count: at most so many but the extra ones.
    """
    low, high = -math.ceil(least / math.log(2)), math.ceil(most / math.log(2))
    bits = 0
    while len(_grid(low, high, bits + 1, least, most)) <= count:
        bits += 1
    further = {short_up(math.exp(one), _BITS) for one in extra}
    return sorted({*_grid(low, high, bits, least, most), *further, Fraction(1)})


def _grid(low: int, high: int, bits: int, least: float, most: float) -> list[Fraction]:
    """So many binary digits after the first; the last of them is at or past the end."""
    listed = [
        Fraction(2) ** octave * Fraction((1 << bits) + part, 1 << bits)
        for octave in range(low, high)
        for part in range(1 << bits)
    ]
    listed.append(Fraction(2) ** high)
    inside = [t for t in listed if -least <= math.log(t)]
    ends = [t for t in inside if math.log(t) >= most]
    return [t for t in inside if t <= ends[0]]


def point(t: Fraction, bound: float) -> Point:
    """A bound of H_t: of this direction for t >= 1, of the swapped one at 1/t for t < 1."""
    exact = short_up(min(bound * (1 + _ROOM), 1.0), _BITS)
    return t, exact if t >= 1 else 1 - t + t * max(exact, _LEAST)


def above(points: list[Point]) -> FinitePair:
    """The finite pair of the largest convex polygon below the points."""
    corners: list[Point] = [(Fraction(0), Fraction(1))]
    for point in points:
        while len(corners) > 1 and _slope(*corners[-2:]) >= _slope(corners[-1], point):
            corners.pop()
        corners.append(point)
    while len(corners) > 1 and _slope(*corners[-2:]) >= 0:
        corners.pop()
    slopes = [_slope(*both) for both in pairwise(corners)] + [Fraction(0)]
    jumps = [after - before for before, after in pairwise(slopes)]
    p = [t * jump for (t, _), jump in zip(corners[1:], jumps, strict=True)]
    p, q = [Fraction(0), *p, corners[-1][1]], [1 + slopes[0], *jumps, Fraction(0)]
    kept = [(a, b) for a, b in zip(p, q, strict=True) if a or b]
    return FinitePair(p=tuple(a for a, _ in kept), q=tuple(b for _, b in kept))


def _slope(start: Point, end: Point) -> Fraction:
    return (end[1] - start[1]) / (end[0] - start[0])
