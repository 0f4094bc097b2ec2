"""The assumed binary64 errors hold with room to spare, against mpmath at 50 digits and more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from dpproof.mechanisms.samplers import enclosure
from dpproof.mechanisms.samplers.rounded import _guess, _quantile

POINTS = 600
HEADROOM = 4.0


@pytest.fixture(autouse=True)
def _precision() -> object:
    with mpmath.workdps(60):
        yield


def tail_arguments() -> NDArray[np.float64]:
    """Uniforms from 2^-64 to 1 on a logarithmic scale, near 1, and awkward ones."""
    source = np.random.default_rng(20)
    spread = 2.0 ** -source.uniform(0, 66, POINTS)
    near_one = 1 - 2.0 ** -source.uniform(0, 53, POINTS // 3)
    awkward = [2.0**-64, 2.0**-63, 2 * np.exp(-2), 2 * (1 - np.exp(-2)) - 1, 1.0, 0.5]
    return np.concatenate([spread, near_one, awkward])


def worst(
    arguments: NDArray[np.float64],
    fast: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    true: Callable[[mpmath.mpf], mpmath.mpf],
) -> float:
    """Return the largest relative error, ignoring arguments where both are 0."""
    largest = mpmath.mpf(0)
    for argument, value in zip(arguments, fast(arguments), strict=True):
        reference = true(mpmath.mpf(float(argument)))
        if reference == 0:
            assert value == 0
        else:
            largest = max(largest, abs(mpmath.mpf(float(value)) / reference - 1))
    return float(largest)


def half_normal(u: mpmath.mpf) -> mpmath.mpf:
    """Return the z >= 0 with P(|Z| > z) = u, by Newton's steps from binary64."""
    if u == 1:
        return mpmath.mpf(0)
    z = mpmath.mpf(float(-special.ndtri(float(u) / 2)))
    for _ in range(4):
        density = mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-z * z / 2)
        z += (mpmath.erfc(z / mpmath.sqrt(2)) - u) / density
    return z


def test_log_error_is_within_its_margin() -> None:
    """Logarithms of the uniforms in use."""
    assert worst(tail_arguments(), np.log, mpmath.log) * HEADROOM < enclosure.LIBM


def test_exp_error_is_within_its_margin() -> None:
    """Exponentials of the exponents in use."""
    source = np.random.default_rng(21)
    gamma = np.concatenate([source.uniform(0, 700, POINTS), 2.0 ** -source.uniform(0, 60, POINTS)])
    assert worst(-gamma, np.exp, mpmath.exp) * HEADROOM < enclosure.LIBM


def test_normal_quantile_error_is_within_its_margin() -> None:
    """Normal quantiles from the centre to the tail of 2^-66."""
    assert worst(tail_arguments(), _quantile, half_normal) * HEADROOM < enclosure.NDTRI


def test_normal_quantile_is_conditioned_as_stated() -> None:
    """|dZ / d(log U)| = Mills ratio <= sqrt(pi / 2) < 1.26, at every argument."""
    for u in tail_arguments()[::50]:
        z = half_normal(mpmath.mpf(float(u)))
        mills = mpmath.mpf(float(u)) / 2 / mpmath.npdf(z)
        assert mills <= mpmath.sqrt(mpmath.pi / 2) * (1 + mpmath.mpf(10) ** -50)
    assert mpmath.sqrt(mpmath.pi / 2) < 1.26


@pytest.mark.parametrize("minus_log", [1e-17, 1e-3, 1.0, 50.0, 140.0, 1e4])
def test_the_normal_guess_is_near(minus_log: float) -> None:
    """The starting point of the slow search is nearly the answer."""
    reference = mpmath.findroot(
        lambda z: mpmath.log(mpmath.erfc(z / mpmath.sqrt(2))) + minus_log, _guess(minus_log) + 1e-9
    )
    assert abs(_guess(minus_log) - reference) < 1e-9 * (1 + reference)


def test_nearest_reports_overflow_as_infinity() -> None:
    """Overflow is not an error: the draw is then decided exactly."""
    assert enclosure.nearest(Fraction(10) ** 400) == float("inf")
    assert enclosure.nearest(-(Fraction(10) ** 400)) == -float("inf")
    assert enclosure.nearest(Fraction(1, 3)) == 1 / 3
