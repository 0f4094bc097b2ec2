"""The logistic pair."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import flint

from dpproof.accountant.pairs.laplace import LogisticPair
from tests.contracts.definition import Ball, Densities, ball
from tests.contracts.pair_contract import Case, PairContract


def logistic(z: Ball) -> Ball:
    """Density of the standard logistic distribution."""
    return (-z).exp() / (1 + (-z).exp()) ** 2


@functools.cache
def shifted_logistics(epsilon: Fraction) -> Densities:
    """On the quantile scale of Q: dP/dQ = a / (1 + (a-1) V)^2, V uniform, V = 1 - x."""
    e = ball(epsilon)
    grown = e.expm1()

    def loss(x: Ball, analytic: bool) -> Ball:  # noqa: FBT001 -- Arb's signature
        return e - 2 * (1 + grown * (1 - x)).log(analytic=analytic)

    def start(value: Ball) -> Ball | None:
        if value >= e:
            return None
        if value <= -e:
            return flint.arb(0)
        return 1 - (((e - value) / 2).exp() - 1) / grown

    return Densities(
        density=lambda x, _: e.exp() / (1 + grown * (1 - x)) ** 2,
        loss=loss,
        breaks=[flint.arb(0), flint.arb(1)],
        start=start,
    )


class TestLogistic(PairContract):
    """The definition on the quantile scale."""

    def cases(self) -> Sequence[Case]:
        """From a nearly constant likelihood ratio to a very unequal one."""
        found = []
        for epsilon in (Fraction(1, 10_000), Fraction(1, 3), Fraction(1), Fraction(6)):
            definition = shifted_logistics(epsilon)
            found.append(Case(LogisticPair(epsilon=epsilon), definition, definition))
        return found


def test_quantile_scale() -> None:
    """The ratio on the quantile scale is that of two logistic densities at distance epsilon."""
    e = ball(Fraction(3, 2))
    for x in (-4, -1, 0, 2, 5):
        z = ball(Fraction(x))
        v = 1 / (1 + (-z).exp())  # Q centred at 0, P at -epsilon: large losses to the left
        ratio = logistic(z + e) / logistic(z)
        assert ratio.overlaps(e.exp() / (1 + e.expm1() * v) ** 2)
