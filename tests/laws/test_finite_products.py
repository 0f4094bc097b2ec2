"""The engine against exact enumeration, on random products of finite pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import flint
from hypothesis import given, settings, strategies as st

from dpproof.accountant import answers
from dpproof.accountant.engine import profile
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from tests.contracts.definition import Ball, ball

Masses = list[tuple[Ball, Ball]]
MOST = 4000


@final
@dataclass(frozen=True)
class Known:
    """A product next to all its outcomes."""

    product: Product
    masses: Masses

    def hockey_stick(self, epsilon: float) -> Ball:
        """A plain sum of positive parts."""
        t = ball(epsilon).exp()
        return sum(((p - t * q).max(flint.arb(0)) for p, q in self.masses), flint.arb(0))


def response(epsilon: Fraction, categories: int, infinite: Fraction) -> tuple[Pair, Masses]:
    """Randomised response and its outcomes."""
    e, rest, zero = ball(epsilon).exp(), 1 - ball(infinite), flint.arb(0)
    total = e + categories - 1
    found = [(rest * e / total, rest / total), (rest / total, rest * e / total)]
    if categories > 2:
        found.append((rest * (categories - 2) / total, rest * (categories - 2) / total))
    found += [(ball(infinite), zero), (zero, ball(infinite))] if infinite else []
    pair = RandomizedResponsePair(epsilon=epsilon, categories=categories, infinite=infinite)
    return pair, found


responses = st.builds(
    response,
    st.one_of(
        st.sampled_from([Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(20)]),
        st.fractions(min_value=Fraction(1, 1000), max_value=3, max_denominator=1000),
    ),
    st.sampled_from([2, 2, 3, 7]),
    st.sampled_from(
        [Fraction(0), Fraction(0), Fraction(1, 10**9), Fraction(1, 10), Fraction(9, 10)]
    ),
)
weights = st.one_of(st.integers(1, 9), st.integers(1, 10**6), st.sampled_from([10**12, 10**12 + 1]))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Pair, Masses]:
    """Two to four outcomes, some on one side only, some nearly equal."""
    size = draw(st.integers(1, 4))
    zeros = draw(st.booleans())
    one = st.one_of(weights, st.just(0)) if zeros else weights
    sides = []
    for _ in range(2):
        side = draw(st.lists(one, min_size=size, max_size=size).filter(any))
        sides.append(tuple(Fraction(w, sum(side)) for w in side))
    pair = FinitePair(p=sides[0], q=sides[1])
    return pair, [(ball(p), ball(q)) for p, q in zip(*sides, strict=True)]


@st.composite
def products(draw: st.DrawFn) -> Known:
    """One to three pairs, one to four times each."""
    factors: list[Factor] = []
    masses: Masses = [(flint.arb(1), flint.arb(1))]
    for pair, one in draw(st.lists(st.one_of(responses, tables()), min_size=1, max_size=3)):
        count = draw(st.integers(1, 4))
        while count > 1 and len(masses) * len(one) ** count > MOST:
            count -= 1
        if len(masses) * len(one) ** count > MOST:
            break
        factors.append(Factor(pair, count))
        for _ in range(count):
            masses = [(a * p, b * q) for a, b in masses for p, q in one]
    return Known(Product.merge(factors), masses)


places = st.one_of(
    st.sampled_from([0.0, 1e-12, 0.5, 0.999, 1 - 1e-9, 1.0, 1 + 1e-9, 1.5, -1e-9, -0.5, -2.0]),
    st.floats(-1.5, 1.5),
)
targets = st.one_of(
    st.sampled_from([0.0, 1e-100, 1e-30, 1e-9, 0.1, 1 - 1e-9]),
    st.floats(-100.0, -0.01).map(lambda x: 10.0**x),
)


@given(products(), st.lists(places, min_size=1, max_size=3))
@settings(max_examples=60)
def test_delta(known: Known, shares: list[float]) -> None:
    """At fractions of the largest loss, of both signs, delta's bracket holds the exact sum."""
    top = profile.max_loss(known.product)
    scale = top if math.isfinite(top) and top > 0 else 1.0
    for share in shares:
        true = known.hockey_stick(share * scale)
        found = answers.delta(known.product, share * scale)
        assert ball(found.lower).lower() <= true.upper()
        assert true.lower() <= ball(found.upper).upper()


