"""The Laplace pair."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair, LaplacePair
from tests.contracts.definition import Ball, Definition, Outcomes, ball, complex_ball
from tests.contracts.pair_contract import Case, PairContract, flipped, log_ratio


class Laplaces(Definition):
    """Two Laplace densities of scale 1: outside the two centres the loss is constant."""

    def __init__(self, epsilon: Fraction) -> None:
        self.distance = ball(epsilon)

    def compute_moment(self, s: complex) -> Ball:
        """Both tails as masses; between the centres an integral."""
        a, power = self.distance, complex_ball(s)

        def integrand(x: Ball, _: bool) -> Ball:  # noqa: FBT001 -- Arb's signature
            return (x - a).exp() / 2 * (power * (2 * x - a)).exp()

        tails = (power * a).exp() / 2 + (-a).exp() / 2 * (-power * a).exp()
        tolerance = flint.arb("1e-150")
        return tails + flint.acb.integral(integrand, 0, flint.acb(a), abs_tol=tolerance)

    def compute_hockey_stick(self, epsilon: float) -> Ball:
        """P(x >= x*) - e^epsilon Q(x >= x*), x* where the loss is epsilon."""
        a, e = self.distance, ball(epsilon)
        if e >= a:
            return flint.arb(0)
        if e <= -a:
            return 1 - e.exp()
        start = (e + a) / 2
        return 1 - (start - a).exp() / 2 - e.exp() * (-start).exp() / 2


class TestLaplace(PairContract):
    """Two atoms and a density between them."""

    def cases(self) -> Sequence[Case]:
        """Noise of ten thousand times the sensitivity to noise of a twentieth."""
        found = []
        for epsilon in (Fraction(1, 10_000), Fraction(1, 3), Fraction(1), Fraction(20)):
            definition = Laplaces(epsilon)
            found.append(Case(LaplacePair(epsilon=epsilon), definition, definition))
        return found


def test_bounds_are_rounded_up() -> None:
    """The largest loss and rho are at least their exact values, to fifteen digits."""
    for numerator in range(1, 400):
        epsilon = Fraction(numerator, 397)
        pair = LaplacePair(epsilon=epsilon)
        assert epsilon <= Fraction(pair.max_loss) <= epsilon * (1 + Fraction(1, 10**15))
        rho = epsilon**2 / 2
        assert rho <= Fraction(pair.zcdp_bound) <= rho * (1 + Fraction(3, 10**15))


def test_many_far_along_a_line() -> None:
    """K of many pairs at once, where |s a| is 1/2 to 3,000, is within few units of 120 digits."""
    epsilons = [Fraction(1, 20 + k) for k in (0, 1, 17, 60, 100)]
    s = np.concatenate([[0.7, 31.0, 400.0], 31.0 + 1j * np.geomspace(10.0, 6e4, 9)])
    for epsilon, enclosure in zip(
        epsilons, LaplacePair.cgfs([LaplacePair(epsilon=one) for one in epsilons], s), strict=True
    ):
        a = ball(epsilon)
        for one, value, radius in zip(s, enclosure.value, enclosure.radius, strict=True):
            z = complex_ball(complex(one))
            true = ((z + 1) * (z * a).exp() + z * (-(z + 1) * a).exp()) / (2 * z + 1)
            assert abs(log_ratio(true, complex(value))) <= ball(float(radius))
            assert radius <= 2e-14 * (1.0 + abs(one) * float(epsilon)) or abs(one) < 120.0


def test_small_arguments_beside_a_large_one() -> None:
    """One argument at which e^{sL} overflows: the others stay within their radii, of few units."""
    pair, definition = LaplacePair(epsilon=Fraction(1, 100)), Laplaces(Fraction(1, 100))
    s = np.array([0.1, 0.3 + 2j, 7.0, 1e5])
    found = pair.cgf(s)
    for one, value, radius in zip(s[:3], found.value, found.radius, strict=False):
        error = abs(log_ratio(definition.moment(complex(one)), complex(value)))
        assert error.lower() <= float(radius) <= 1e-13
    assert found.value[3].real == pytest.approx(1000 + np.log(100001 / 200001), rel=1e-12)


@functools.cache
def discrete_laplaces(scale: Fraction, shift: int) -> Outcomes:
    """All whole numbers; the two sides beyond the centres are geometric sums."""
    r = (-1 / ball(scale)).exp()
    norm = (1 - r) / (1 + r)
    beyond = norm / (1 - r)
    inside = [(norm * r ** (shift - x), norm * r**x) for x in range(1, shift)]
    return Outcomes([(beyond * r**shift, beyond), *inside, (beyond, beyond * r**shift)])


class TestDiscreteLaplace(PairContract):
    """The definition over all whole numbers."""

    def cases(self) -> Sequence[Case]:
        """Shifts of one, of a few and of many."""
        found = []
        for scale, shift in (
            (Fraction(2), 1),
            (Fraction(5, 3), 4),
            (Fraction(1000), 3),
            (Fraction(1, 4), 2),
            (Fraction(30), 40),
        ):
            definition = discrete_laplaces(scale, shift)
            pair = DiscreteLaplacePair(scale=scale, shift=shift)
            found.append(Case(pair, definition, flipped(definition)))
        return found


@pytest.mark.parametrize("shift", [0, -1, 10**9])
def test_refuses_shifts_without_a_table(shift: int) -> None:
    """A shift below 1 or far too large is refused with the range."""
    with pytest.raises(NotCertified, match="1 to 100000"):
        DiscreteLaplacePair(scale=Fraction(1), shift=shift)
