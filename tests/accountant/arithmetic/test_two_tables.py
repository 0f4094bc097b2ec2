"""Profiles of products of two finite pairs, against exact enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.arithmetic.atoms import Atoms, PiecewiseLinear, product_profile
from dpproof.accountant.pairs.finite import FinitePair

FIRST = FinitePair(
    p=(Fraction(1, 2), Fraction(1, 3), Fraction(1, 6), Fraction(0)),
    q=(Fraction(1, 10), Fraction(2, 5), Fraction(1, 4), Fraction(1, 4)),
)
SECOND = FinitePair(
    p=(Fraction(5, 8), Fraction(1, 1000), Fraction(124, 1000), Fraction(1, 4)),
    q=(Fraction(5, 8), Fraction(1, 8000), Fraction(2999, 8000), Fraction(0)),
)
SAME = FinitePair(p=(Fraction(1),), q=(Fraction(1),))


def exact(first: FinitePair, second: FinitePair, t: Fraction) -> Fraction:
    """The hockey-stick divergence of the product."""
    total = Fraction(0)
    for (a, b), (c, d) in itertools.product(
        zip(first.p, first.q, strict=True), zip(second.p, second.q, strict=True)
    ):
        total += max(a * c - t * b * d, Fraction(0))
    return total


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.product((FIRST, SECOND, SECOND.swapped(), SAME), repeat=2))
)
def test_products_of_two_finite_pairs(first: FinitePair, second: FinitePair) -> None:
    """Ends rounded down and up enclose the exact divergence at every t, and are next to it."""
    tables = PiecewiseLinear.of(first.atoms), PiecewiseLinear.of(second.atoms)
    t = [Fraction(k, 64) for k in (0, 1, 5, 40, 64, 65, 80, 200, 319, 320, 321, 10**4)][1:]
    epsilon = np.array([math.log(one) for one in t])
    low, high = (
        product_profile(tables[0].outcomes, tables[1], epsilon, sign) for sign in (-1.0, 1.0)
    )
    for one, below, above in zip(t, low.tolist(), high.tolist(), strict=True):
        true = exact(first, second, one)
        slack = Fraction(1, 10**15)  # log t is rounded
        assert Fraction(below) <= true + slack
        assert true - slack <= Fraction(above)
        assert above - below <= 1e-11


def test_beyond_every_loss_the_infinite_masses_remain() -> None:
    """At an infinite epsilon, where delta = 0 is asked for, the profile is that of the rests."""
    first, second = PiecewiseLinear.of(FIRST.atoms).outcomes, PiecewiseLinear.of(SECOND.atoms)
    (low,), (high,) = (
        product_profile(first, second, np.array([math.inf]), sign).tolist() for sign in (-1.0, 1.0)
    )

    assert low == pytest.approx(0.25, abs=1e-11)
    assert low <= 0.25 <= high


def test_masses_that_underflow() -> None:
    """A mass of 1e-300 at a loss of 84 has 1e-337 under Q, which floats round to 0."""
    first = PiecewiseLinear.of(SAME.atoms).outcomes
    rare = Atoms(np.array([math.log(1e-300), 0.0]), np.array([84.0, 1e-9]), 0.0, 0.0)
    epsilon = np.array([40.0, 60.0])
    low, high = (
        product_profile(first, PiecewiseLinear.of(rare), epsilon, sign) for sign in (-1.0, 1.0)
    )
    assert (low <= 1e-300 * (1 - 1e-10)).all()
    assert (high >= 1e-300 * (1 - 1e-8)).all()


@pytest.mark.parametrize("least", [0.0, 0.01])
def test_products_of_three_finite_pairs(least: float) -> None:
    """Two multiplied out and asked with the third enclose the sum over all outcomes, rests too."""
    one, two, three = (PiecewiseLinear.of(pair.atoms) for pair in (FIRST, SECOND, FIRST))
    pairs = [zip(pair.p, pair.q, strict=True) for pair in (FIRST, SECOND, FIRST)]
    masses = [
        (math.prod(p for p, _ in drawn), math.prod(q for _, q in drawn))
        for drawn in itertools.product(*pairs)
    ]
    t = [Fraction(k, 32) for k in (1, 5, 32, 33, 80, 200, 10**4)]
    epsilon = np.array([math.log(one) for one in t])
    low, high = (
        product_profile(one.outcomes.times(two.outcomes).leading(least, sign), three, epsilon, sign)
        for sign in (-1.0, 1.0)
    )
    for at, below, above in zip(t, low.tolist(), high.tolist(), strict=True):
        true = sum((max(p - at * q, Fraction(0)) for p, q in masses), Fraction(0))
        slack = Fraction(1, 10**15)  # log t is rounded
        assert Fraction(below) <= true + slack
        assert true - slack <= Fraction(above)
        assert above - below <= (1e-11 if not least else 0.05)


def test_infinite_masses_below_the_least_float_are_not_lost() -> None:
    """Where parts of the least float remain, the upper end is above their sum."""
    least = Fraction(1, 2**1074)
    rare = FinitePair(p=(least, 1 - least), q=(Fraction(0), Fraction(1)))
    p, q = ([Fraction(k, 10) for k in row] for row in ((4, 3, 3), (2, 3, 5)))
    three = FinitePair(p=tuple(p), q=tuple(q))
    first, second = PiecewiseLinear.of(three.atoms).outcomes, PiecewiseLinear.of(rare.atoms)
    beyond = np.array([5.0])

    assert Fraction(product_profile(first, second, beyond, 1.0).item()) >= least
    assert Fraction(product_profile(first, second, beyond, -1.0).item()) <= least
    none = product_profile(first, PiecewiseLinear.of(three.atoms), beyond, 1.0)
    assert none.item() == 0.0
