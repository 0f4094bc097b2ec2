"""Rényi divergences of bounded ranges."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant.ranges.renyi import divergence, smallest_rho


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
    bound = divergence(Fraction(1), order)

    assert largest <= bound.upper
    assert float(largest) == pytest.approx(bound.lower, rel=1e-5)


def test_rho_is_about_an_eighth_of_the_square() -> None:
    """Rho of a small range is its square over 8, and never more."""
    bound = smallest_rho(Fraction(1, 10))

    assert bound.lower <= bound.upper <= 0.01 / 8 * (1 + 1e-12)
    assert bound.lower == pytest.approx(0.01 / 8, rel=1e-3)
