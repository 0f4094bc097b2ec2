"""Swaps of pairs above a floor, by integration of their densities."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.pairs.gaussian_above_floor import (
    FlooredGaussianPair,
    FoldedGaussianPair,
    GaussianAboveFloor,
)

F = Fraction
PAIRS: list[GaussianAboveFloor] = [
    FlooredGaussianPair(F(1, 9), F(17, 18)),
    FlooredGaussianPair(F(1), F(0)),
    FlooredGaussianPair(F(4), F(1, 2)),
    FoldedGaussianPair(F(1)),
]


def _moment(pair: GaussianAboveFloor, s: float) -> mpmath.mpf:
    """E_Q[(Q/P)^s; P > 0] = E_P[e^{-(s+1) L}], by the law of the loss L under P."""
    mu, floor = mpmath.sqrt(mpmath.mpf(float(pair.mu_squared))), float(pair.lowest)
    mean = mu**2 / 2
    power = -(s + 1)
    above = mpmath.quad(
        lambda x: mpmath.npdf(x, mean, mu) * mpmath.e ** (power * x),
        [floor, floor + mu, floor + 4 * mu, floor + 12 * mu],
    )
    atom = mpmath.ncdf(floor, mean, mu) if pair.weight == 1 else 0
    return atom * mpmath.e ** (power * floor) + pair.weight * above


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("s", [0.25, 1.0, 3.5])
def test_moments_of_the_swap(pair: GaussianAboveFloor, s: float) -> None:
    """M of the swap is that of P at -(s+1), and what is left is infinite."""
    moments = pair.swapped().moments(None)
    (found,) = moments.along(F(s), arb(0), 1)

    assert float(found.real) == pytest.approx(float(_moment(pair, s)), rel=1e-9)
    assert float(moments.infinite) == pytest.approx(1 - float(_moment(pair, 0.0)), rel=1e-9)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_profile_of_the_swap(pair: GaussianAboveFloor) -> None:
    """By H_t(Q | P) = 1 - t + t H_{1/t}(P | Q), from the pair's own profile below 0."""
    swapped = pair.swapped()
    for epsilon in (F(0), F(1, 100), F(3)):
        t, other = ball(epsilon).exp(), pair.profile(-ball(epsilon))

        assert swapped.profile(ball(epsilon)).overlaps(1 - t + t * other)
        assert swapped.exact_infinite_mass() <= ball(swapped.infinite)
    assert swapped.swapped() is pair
    assert "swap" in swapped.describe()
