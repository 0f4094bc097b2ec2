"""The floored Gaussian pair, against its definition."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special

from dpproof.accountant.pairs.cut_gaussian import FlooredGaussianPair, FoldedGaussianPair
from tests.accountant.pairs.above_floor import case, gaussian_hockey_stick_at
from tests.contracts.definition import ball
from tests.contracts.pair_contract import Case, PairContract, gaussian_hockey_stick


class TestFlooredGaussian(PairContract):
    """Floors below, at and above the mean loss."""

    tilts = (1e-6, 0.03, 0.7, 4.0)
    heights = (0.0, 1e-5, 0.4, 3.0, 25.0)
    frequencies = (0.1, 1.5, 11.0)

    def cases(self) -> Sequence[Case]:
        """From much noise to little."""
        return [
            case(FlooredGaussianPair(mu_squared=Fraction(1, 16), floor=Fraction(1))),
            case(FlooredGaussianPair(mu_squared=Fraction(9, 4), floor=Fraction(0))),
        ]


@pytest.mark.parametrize("heights", [(0.0, 1.0), (-12.0, 0.0), (0.0, 28.0)])
def test_the_faddeeva_function_is_as_close_as_is_assumed(heights: tuple[float, float]) -> None:
    """Within 1e-13 of itself on the upper half-plane; seed 7, next to the axes, out to 60."""
    rng = np.random.default_rng(7)
    y = rng.uniform(*heights, 120)
    points = rng.uniform(-60, 60, 120) * rng.choice([1e-9, 0.05, 0.2, 1.0], 120)
    points = points + 1j * (10.0**y if heights[0] < 0 else y)
    with mpmath.workdps(60):
        for z, found in zip(points.tolist(), special.wofz(points).tolist(), strict=True):
            true = mpmath.exp(-(mpmath.mpc(z) ** 2)) * mpmath.erfc(-1j * mpmath.mpc(z))
            assert abs(found - true) <= 1e-13 * abs(true), z


@pytest.mark.parametrize("floor", ["1e-75", "1e-25", "1e-12", "0.3"])
@pytest.mark.parametrize("mu", ["1e-100", "1e-25", "1e-13"])
def test_the_mass_off_the_support_keeps_its_digits(mu: str, floor: str) -> None:
    """Phi(a + mu) - e^-f Phi(a) at 400 digits, of the order of the larger of mu and f."""
    square, f = Fraction(mu) ** 2, Fraction(floor)
    mass = FlooredGaussianPair(mu_squared=square, floor=f, reverse=True).infinite_mass
    with mpmath.workdps(400):
        a = mpmath.mpf(floor) / mpmath.mpf(mu) - mpmath.mpf(mu) / 2
        true = mpmath.ncdf(a + mpmath.mpf(mu)) - mpmath.exp(-mpmath.mpf(floor)) * mpmath.ncdf(a)
        assert abs(mass / true - 1) < 3e-16


class TestFoldedGaussian(PairContract):
    """No atom."""

    tilts = (1e-6, 0.03, 0.7, 4.0)
    heights = (0.0, 1e-5, 0.4, 3.0, 25.0)
    frequencies = (0.1, 1.5, 11.0)

    def cases(self) -> Sequence[Case]:
        """At moderate noise."""
        return [case(FoldedGaussianPair(mu_squared=Fraction(3, 2)))]


def test_known_values() -> None:
    """delta(1) and delta(.05) of a folded pair at mu = 1/2, and the mass off P's support."""
    pair = FoldedGaussianPair(mu_squared=Fraction(1, 4))
    lower, upper = pair.profile(np.array([1.0, 0.05]))

    assert lower == pytest.approx([0.0136592, 0.351287], rel=1e-5)
    assert upper == pytest.approx(lower, rel=1e-9)
    assert pair.swapped().infinite_mass == pytest.approx(0.38292492254802624, rel=1e-14)
    assert gaussian_hockey_stick(0.5, 1.0).overlaps(gaussian_hockey_stick_at(ball(0.5), ball(1.0)))


@pytest.mark.parametrize("mu", ["1e-100", "1e-30", "1e-14", "2e-7", "3", "1e5", "1e100"])
def test_folded_gaussian_the_mass_off_the_support_keeps_its_digits(mu: str) -> None:
    """2 Phi(mu) - 1 at 400 digits, which cancels for small mu and is below 1 for large ones."""
    pair = FoldedGaussianPair(mu_squared=Fraction(mu) ** 2, reverse=True)
    with mpmath.workdps(400):
        true = mpmath.erf(mpmath.mpf(mu) / mpmath.sqrt(2))
        assert abs(pair.infinite_mass / true - 1) < 3e-16
    assert pair.infinite_mass < 1.0
