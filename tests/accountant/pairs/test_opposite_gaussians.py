"""Opposite Gaussian mixtures, as a Poisson-sampled sum has under replace-one."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import ELEMENTARY_ULPS, UNIT_ROUNDOFF
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair, _Mixture
from dpproof.accountant.pairs.product import Product
from tests.accountant.pairs.builders import normal
from tests.contracts.definition import Ball, Densities, ball
from tests.contracts.pair_contract import Case, PairContract


@functools.cache
def opposite(mu_squared: Fraction, rate: Fraction) -> Densities:
    """The two mixtures."""
    mu, q = ball(mu_squared).sqrt(), ball(rate)

    def mixture(z: Ball) -> Ball:
        return 1 - q + q * (mu * z - mu * mu / 2).exp()

    def start(epsilon: Ball) -> Ball:
        t = epsilon.exp()
        other = (1 - q) * (t - 1)
        weight = q * (-mu * mu / 2).exp()
        root = other + (other**2 + 4 * t * weight**2).sqrt()
        return (root / (2 * weight)).log() / mu

    return Densities(
        density=lambda z, _: (1 - q) * normal(z) + q * normal(z - mu),
        loss=lambda z, analytic: (
            mixture(z).log(analytic=analytic) - mixture(-z).log(analytic=analytic)
        ),
        breaks=[flint.arb(-25) - mu, flint.arb(0), 25 + 21 * mu],
        start=start,
        digits=40,
    )


def case(mu_squared: Fraction, rate: Fraction) -> Case:
    """The pair, which is its own swap."""
    there = opposite(mu_squared, rate)
    return Case(OppositeGaussiansPair(mu_squared=mu_squared, sampling_rate=rate), there, there)


class TestOppositeGaussians(PairContract):
    """The mixtures' own integral."""

    tilts = (1e-6, 0.03, 0.7, 8.0)
    heights = (0.0, 1e-5, 3.0, 40.0)
    frequencies = (0.01, 1.5, 20.0)

    def cases(self) -> Sequence[Case]:
        """Return the pair at a rate far from 0 and 1."""
        return (case(Fraction(1), Fraction(1, 5)),)


@pytest.mark.slow
class TestExtremeOppositeGaussians(TestOppositeGaussians):
    """The same where the integrals take long."""

    def cases(self) -> Sequence[Case]:
        """Little noise at a tiny rate, much noise at a large one; a rate next to 1."""
        return (
            case(Fraction(1), Fraction(1, 100)),
            case(Fraction(4), Fraction(1, 10**4)),
            case(Fraction(1, 9), Fraction(1, 5)),
            case(Fraction(16), 1 - Fraction(1, 10**9)),
        )


@mpmath.workdps(40)  # type: ignore[untyped-decorator]  # mpmath has no types
def test_profile_where_its_threshold_changes_formula() -> None:
    """Next to the change in the arcsinh of the threshold it holds P - tQ of the best half-line."""
    mu, q = mpmath.mpf(1), mpmath.mpf(1) / 5
    epsilons = np.linspace(0.2, 1.2, 11)
    pair = OppositeGaussiansPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 5))
    for epsilon, lower, upper in zip(epsilons, *pair.profile(epsilons), strict=True):
        t = mpmath.exp(epsilon)
        sinh = (1 - q) / q * mpmath.exp(mu**2 / 2) * mpmath.sinh(epsilon / 2)
        x = (epsilon / 2 + mpmath.asinh(sinh)) / mu
        p, other = ((1 - q) * mpmath.ncdf(-x) + q * mpmath.ncdf(to - x) for to in (mu, -mu))
        assert lower <= p - t * other <= upper


