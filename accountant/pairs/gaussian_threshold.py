"""The pair of AboveThreshold with normal noise and a public bound on the number of queries."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias, final

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.isoperimetric import Line, finite_pair_above, isoperimetric

Points: TypeAlias = tuple[Fraction, ...]

_BITS: Final = 300  # Of the heights of tangents, rounded up.
_RAISED: Final = 1 + Fraction(1, 10**9)  # Over errors of floats; soundness depends on it.
# Log2 of masses below which events are missed, the smallest first. Heuristic.
_MISSED: Final = (100, 90, 80, 70, 60)
_LARGEST: Final = 16  # Nats, as of finite pairs above isoperimetric ones.
_FINENESS: Final = 64
_NEAR: Final = tuple(Fraction(3 * k, 8) for k in range(32))  # Up to the tail of 2^-100. Heuristic.
_LEVELS: Final = 8


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tangents:
    """The tangents that replace the concave bounds; any places give valid bounds. Heuristic.

    Attributes:
        near: normal quantiles z, tangents of I at the mass of the tail beyond z.
        deep: for each of them, one for I at a share of that mass.
        levels: three for every line of mu, or of m.
        missed: minus log2 of the mass below which events are missed.
    """

    near: Points
    deep: Points
    levels: Points
    missed: int = _MISSED[0]


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
    return Fraction(math.ceil(Fraction(value) * _RAISED * 2**_BITS) + 1, 1 << _BITS)
