"""The Gaussian pair."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.pairs.gaussian import (
    GaussianPair,
    gaussian_profile,
    gaussian_tangent,
    pure_mu,
)
from tests.accountant.pairs.builders import normal
from tests.contracts.definition import Densities, ball
from tests.contracts.pair_contract import Case, PairContract, gaussian_hockey_stick, normal_tail


@functools.cache
def shifted_normals(mu_squared: Fraction) -> Densities:
    """N(mu, 1) over N(0, 1)."""
    mu = ball(mu_squared).sqrt()
    end = 25 + 33 * mu
    return Densities(
        density=lambda z, _: normal(z - mu),
        loss=lambda z, _: mu * z - mu * mu / 2,
        breaks=[flint.arb(-25), flint.arb(0), mu, end],
        start=lambda epsilon: epsilon / mu + mu / 2,
    )


class TestGaussian(PairContract):
    """The definition's integral against the closed forms."""

    heights = (0.0, 1e-5, 0.4, 3.0, 8.0)

    def cases(self) -> Sequence[Case]:
        """From noise of ten times the sensitivity to noise of half of it."""
        found = []
        for mu_squared in (Fraction(1, 100), Fraction(1), Fraction(7, 2)):
            definition = shifted_normals(mu_squared)
            found.append(Case(GaussianPair(mu_squared=mu_squared), definition, definition))
        return found


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.3, 1.0, 7.0, 60.0, 1e3])
def test_profile_at_any_scale(mu: float) -> None:
    """Both ends enclose the textbook formula far into the tail, at any mu."""
    spots = (-37.0, -5.0, -1.0, 0.0, 1e-9, 1.0, 4.0, 20.0, 36.0)
    epsilon = np.array(sorted(mu * x + 0.5 * mu * mu for x in spots))
    epsilon = epsilon[epsilon > -700.0]
    for x, lower, upper in zip(epsilon, *gaussian_profile(mu, epsilon), strict=True):
        with flint.ctx.workprec(4096):
            true = gaussian_hockey_stick(mu, float(x))
        assert ball(lower).lower() <= true.upper()
        assert true.lower() <= ball(upper).upper()
        assert upper - lower <= 1e-9 * upper * max(1.0, 1.0 / mu) + 1e-300


@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 1e-9, 1e-5, 1e-3, 1.0, 30.0, 700.0, 5000.0])
def test_mu_of_pure_dp(epsilon: float) -> None:
    """Phi(-mu/2) is at most the corner 1/(1 + e^eps), and hardly less, however small epsilon."""
    mu = pure_mu(epsilon)
    with flint.ctx.workprec(16384):
        corner = 1 / (1 + ball(epsilon).exp())
        assert normal_tail(ball(mu) / 2) < corner
        assert corner < normal_tail(ball(mu) * ball(1 - 1e-12) / 2)


@pytest.mark.parametrize("mu", [0.01, 1.0, 8.0, 30.0, 1e3])
def test_tangent(mu: float) -> None:
    """At or below the true tangent on both sides of where it touches, and close to it."""
    spots = np.array([-0.4 * mu, 0.0, 1.0, 4.0, 12.0])
    for at in (mu * spots + 0.5 * mu * mu).tolist():
        for step in (-0.3, -1e-6, 1e-6, 0.3, 5.0):
            found = float(gaussian_tangent(mu, np.array([at]), np.array([at + step]))[0])
            with flint.ctx.workprec(4096):
                slope = ball(at).exp() * normal_tail(ball(at) / ball(mu) + ball(mu) / 2)
                rise = (ball(at + step) - ball(at)).expm1()
                true = gaussian_hockey_stick(mu, at) - slope * rise
                size = abs(true) + abs(slope * rise)
            assert ball(found) < true
            assert ball(found) > true - size * ball(1e-9) * max(1.0, 1.0 / mu) - ball(1e-319)


def test_mu_of_infinite_epsilon() -> None:
    """No privacy is no privacy."""
    assert pure_mu(math.inf) == math.inf
