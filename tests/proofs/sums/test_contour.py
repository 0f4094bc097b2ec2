"""Sums of many nodes, at many epsilons."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings, strategies as st

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair
from dpproof.proofs.pairs.finite import RandomizedResponsePair
from dpproof.proofs.pairs.pair import LogisticPair
from dpproof.proofs.sums.contour import Line, on_circle


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000, 5_000])
def test_a_sum_on_the_circle(count: int) -> None:
    """The sum holds the exact one, and is as sharp for many terms as for few."""
    rng = random.Random(count)  # noqa: S311  # no secret
    terms = [acb(arb(rng.uniform(-1, 1)), arb(rng.uniform(-1, 1))) for _ in range(count)]
    for angle in (arb(0), arb(1) / 7, arb(-3), arb(12345)):
        with ctx.workprec(53):
            found = on_circle(terms)(angle)
        with ctx.workprec(200):
            turned = (one * acb(0, angle.mid() * k).exp() for k, one in enumerate(terms))
            exact = sum(turned, acb(0)).real

        assert abs(found.mid() - exact) <= found.rad()
        assert found.rad() <= count * count * (abs(angle).mid() + 1) * arb(2) ** -50


def test_blurred_terms_and_angles_widen_the_sum() -> None:
    """Every value that the balls of the terms and of the angle allow is held."""
    sharp, blurred = acb(arb(1), arb(2)), acb(arb(1, 0.25), arb(2, 0.5))
    found = on_circle([acb(0), blurred])(arb(1, 0.125))

    for angle in (0.875, 1.0, 1.125):
        for term in (sharp, acb(arb(1.25), arb(1.5)), acb(arb(0.75), arb(2.5))):
            assert found.contains((term * acb(0, arb(angle)).exp()).real)


class _Ceilings:
    """Moments that are at most 1/2 from anywhere on."""

    top = None

    def ceiling(self, *_: object) -> arb:
        """Return the bound."""
        return arb(0.5)


def test_what_is_beyond_the_nodes_is_a_power_of_each_ceiling() -> None:
    """Three times one part and twice another: 2^-5/pi, over the reach of the nodes."""
    line = Line(c=Fraction(1), step=Fraction(1, 2), nodes=8, tau=Fraction(0))
    parts: Any = [_Ceilings(), _Ceilings()]
    product: Any = [(None, 3), (None, 2)]

    assert line._tail(parts, product).overlaps(arb(2) ** -5 / arb.pi() / 4)


SIZES = st.builds(Fraction, st.integers(1, 24), st.just(8))
TELLING = RandomizedResponsePair(epsilon=Fraction(1), categories=3, infinite_mass=Fraction(1, 9))
CLOSED = st.one_of(
    SIZES.map(GaussianPair), SIZES.map(LaplacePair), SIZES.map(LogisticPair), st.just(TELLING)
)


@settings(max_examples=60)
@given(
    pair=CLOSED,
    c=st.builds(Fraction, st.integers(1, 160), st.just(8)),
    step=st.builds(Fraction, st.integers(1, 240), st.just(8)),
    nodes=st.integers(0, 60),
    epsilon=st.builds(Fraction, st.integers(0, 24), st.just(8)),
)
def test_any_line_holds_the_profile(
    pair: Pair, c: Fraction, step: Fraction, nodes: int, epsilon: Fraction
) -> None:
    """However coarse and short it is, bounds are above the profile and enclosures around it."""
    with ctx.workprec(128):
        truth = pair.profile(ball(epsilon))
        line = Line(c, step, nodes, tau=Fraction(0))
        smoothed = Line(c, step, nodes, tau=Fraction(1, 2))
        around = line.around(((pair, 1),), [None])(ball(epsilon))

        assert not line.bound(((pair, 1),), [None])(ball(epsilon)) < truth
        assert not smoothed.bound(((pair, 1),), [None])(ball(epsilon)) < truth
        assert not around < truth
        assert not around > truth