@pytest.mark.some(3)
@pytest.mark.parametrize("exponent", [1, 9, 80])
@pytest.mark.parametrize("mu_squared", [Fraction(1, 100), Fraction(9)])
@mpmath.workdps(50)  # type: ignore[untyped-decorator]  # mpmath has no types
def test_rare_samples(mu_squared: Fraction, exponent: int) -> None:
    """K is within its radius of 50 digits, and known to 10, also at rates next to nothing."""
    pair = OppositeGaussiansPair(mu_squared=mu_squared, sampling_rate=Fraction(1, 10**exponent))
    q, mu = mpmath.mpf(10) ** -exponent, mpmath.sqrt(mpmath.mpf(mu_squared.numerator))
    mu /= mpmath.sqrt(mu_squared.denominator)
    points = np.array([0.5, 3.0 + 0.5j])
    found = pair.cgf(points)

    def term(z: mpmath.mpf, s: mpmath.mpc) -> mpmath.mpc:
        # Both halves of sqrt(AB) (cosh((s + 1/2) loss) - cosh(loss/2)), in units of q^2.
        above, below = (q * mpmath.expm1(x * mu * z - mu * mu / 2) for x in (1, -1))
        half = (mpmath.log1p(above) - mpmath.log1p(below)) / 2
        root = mpmath.sqrt((1 + above) * (1 + below)) * mpmath.npdf(z)
        return 4 * root * mpmath.sinh((s + 1) * half) / q * mpmath.sinh(s * half) / q

    for point, value, radius in zip(points, found.value, found.radius, strict=True):
        s = mpmath.mpc(complex(point))
        each = [term(mpmath.mpf(k) / 8, s) for k in range(8 * 40)]
        excess = (sum(each) - each[0] / 2) / 8  # a trapezoid sum of an even function, step 1/8
        true = mpmath.log1p(q * q * excess)
        assert abs(mpmath.mpc(complex(value)) - true) <= float(radius)
        assert radius <= 1e-10 * abs(value)


@pytest.mark.parametrize("tilt", [20.0, 80.0])
def test_radii_cover_the_stated_errors_of_losses(tilt: float) -> None:
    """An error of every loss by 16 elementary functions' moves K by s K' times as much."""
    pair = OppositeGaussiansPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 4))
    slope = pair.steer(np.array([tilt]))[1][0]
    radius = pair.cgf(np.array([tilt + 0j])).radius[0]
    assert radius >= tilt * slope * 16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "expected"),
    [
        ("0.871199", Fraction(1, 120), 120, 1.13471961166),
        ("3.812816832", Fraction(1, 100), 10**4, 2.10287810756),
        ("4", Fraction(1, 100), 10**4, 1.99312005706),
    ],
)
def test_training_runs(sigma: str, rate: Fraction, steps: int, expected: float) -> None:
    """Runs cost what an independent discretisation finds to 6 digits, known here to 9."""
    mu_squared = 1 / Fraction(sigma) ** 2
    pair = OppositeGaussiansPair(mu_squared=mu_squared, sampling_rate=rate)
    found = answers.epsilon(Product.of(pair).times(steps), 1e-5)
    assert found.relative_width <= 1e-9
    assert math.isclose(found.upper, expected, rel_tol=1e-9)


def test_out_of_reach() -> None:
    """Rates whose square is not representable, and orders that take too many nodes, are refused."""
    with pytest.raises(ParameterError, match="sampling_rate must be from 1e-100"):
        OppositeGaussiansPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 10**150))
    bare = OppositeGaussiansPair(mu_squared=Fraction(10**12), sampling_rate=Fraction(1, 2))
    with pytest.raises(NotCertified, match="too little noise"):
        bare.cgf(np.array([1.0 + 0j]))
    assert bare.work(1.0 + 0j) > 1 << 30


CASES = [
    (mu, q, c, y)
    for mu in (0.3, 1.0, 3.0)
    for q in (0.01, 0.5, 0.9)
    for c, y in ((0.5, 0.0), (20.0 if mu <= 1 else 3.0, 0.0), (3.0, 40.0))
]


@pytest.mark.some(9)
@pytest.mark.parametrize(("mu", "q", "c", "y"), CASES)
def test_norms_on_edges_of_strips_are_bounded(mu: float, q: float, c: float, y: float) -> None:
    """The integral of |phi (f + g)| on an edge, by many nodes, is below its bound."""
    one = _Mixture(mu, np.log(q), np.log1p(-q), c, y, abs(c + 1j * y))
    x, s = np.linspace(-40.0, 40.0, 40_001), c + 1j * y
    for half in (0.2, 1.0, min(2.5 / mu, 4.0)):
        if mu * half > 2.6:
            continue
        z = x + 1j * half
        a, b = (1 - q + q * np.exp(mu * sign * z - 0.5 * mu * mu) for sign in (1, -1))
        loss = np.log(a) - np.log(b)
        log_phi = -0.5 * z * z - 0.5 * np.log(2 * np.pi)
        grown = np.exp(log_phi + np.log(a) + s * loss)
        rest = np.exp(log_phi) * (-a * (1 + s * loss) + 0.5 * s * (a - b) * loss)
        norm = np.abs(grown + rest).sum() * (x[1] - x[0])
        assert np.log(norm) <= one.log_edge(half)
