"""Interval arithmetic with mpmath: elementary functions that enclose, and the normal law.

mpmath rounds sums, products and quotients outwards. Its elementary functions round an approximation
that has some ten guard bits, so every value of theirs is widened by 2^(3 - precision) of itself.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from mpmath import iv

PRECISIONS: Final = (128, 256, 512)
"""Bits at which a comparison is made, one after the other, until it is decided."""

Interval = Any


class Undecided(Exception):
    """Two enclosures overlap at this precision."""


def of(value: Fraction | int) -> Interval:
    """Return an enclosure of a rational, a point if its numerator fits and it is binary."""
    exact = Fraction(value)
    return iv.mpf(exact.numerator) / iv.mpf(exact.denominator)


def hull(low: Interval, high: Interval) -> Interval:
    """Return the interval from the low end of one to the high end of the other."""
    return iv.mpf([low.a, high.b])


def _widened(value: Interval) -> Interval:
    unit = iv.mpf(2) ** (3 - iv.prec)
    return value * hull(1 - unit, 1 + unit)


def exp(value: Interval) -> Interval:
    """Enclose the exponential function; at exactly 0 it is exactly 1."""
    return iv.mpf(1) if value == 0 else _widened(iv.exp(value))


def log(value: Interval) -> Interval:
    """Enclose the logarithm of what is certainly above 0; at exactly 1 it is exactly 0."""
    if not value.a > 0:
        raise Undecided
    return iv.mpf(0) if value == 1 else _widened(iv.log(value))


def root(value: Interval) -> Interval:
    """Enclose the square root."""
    return _widened(iv.sqrt(value))


def least(first: Interval, second: Interval) -> Interval:
    """Enclose the smaller of two numbers."""
    return iv.mpf([min(first.a, second.a), min(first.b, second.b)])


def largest(first: Interval, second: Interval) -> Interval:
    """Enclose the larger of two numbers."""
    return iv.mpf([max(first.a, second.a), max(first.b, second.b)])


def normal(value: Interval) -> Interval:
    """Enclose the distribution function of N(0, 1), which increases."""
    return hull(_normal(iv.mpf(value.a)), _normal(iv.mpf(value.b)))


def _normal(at: Interval) -> Interval:
    if abs(at).b < 6:
        return iv.mpf(1) / 2 + _from_the_middle(at)
    tail = _beyond(abs(at))
    return 1 - tail if at > 0 else tail


def _from_the_middle(at: Interval) -> Interval:
    """Enclose P(0 <= N <= x) = phi(x) (x + x^3/3 + x^5/(3 5) + ...), for |x| < 6.

    A term is the one before times x^2/(2k + 1). Once that is below 1/2, all others add up to less
    than the last one.
    """
    bits = iv.prec
    iv.prec = bits + 64
    square = at * at
    term = total = at
    k = 1
    while 2 * square.b > 2 * k + 1 or abs(term).b > abs(total).a * 2 ** (-bits - 8):
        term = term * square / (2 * k + 1)
        total = total + term
        k += 1
    value = (total + hull(-abs(term), abs(term))) * _density(square)
    iv.prec = bits
    return +value


def _beyond(at: Interval) -> Interval:
    """Enclose P(N >= x) = phi(x)/t_0, x >= 6, by Laplace's t_k = x + (k + 1)/t_{k+1} > x."""
    terms = 16 + int((iv.prec + 16) ** 2 / 8 / min(float(at.a), 1e9) ** 2)
    t = hull(at, at + (terms + 1) / at)
    for k in range(terms, 0, -1):
        t = at + k / t
    return _density(at * at) / t


def _density(square: Interval) -> Interval:
    return exp(-square / 2) / root(2 * _widened(iv.pi))
