"""The Skellam pair: two Skellam laws at an integer distance, as a finite pair above it."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final

from dpproof.accountant.arithmetic.skellam import SkellamMasses, skellam_masses
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair, pair_above_points

_BITS: Final = 160  # Of the pair's masses.
_UNIT: Final = 1 << _BITS
_FAINT: Final = 1 << 70  # Units of the mass that may become a loss of infinity: 2^-90. Heuristic.
_LOWERED: Final = 1 << 50  # Units by which masses under Q are too small, so that 128 bits show it.
_OUTCOMES: Final = 1_900  # Pairs with more are split onto about so many losses. Heuristic.
_CENTRAL: Final = 6  # Standard deviations of the loss in which those are dense. Heuristic.
_TOO_MUCH: Final = 2.0**-64  # Infinite mass of the pair that is refused. Heuristic.
_LARGEST: Final = 640  # Loss whose exponential, in units of 2^-60, is a float. Heuristic.
_RATIO_BITS: Final = 60


@lru_cache(maxsize=64)
def skellam_pair(*, variance: Fraction, shift: int) -> FinitePair:
    """Return a finite pair above X + shift against X, X of the Skellam law of a variance.

    Statement: X is log-concave, so the best events are half-lines {x >= k}, and the pair's
        trade-off is the concave hull of their masses (Q, P); here with smaller Q and larger P, in
        units of 2^-160, and from where P is below 2^-90 with Q = 0. Where there are many outcomes,
        each is split into two, with the same masses together, of losses on a list: the pair before
        is a post-processing of that. X is symmetric, so that one pair serves both directions.
    Source: ``skellam_masses``, for the masses.
    Rounds: up.

    Args:
        variance: of X, above 0.
        shift: an integer, at least 1.

    Raises:
        NotCertified: the masses' units are too coarse for losses that matter.
    """
    masses = skellam_masses(variance, _BITS)
    last = len(masses.lower) - 1
    tails = _upper_tails(masses)
    points = {(0, 0), (_UNIT, _UNIT)}
    for k in range(-last, last + shift + 1):
        q = max(_half_line(tails, k)[0] - _LOWERED, 0)
        p = _half_line(tails, k - shift)[1]
        points.add((0 if p <= _FAINT else q, _UNIT if q >= _UNIT - _FAINT else p))
        if p <= _FAINT:
            break
    if len(points) > _OUTCOMES:
        points = _split(points, _losses(variance, shift))
    pair = _pair(points)
    if pair.infinite_mass > _TOO_MUCH:
        raise NotCertified(
            f"a Skellam law of variance {float(variance):.6g} moved by {shift} has losses beyond "
            "those that are tabulated, up to about 60; use more noise"
        )
    return pair


def _pair(points: set[tuple[int, int]]) -> FinitePair:
    """Return the pair of the hull of some points, given in units."""
    return pair_above_points((Fraction(q, _UNIT), Fraction(p, _UNIT)) for q, p in points)


def _upper_tails(masses: SkellamMasses) -> list[tuple[int, int]]:
    """Return brackets of P(X >= k), k = 0, 1, ..., one beyond the last included."""
    low = list(accumulate(masses.lower[::-1], initial=0))[::-1]
    high = list(accumulate(masses.upper[::-1], initial=masses.beyond))[::-1]
    return list(zip(low, high, strict=True))


def _half_line(tails: list[tuple[int, int]], k: int) -> tuple[int, int]:
    """Return a bracket of P(X >= k), for k < 0 that of 1 - P(X >= 1 - k)."""
    if k <= 0:
        low, high = _half_line(tails, 1 - k)
        return _UNIT - high, _UNIT - low
    return tails[k] if k < len(tails) else (0, tails[-1][1])


def _losses(variance: Fraction, shift: int) -> list[float]:
    """Return losses, dense where most of the mass of a composition is. Heuristic."""
    away = shift / math.sqrt(variance)
    dense, outer = min(_CENTRAL * away + away**2, _LARGEST / 2), _OUTCOMES // 16
    inner = _OUTCOMES // 2 - outer
    half = [dense * k / inner for k in range(inner)]
    half += [dense * (1 + k / outer) for k in range(outer + 1)]
    return [*half, *(-loss for loss in half)]


def _split(points: set[tuple[int, int]], losses: list[float]) -> set[tuple[int, int]]:
    """Return points above the trade-off through some, its outcomes split onto some losses.

    An outcome (p, q), the step from a point to the next, with p/q between ratios s < t becomes
    q' = (p - sq)/(t - s) at t and q - q' at s, with s = 0 below the first ratio; above the last
    what is left, p - tq, gets Q = 0. Outcomes between the same two ratios are split together.
    Masses of half-lines are sums of masses rounded down under Q and up under P.
    """
    unit = 1 << _RATIO_BITS
    ratios = sorted({0, *(round(math.exp(loss) * unit) for loss in losses)})
    below, above = [0] * len(ratios), [0] * len(ratios)
    for (start, low), (end, high) in pairwise(sorted(points)):
        p, q = high - low, end - start
        cell = bisect_right(ratios, p * unit // q) - 1 if q else len(ratios) - 1
        below[cell] += p
        above[cell] += q
    masses = [Fraction(0)] * len(ratios)
    for cell, (p, q) in enumerate(zip(below[:-1], above[:-1], strict=True)):
        moved = Fraction(p * unit - ratios[cell] * q, ratios[cell + 1] - ratios[cell])
        masses[cell] += q - moved
        masses[cell + 1] += moved
    masses[-1] += above[-1]
    infinite = below[-1] - Fraction(ratios[-1], unit) * above[-1]
    p, q = math.ceil(infinite), 0
    points = {(0, 0), (0, p), (_UNIT, _UNIT)}
    for ratio, mass in zip(ratios[::-1], masses[::-1], strict=True):
        q, p = q + math.floor(mass), min(p + math.ceil(mass * ratio / unit), _UNIT)
        points.add((q, p))
    return points
