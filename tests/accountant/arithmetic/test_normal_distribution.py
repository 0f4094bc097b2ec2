"""Normal tails and quantiles, against ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF
from dpproof.accountant.arithmetic.normal_distribution import erfcx, log_odds_quantile, ndtr
from tests.contracts.definition import Ball, ball
from tests.contracts.pair_contract import normal_tail

PLACES = np.concatenate(
    [[0.0, 5e-324, 1e-300, 1e-12], np.geomspace(1e-3, 25.0, 400), np.linspace(5.99, 6.01, 21)]
)


def log_odds(x: Ball) -> Ball:
    """log(Phi(x) / Phi(-x))."""
    return (normal_tail(-x) / normal_tail(x)).log()


def test_erfcx_near() -> None:
    """Within its error of e^{x^2} erfc(x), also next to where the pole's term ends."""
    for x, found in zip(PLACES.tolist(), erfcx(PLACES).tolist(), strict=True):
        true = (ball(x) ** 2).exp() * ball(x).erfc()
        assert abs(ball(found) / true - 1) < 40 * UNIT_ROUNDOFF


@pytest.mark.parametrize("x", [30.0, 1e4, 0.99e9, 1.01e9, 1e100, 1e160, 1e300])
def test_erfcx_far(x: float) -> None:
    """Between 1 / (sqrt(pi) x) and that times 1 - 1 / (2 x^2), within its error."""
    found = ball(float(erfcx(np.array([x]))[0])) * flint.arb.pi().sqrt() * ball(x)
    assert found < 1 + 40 * UNIT_ROUNDOFF
    assert found > 1 - ball(Fraction(1, 2) / Fraction(x) ** 2) - 40 * UNIT_ROUNDOFF


def test_normal_distribution() -> None:
    """Within its error of Phi(x) on both sides, and in the far tail."""
    places = np.concatenate([-PLACES, PLACES])
    for x, found in zip(places.tolist(), ndtr(places).tolist(), strict=True):
        assert abs(ball(found) / normal_tail(-ball(x)) - 1) < 40 * UNIT_ROUNDOFF * (1 + x * x)


@pytest.mark.parametrize("target", [1e-300, 1e-15, 1e-5, 0.3, 1.4, 1.6, 3.0, 40.0, 800.0, 1e5, 1e9])
def test_quantile_of_log_odds(target: float) -> None:
    """The log odds a little to the left are smaller, a little to the right larger."""
    x = log_odds_quantile(target)
    with flint.ctx.workprec(8192):
        assert (
            log_odds(ball(x) * ball(1 - 1e-14)) < ball(target) < log_odds(ball(x) * ball(1 + 1e-14))
        )


def test_quantile_at_the_ends() -> None:
    """No odds, the smallest float, where x^2/2 is everything, the largest, and certainty."""
    assert log_odds_quantile(0.0) == 0.0
    assert 0.0 < log_odds_quantile(5e-324) <= 5e-324
    assert log_odds_quantile(2e30) == pytest.approx(2e15, rel=1e-14, abs=0.0)
    assert math.isfinite(log_odds_quantile(1.7e308))
    assert log_odds_quantile(math.inf) == math.inf
