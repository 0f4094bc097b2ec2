"""The Poisson-subsampled Gaussian pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant.arithmetic.enclosure import EXTENDED
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from tests.accountant.pairs.builders import both
from tests.contracts.definition import ball
from tests.contracts.pair_contract import Case, PairContract


class TestSubsampledGaussian(PairContract):
    """The mixture's own integral, in both directions."""

    tilts = (1e-6, 0.03, 0.7, 8.0)
    heights = (0.0, 1e-5, 3.0, 40.0)
    frequencies = (0.01, 1.5, 20.0)
    bracket_width = 1e-8
    profile_width = 1e-8

    def cases(self) -> Sequence[Case]:
        """A rate near 0 and one near 1."""
        return both(Fraction(1), Fraction(1, 100)) + both(Fraction(1), Fraction(99, 100))


@pytest.mark.slow
class TestExtremeSubsampledGaussian(TestSubsampledGaussian):
    """The same where the integrals take long."""

    def cases(self) -> Sequence[Case]:
        """Little noise at a tiny rate, much noise at a large one; a rate next to 1."""
        return (
            both(Fraction(4), Fraction(1, 10**4))
            + both(Fraction(1, 9), Fraction(1, 5))
            + both(Fraction(25), 1 - Fraction(1, 10**9))
        )


@pytest.mark.parametrize("exponent", [1, 3, 9, 14, 16, 20, 40, 80])
@pytest.mark.parametrize("mu_squared", [Fraction(1, 4), Fraction(1), Fraction(9), Fraction(16)])
def test_whole_powers_in_closed_form(mu_squared: Fraction, exponent: int) -> None:
    """M(1) and M(2) of removal are polynomials in q, also at rates next to nothing."""
    q, m = flint.arb(10) ** -exponent, ball(mu_squared)
    second = q**2 * m.expm1()
    third = 3 * second + q**3 * ((3 * m).exp() - 3 * m.exp() + 2)
    pair = SubsampledGaussianPair(
        mu_squared=mu_squared, sampling_rate=Fraction(1, 10**exponent), removal=True
    )
    found = pair.cgf(np.array([1.0, 2.0]) + 0j)
    for value, radius, moment in zip(found.value, found.radius, (second, third), strict=True):
        off = abs(flint.arb(float(value.real)) - moment.log1p())
        assert off <= flint.arb(float(radius))
        assert radius <= 1e-10 * abs(value)


def log_moment(mu: flint.arb, q: flint.arb, alpha: flint.acb, end: float) -> flint.acb:
    """Enclose the log of E (1 + u)^alpha, by integration from -15 to an end."""

    def term(z: flint.acb, analytic: bool) -> flint.acb:  # noqa: FBT001  # flint calls it so
        growth = (1 - q + q * (mu * z - mu * mu / 2).exp()).log(analytic)
        return (alpha * growth - z * z / 2).exp()

    accuracy = flint.arb(2) ** -120
    total = flint.acb.integral(term, -15, end, rel_tol=accuracy, abs_tol=accuracy)
    return (total / (2 * flint.arb.pi()).sqrt()).log()


@pytest.mark.parametrize("mu", [24, 40])
@pytest.mark.parametrize("tilt", [2.0**-7, 0.25])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 10**9)])
@pytest.mark.parametrize("removal", [True, False])
def test_hardly_any_noise(*, mu: int, tilt: float, rate: Fraction, removal: bool) -> None:
    """What a record moves is far from where the density is; both count in E u = 0."""
    pair = SubsampledGaussianPair(mu_squared=Fraction(mu * mu), sampling_rate=rate, removal=removal)
    s = np.array([tilt, tilt + 3j])
    found = pair.cgf(s)
    for point, value, radius in zip(s, found.value, found.radius, strict=True):
        with flint.ctx.workprec(192):
            q, power = flint.arb(rate.numerator) / rate.denominator, flint.acb(complex(point))
            alpha = power + 1 if removal else -power
            off = flint.acb(complex(value)) - log_moment(
                flint.arb(mu), q, alpha, mu * (1 + tilt) + 14
            )
            if math.isinf(radius):  # M is next to 0, and may be nan to so many bits
                assert not off.real < 0
            else:
                assert off.real**2 + off.imag.sin() ** 2 <= (flint.arb(radius) + 1e-20) ** 2
        assert removal or radius <= 1e-7 * abs(value)