@given(products(), st.lists(targets, min_size=1, max_size=3))
@settings(max_examples=60)
def test_epsilon(known: Known, deltas: list[float]) -> None:
    """At the upper end of epsilon delta is reached, just below the lower end it is not."""
    for delta in deltas:
        found = answers.epsilon(known.product, delta)
        if math.isfinite(found.upper):
            assert known.hockey_stick(found.upper).lower() <= ball(delta)
        if found.lower > 0:
            inside = math.nextafter(found.lower, 0.0) if math.isfinite(found.lower) else 600.0
            assert known.hockey_stick(inside).upper() >= ball(delta)


@given(products(), st.floats(1.0001, 40.0))
@settings(max_examples=25)
def test_renyi(known: Known, order: float) -> None:
    """The divergence of the product is the sum over all its outcomes."""
    found = answers.renyi(known.product, order)
    power, total = ball(order), flint.arb(0)
    for p, q in known.masses:
        if p > 0 and q == 0:
            assert found.lower == math.inf
            return
        if p > 0:
            total += p * ((power - 1) * (p / q).log()).exp()
    true = total.log() / (power - 1)
    assert ball(found.lower).lower() <= true.upper()
    assert true.lower() <= ball(found.upper).upper()


@given(products(), st.sampled_from([0.0, 1e-12, 1e-3, 0.2, 0.5, 0.99, 1.0]))
@settings(max_examples=25)
def test_true_positive_rate(known: Known, rate: float) -> None:
    """Rejecting outcomes by falling likelihood ratio, with a split one, is the best test."""
    found = answers.true_positive_rate(known.product, rate)
    ranked = sorted(
        ((p, q) for p, q in known.masses if p > 0 or q > 0),
        key=lambda mass: -math.inf if mass[1] == 0 else -float(mass[0] / mass[1]),
    )
    left, power = ball(rate), flint.arb(0)
    for p, q in ranked:
        share = flint.arb(1) if q == 0 else (left / q).min(flint.arb(1)).max(flint.arb(0))
        power += p * share
        left -= q * share
    assert ball(found.lower).lower() <= power.upper() + ball(1e-30)
    assert power.lower() <= ball(found.upper).upper() + ball(1e-30)


def test_nearly_equal_losses() -> None:
    """Losses 1e-13 apart are not taken for one."""
    near = Fraction(3, 8) * (1 + Fraction(1, 10**13))
    p = (Fraction(3, 8), near, Fraction(5, 8) - near)
    q = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    one = [(ball(a), ball(b)) for a, b in zip(p, q, strict=True)]
    masses = [(a * c, b * d) for a, b in one for c, d in one]
    known = Known(Product.of(FinitePair(p=p, q=q)).times(2), masses)
    for epsilon in (0.0, 0.1, 0.5, 0.81):
        true = known.hockey_stick(epsilon)
        found = answers.delta(known.product, epsilon)
        assert ball(found.lower).lower() <= true.upper()
        assert true.lower() <= ball(found.upper).upper()


def test_largest_loss_next_to_zero() -> None:
    """Losses of 1e-12 on a lattice of span log 2: the end of the losses is blurred, not passed."""
    many = 10**12
    p = (Fraction(1, many + 3), Fraction(1, many + 3), Fraction(many + 1, many + 3))
    q = (Fraction(1, many + 4), Fraction(2, many + 4), Fraction(many + 1, many + 4))
    one = [(ball(a), ball(b)) for a, b in zip(p, q, strict=True)]
    known = Known(
        Product.of(FinitePair(p=p, q=q)).times(2), [(a * c, b * d) for a, b in one for c, d in one]
    )
    found = answers.epsilon(known.product, 1e-100)
    assert known.hockey_stick(found.upper).lower() <= ball(1e-100)


def test_between_the_largest_loss_and_its_bound() -> None:
    """There delta is 0, which comes out without a warning."""
    many = 10**12
    p = (Fraction(many, 2 * many + 3), Fraction(many + 3, 2 * many + 3))
    q = (Fraction(many, 2 * many + 4), Fraction(many + 4, 2 * many + 4))
    product = Product.of(FinitePair(p=p, q=q)).times(2)
    assert answers.delta(product, 0.999 * profile.max_loss(product)).upper <= 5e-324
