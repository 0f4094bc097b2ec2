"""The law of the first query above a noisy threshold, by exact integration of exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from tests.hunt.laws import Law
from tests.hunt.truth import MP, Real, rational, real

Terms = dict[Fraction, Real]
"""A function on an interval: a sum of weights times e^(rate t)."""


def first_above_noisy(queries: Sequence[Fraction], scale: Fraction, other: Fraction) -> Law:
    """First the chance of each query to be the first above, last that none is.

    The threshold is 0 plus Laplace noise of the first scale, every query has Laplace noise of the
    other one.
    """
    places = sorted({Fraction(0), *queries})
    edges: list[Fraction | None] = [None, *places, None]
    law = [MP.mpf(0)] * (len(queries) + 1)
    for left, right in pairwise(edges):
        inside = (
            (left + right) / 2
            if left is not None and right is not None
            else places[0] - 1
            if left is None
            else places[-1] + 1
        )
        sign = -1 if inside > 0 else 1
        running: Terms = {sign / scale: 1 / (2 * real(scale))}
        for number, query in enumerate(queries):
            low = _below(query, other, inside)
            high = {rate: -weight for rate, weight in low.items()}
            high[Fraction(0)] = high.get(Fraction(0), MP.mpf(0)) + 1
            law[number] += _integral(_times(running, high), left, right)
            running = _times(running, low)
        law[-1] += _integral(running, left, right)
    exact = [rational(mass) for mass in law[:-1]]
    return (*exact, 1 - sum(exact, Fraction(0)))


def _below(query: Fraction, scale: Fraction, inside: Fraction) -> Terms:
    """The chance that a query with its noise is below t, on the interval with a point inside."""
    if inside < query:
        return {1 / scale: MP.exp(-real(query / scale)) / 2}
    return {Fraction(0): MP.mpf(1), -1 / scale: -MP.exp(real(query / scale)) / 2}


def _times(one: Terms, other: Terms) -> Terms:
    total: Terms = {}
    for a, x in one.items():
        for b, y in other.items():
            total[a + b] = total.get(a + b, MP.mpf(0)) + x * y
    return total


def _integral(terms: Terms, left: Fraction | None, right: Fraction | None) -> Real:
    """The integral over an interval that may be a half-line, on which every term vanishes."""
    total = MP.mpf(0)
    for rate, weight in terms.items():
        if rate == 0:
            if left is None or right is None:
                raise AssertionError("the threshold's density falls to 0")
            total += weight * real(right - left)
            continue
        ends = [MP.mpf(0) if end is None else MP.exp(real(rate * end)) for end in (left, right)]
        total += weight * (ends[1] - ends[0]) / real(rate)
    return total