@pytest.mark.skipif(EXTENDED is np.float64, reason="no longer floats here")
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("height", [0.0, 2.0, 60.0])
@pytest.mark.parametrize(
    ("mu_squared", "rate"),
    [(Fraction(25, 16), Fraction(1, 10**4)), (Fraction(1), Fraction(1, 1000))],
)
def test_longer_floats_give_more_digits(
    *, mu_squared: Fraction, rate: Fraction, removal: bool, height: float
) -> None:
    """Refined, K is known to 17 digits or more, on short lines and on long ones."""
    pair = SubsampledGaussianPair(mu_squared=mu_squared, sampling_rate=rate, removal=removal)
    last = 3.5 + 1j * height
    with flint.ctx.workprec(192):
        mu = (flint.arb(mu_squared.numerator) / mu_squared.denominator).sqrt()
        q, power = flint.arb(rate.numerator) / rate.denominator, flint.acb(last)
        true = log_moment(mu, q, power + 1 if removal else -power, 24)
        for s in (np.array([last]), 3.5 + 1j * np.linspace(0.0, height, 65)):
            plain, finer = pair.cgf(s), pair.refined().cgf(s)
            ends = (flint.arb(repr_exact(x)) for x in (finer.value[-1].real, finer.value[-1].imag))
            assert abs(flint.acb(*ends) - true) <= float(finer.radius[-1]) + 1e-35
            assert finer.radius[-1] <= 0.02 * plain.radius[-1]
            assert (np.abs(plain.value - finer.value) <= plain.radius + finer.radius).all()


def repr_exact(value: np.longdouble) -> str:
    """As many digits as a long double has."""
    return np.format_float_scientific(value, precision=40, unique=False)


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("mu", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 50), Fraction(99, 100)])
def test_mass_beyond_a_loss(*, removal: bool, mu: float, rate: Fraction) -> None:
    """Against the normal law at 50 digits, up to the largest loss of an addition."""
    pair = SubsampledGaussianPair(mu_squared=Fraction(mu) ** 2, sampling_rate=rate, removal=removal)
    top = min(pair.max_loss, 600.0)
    at = np.append(top * np.geomspace(1e-15, 1 - 1e-15, 30), [0.0, top])
    low, high = pair.beyond(at)
    with mpmath.workdps(50):
        m, q = mpmath.mpf(mu), mpmath.mpf(rate.numerator) / rate.denominator
        for epsilon, least, most in zip(at.tolist(), low.tolist(), high.tolist(), strict=True):
            sign = 1 if removal else -1
            likely = 1 + mpmath.expm1(sign * mpmath.mpf(epsilon)) / q
            if likely <= 0:
                assert least == 0.0
                continue
            x = mpmath.log(likely) / m + m / 2
            mixed = (1 - q) * mpmath.ncdf(x) + q * mpmath.ncdf(x - m)
            true = mpmath.ncdf(-x) if removal else mixed
            assert least <= true <= most
            assert epsilon > 0.9 * top or most - least <= 1e-10 * true + 1e-299


def test_refined_pairs_are_others_and_mixtures_of_them_the_same() -> None:
    """A refined pair dominates the same; refining twice changes nothing; plain sums stay plain."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 3), removal=True
    )
    finer = pair.refined()
    assert finer.refined() == finer
    assert finer.swapped().refined() == finer.swapped()
    assert (finer == pair) == (EXTENDED is np.float64)
    s = np.array([6.0 + 0j, 6.0 + 2j])  # M far above 1
    assert (finer.cgf(s).value == pair.cgf(s).value).all()


def test_fractions_of_numbers_beyond_all_floats() -> None:
    """Numerators and denominators may have any length: K is that of the rounded parameters."""
    beyond = 10**400
    near = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 50), removal=True
    )
    far = SubsampledGaussianPair(
        mu_squared=Fraction(beyond + 1, beyond),
        sampling_rate=Fraction(beyond + 1, 50 * beyond),
        removal=True,
    )
    s = np.array([2.0 + 0j, 2.0 + 1j])
    for one, other in ((near, far), (near.refined(), far.refined())):
        apart = np.abs(one.cgf(s).value - other.cgf(s).value)
        assert (apart <= one.cgf(s).radius).all()
