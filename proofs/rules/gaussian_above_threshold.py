"""AboveThreshold with normal noise: a finite pair above its isoperimetric bound, by tangents."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt
from typing import Final

from flint import arb, ctx

from dpproof.proofs.balls.arithmetic import lower_units
from dpproof.proofs.balls.isoperimetric import Line
from dpproof.proofs.core.arithmetic import ball, exact, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import GDP, SYMMETRIC
from dpproof.proofs.limits import VALUE
from dpproof.proofs.rules.above_threshold import compare, one_way

_BITS: Final = 300  # of the tangents' heights, rounded up
_PRECISION: Final = 512
_MISSED: Final = range(60, 101)  # minus log2 of masses below which events are missed
_STEEPEST: Final = 17
_POINTS: Final = 400  # at most, of each list
_WIDEST: Final = 20  # of a point


def gaussian_above_threshold(step: Application) -> tuple[str, ...]:
    """Check finite pairs above the bound, one query of which is GDP.

    Proof: proofs/theory/above_threshold.md, Theorems 5 to 7.
    """
    step.axiom()
    names = ("threshold_sigma", "query_sigma", "sensitivity")
    first, second, moved = (step.witness.positive(name) for name in names)
    cutoff, queries = step.witness.whole("cutoff"), step.witness.whole("queries")
    monotone, rising = step.witness.flag("monotone"), step.witness.flag("rising")
    if cutoff > queries:
        raise RefusedError("more answers than queries")
    if rising and not monotone:
        raise RefusedError("queries that rise together are monotone")
    if monotone and step.conclusion.relation in SYMMETRIC:
        raise RefusedError("queries are not monotone under a symmetric relation")
    between = f"{exact(moved)} between {step.conclusion.relation} neighbours"
    words = _words((first, second), (queries, cutoff), between, monotone=monotone, rising=rising)
    if queries == 1 and not step.witness.has("near"):
        if step.concludes(GDP).mu_squared * (first**2 + second**2) < moved**2:
            raise RefusedError(
                "mu is smaller than that of the noise of threshold and query together"
            )
        return words
    missed_bits = step.witness.whole("missed") if step.witness.has("missed") else _MISSED[-1]
    if missed_bits not in _MISSED:
        raise RefusedError(f"missed must be {_MISSED[0]} to {_MISSED[-1]}")
    smallest = Fraction(1, 1 << missed_bits)
    near, deep, levels = (_points(step, name) for name in ("near", "deep", "levels"))
    if len(near) != len(deep):
        raise RefusedError("as many points near as deep")
    step.budget.spend(VALUE * (2 * len(near) + len(levels)))
    a, b = moved / first, moved / second
    lines: list[Line] = []
    for z, beyond in zip(near, deep, strict=True):
        lines += _tangents(a, b, (queries, cutoff), (z, beyond), monotone=monotone)
    for k, z in enumerate(levels):
        low, slope = b * queries * _tail(z), b * cutoff * z
        start, end = _level(k // 3, monotone=monotone)
        lines.append((low + slope * start, low + slope * end))
    back = [(right, left) for left, right in lines]
    curves = [lines, back] if monotone else [lines + back]
    missed = max(_floor(one, smallest) for one in curves)
    compare(step, curves, both_orders=not rising, missed=missed)
    return words


def _points(step: Application, name: str) -> tuple[Fraction, ...]:
    """Read where tangents are taken: anywhere at or above 0."""
    points = step.witness.rationals(name)
    if not 0 < len(points) <= _POINTS or min(points) < 0 or max(points) > _WIDEST:
        raise RefusedError(f"{name} must be 1 to {_POINTS} numbers from 0 to {_WIDEST}")
    return points


def _tangents(
    a: Fraction,
    b: Fraction,
    sizes: tuple[int, int],
    at: tuple[Fraction, Fraction],
    *,
    monotone: bool,
) -> list[Line]:
    """Return tangents above 2b J(cp) + a I(p), or b J(c(1 - p)) + a I(p) and b J(cp), and I."""
    (n, c), (z, beyond) = sizes, at
    one, many = (_tail(z), z), (n * _tail(beyond), c * beyond)
    flat = b * Fraction(isqrt(n << 128) + 1, 1 << 64)
    lines = [_climbing(flat * one[0], flat * one[1])]
    if not monotone:
        low, slope = (2 * b * m + a * i for m, i in zip(many, one, strict=True))
        return [*lines, _climbing(low, slope)]
    low, slope = (b * m + a * i for m, i in zip(many, one, strict=True))
    lines += [lines[0][::-1], _climbing(low, slope)[::-1]]
    return [*lines, _climbing(b * many[0], b * many[1])]


def _climbing(height: Fraction, slope: Fraction) -> Line:
    """Return a line by its height at 0 and its slope."""
    return height, height + slope


def _level(level: int, *, monotone: bool) -> Line:
    """Return a line of mu, or of m, by its ends."""
    if not monotone:
        return _climbing(Fraction(2, 3 << level), Fraction(level))
    if level == 0:
        return Fraction(0), Fraction(1)
    low = Fraction(1, 1 << level)
    return low + level - 1, low


def _floor(lines: list[Line], smallest: Fraction) -> Fraction:
    """Add a line through either end to the lines, and return the mass that is missed below them."""
    starts = min(left + (right - left) * smallest for left, right in lines) / smallest
    ends = min(right + (left - right) * smallest for left, right in lines) / smallest
    if max(starts, ends) > _STEEPEST:
        raise RefusedError(f"losses above {_STEEPEST}")
    lines += [(Fraction(0), starts), (ends, Fraction(0))]
    return smallest * Fraction(3) ** ceil(max(starts, ends))


def _tail(z: Fraction) -> Fraction:
    """Return E(Z - z)+ of a standard normal Z, rounded up to 300 bits."""
    with ctx.workprec(_PRECISION):
        x = ball(z)
        value = (-x * x / 2).exp() / (2 * arb.pi()).sqrt() - x * normal_tail(x)
        return Fraction(-lower_units(-value, _BITS), 1 << _BITS)


def _words(
    sigmas: tuple[Fraction, Fraction],
    sizes: tuple[int, int],
    moves: str,
    *,
    monotone: bool,
    rising: bool,
) -> tuple[str, ...]:
    """Return what is taken for granted of the mechanism."""
    first, second = map(exact, sigmas)
    runs = (
        f"adds Gaussian noise of mean 0 and standard deviation {first} to one threshold that is "
        "the same for all datasets, once; it adds Gaussian noise of mean 0 and standard deviation "
        f"{second}, independent of that and in every coordinate, to the values of at most "
        f"{sizes[0]} queries; these are a list of numbers, as long for every dataset, each moving "
        f"by at most {moves}; it compares one sum after the other with the noisy threshold until "
        f"{sizes[1]} were above; its result is which sums were above"
    )
    return runs, *one_way(monotone=monotone, rising=rising), FRESH, ALONE
