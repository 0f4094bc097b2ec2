"""Rényi divergences of bounded ranges."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant.ranges import (
    GROWTH_ERROR,
    log_sinh_growth,
    range_divergence,
    smallest_range_rho,
)


@pytest.mark.parametrize("order", [1.5, 3.0, 20.0])
def test_divergence_is_the_largest_of_two_losses(order: float) -> None:
    """Among two-point laws with losses 1 apart none has a larger divergence."""
    with mpmath.workdps(30):
        largest = mpmath.mpf(0)
        for k in range(1, 2000):
            t = mpmath.mpf(k) / 2000
            p = (mpmath.e - mpmath.exp(t)) / (mpmath.e - 1)
            moment = p * mpmath.exp((order - 1) * t) + (1 - p) * mpmath.exp((order - 1) * (t - 1))
            largest = max(largest, mpmath.log(moment) / (order - 1))
    bound = range_divergence(Fraction(1), order)

    assert largest <= bound.upper
    assert float(largest) == pytest.approx(bound.lower, rel=1e-5)


def test_rho_is_about_an_eighth_of_the_square() -> None:
    """Rho of a small range is its square over 8, and never more."""
    bound = smallest_range_rho(Fraction(1, 10))

    assert bound.lower <= bound.upper <= 0.01 / 8 * (1 + 1e-12)
    assert bound.lower == pytest.approx(0.01 / 8, rel=1e-3)


CASES = 1500


def test_growth_keeps_its_digits() -> None:
    """Relative to itself, down to where floats end."""
    rng = random.Random(1)  # noqa: S311
    with mpmath.workdps(400):
        for _ in range(CASES):
            start = 10 ** rng.uniform(-120, 2.8)
            step = min(start * 10 ** rng.uniform(-16, 16), 600.0)
            high, low = (mpmath.sinh(y) / y for y in (mpmath.mpf(start) + step, mpmath.mpf(start)))
            true = mpmath.log(high / low)
            found = log_sinh_growth(start, step)
            assert abs(found - true) <= 0.1 * GROWTH_ERROR * true + 1e-290, (start, step)
