"""What the tests of this folder share."""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import mpmath

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.product import Product
from tests.accountant.pairs.builders import responses
from tests.contracts.definition import Outcomes, ball

Law = dict[tuple[int, ...], float]
ONE_SIDED = FinitePair(
    p=(Fraction(1, 10), Fraction(3, 5), Fraction(3, 10)),
    q=(Fraction(0), Fraction(1, 2), Fraction(1, 2)),
)


@functools.cache
def bases() -> tuple[tuple[Product, Outcomes], ...]:
    """Products next to all their outcomes: pure, with infinite mass, and one-sided."""
    half = Fraction(1, 2)
    pure = RandomizedResponsePair(epsilon=half)
    approximate = RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 1000))
    one = responses(half, 2, Fraction(0))
    two = responses(Fraction(1), 2, Fraction(1, 1000))
    three = Outcomes([(ball(p), ball(q)) for p, q in zip(ONE_SIDED.p, ONE_SIDED.q, strict=True)])
    return (
        (Product.of(pure).times(2), times(one, one)),
        (Product.of(approximate), two),
        (Product.of(pure, ONE_SIDED), times(one, three)),
    )


def times(one: Outcomes, other: Outcomes) -> Outcomes:
    """Independent runs."""
    return Outcomes([(p * r, q * s) for p, q in one.masses for r, s in other.masses])


def histogram(truths: Sequence[int], categories: int, epsilon: float) -> Law:
    """The exact law of the histogram of reports of these true categories."""
    other = 1 / (math.exp(epsilon) + categories - 1)
    law: Law = {(0,) * categories: 1.0}
    for truth in truths:
        after: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for (counts, mass), value in itertools.product(law.items(), range(categories)):
            more = tuple(count + (place == value) for place, count in enumerate(counts))
            after[more] += mass * other * (math.exp(epsilon) if value == truth else 1)
        law = after
    return law


def shortfall_of_two(c: mpmath.mpf, a: mpmath.mpf) -> mpmath.mpf:
    """E(c - M)_+ of two variables: a quadrature of the closed form of one."""

    def given(g: mpmath.mpf) -> mpmath.mpf:
        left = 2 * c - mpmath.exp(a * g - a * a / 2)
        if left <= 0:
            return mpmath.mpf(0)
        d = (mpmath.log(left) + a * a / 2) / a
        return mpmath.npdf(g) * (left * mpmath.ncdf(d) - mpmath.ncdf(d - a)) / 2

    top = (mpmath.log(2 * c) + a * a / 2) / a
    cuts = [cut for cut in (-14, -8, -4, -2, 0, 2) if cut < top]
    return mpmath.quad(given, [*cuts, top])
