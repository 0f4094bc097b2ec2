"""The Poisson-subsampled Gaussian pair."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import flint
import pytest

from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from tests.accountant.pairs.test_gaussian import normal
from tests.contracts.definition import Ball, Densities, ball
from tests.contracts.pair_contract import Case, PairContract


@functools.cache
def removal(mu_squared: Fraction, rate: Fraction) -> Densities:
    """The mixture over N(0, 1)."""
    mu, q = ball(mu_squared).sqrt(), ball(rate)

    def start(epsilon: Ball) -> Ball | None:
        ratio = 1 + epsilon.expm1() / q
        return ratio.log() / mu + mu / 2 if ratio > 0 else flint.arb(-25)

    return Densities(
        density=lambda z, _: (1 - q) * normal(z) + q * normal(z - mu),
        loss=lambda z, analytic: (1 + q * ((mu * z - mu * mu / 2).exp() - 1)).log(
            analytic=analytic
        ),
        breaks=[flint.arb(-25), flint.arb(0), 25 + 11 * mu],
        start=start,
        digits=40,
    )


@functools.cache
def addition(mu_squared: Fraction, rate: Fraction) -> Densities:
    """N(0, 1) over the mixture, mirrored so that the loss rises."""
    mu, q = ball(mu_squared).sqrt(), ball(rate)

    def start(epsilon: Ball) -> Ball | None:
        ratio = 1 + (-epsilon).expm1() / q
        return -(ratio.log() / mu + mu / 2) if ratio > 0 else None

    return Densities(
        density=lambda z, _: normal(z),
        loss=lambda z, analytic: (
            -(1 + q * ((-mu * z - mu * mu / 2).exp() - 1)).log(analytic=analytic)
        ),
        breaks=[flint.arb(-25) - mu, flint.arb(0), flint.arb(25)],
        start=start,
        digits=40,
    )


def both(mu_squared: Fraction, rate: Fraction) -> list[Case]:
    """The pair in both directions."""
    pair = SubsampledGaussianPair(mu_squared=mu_squared, sampling_rate=rate, removal=True)
    there, back = removal(mu_squared, rate), addition(mu_squared, rate)
    return [Case(pair, there, back), Case(pair.swapped(), back, there)]


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
