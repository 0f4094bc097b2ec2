"""The worst case of a Gaussian on samples of a fixed size under replace-one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant.pairs.fixed_sample_gaussian import FixedSampleGaussianPair
from tests.accountant.pairs.builders import normal
from tests.contracts.definition import Ball, Densities, ball
from tests.contracts.pair_contract import Case, PairContract, log_ratio


@functools.cache
def fixed(mu_squared: Fraction, rate: Fraction) -> Densities:
    """Losses below 0 left of 0, an atom at 0 from there to 1, and losses above 0 right of 1."""
    mu, q = ball(mu_squared).sqrt(), ball(rate)
    middle = flint.arb(1) / 2
    atom = (1 - q) * (mu / flint.arb(8).sqrt()).erf()

    def side(z: Ball) -> int:
        at = z.real if isinstance(z, flint.acb) else z
        return 1 if at.mid() > 1 else -1 if at.mid() < 0 else 0

    def place(z: Ball) -> Ball:
        return (z - 1 if side(z) > 0 else -z) + mu * middle

    def mixture(x: Ball) -> Ball:
        return 1 - q + q * (mu * x - mu * mu * middle).exp()

    def density(z: Ball, _: bool) -> Ball:  # noqa: FBT001 -- Arb's signature
        if side(z) == 0:
            return atom + 0 * z
        return normal(place(z)) * (mixture(place(z)) if side(z) > 0 else 1)

    def loss(z: Ball, analytic: bool) -> Ball:  # noqa: FBT001 -- Arb's signature
        log = mixture(place(z)).log(analytic=analytic) if side(z) else 0 * z
        return log if side(z) >= 0 else -log

    def start(epsilon: Ball) -> Ball:
        if epsilon == 0:
            return flint.arb(1)
        away = (1 + (abs(epsilon).exp() - 1) / q).log() / mu
        return 1 + away if epsilon > 0 else -away

    far = 25 + 21 * mu
    return Densities(
        density=density,
        loss=loss,
        breaks=[-far, flint.arb(0), flint.arb(1), far],
        start=start,
        digits=40,
    )


def case(mu_squared: Fraction, rate: Fraction) -> Case:
    """The pair, which is its own swap."""
    there = fixed(mu_squared, rate)
    return Case(FixedSampleGaussianPair(mu_squared=mu_squared, sampling_rate=rate), there, there)


class TestFixedSampleGaussian(PairContract):
    """Halves of a mixture and an atom."""

    tilts = (1e-6, 0.03, 0.7, 8.0)
    heights = (0.0, 1e-5, 3.0, 40.0)
    frequencies = (0.01, 1.5, 20.0)

    def cases(self) -> Sequence[Case]:
        """Return the pair at a rate far from 0 and 1."""
        return (case(Fraction(1), Fraction(1, 5)),)


@pytest.mark.slow
class TestExtremeFixedSampleGaussian(TestFixedSampleGaussian):
    """The same where the integrals take long."""

    def cases(self) -> Sequence[Case]:
        """Little noise at a small rate, much noise at a large one."""
        return (
            case(Fraction(4), Fraction(1, 1000)),
            case(Fraction(1, 9), Fraction(1, 5)),
            case(Fraction(16), Fraction(9, 10)),
        )


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_a_long_line_is_within_its_radius(step: float) -> None:
    """Sums that share work enclose the moments, as products at each node do."""
    pair = FixedSampleGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 20))
    line = 6.0 + 1j * step * np.arange(256)
    found, definition = (
        pair.cgf_along(np.array([4.0, 9.0]), line),
        fixed(Fraction(1), Fraction(1, 20)),
    )
    for at in (0, 1, 2, 60, 257):
        s = complex([4.0, 9.0, *line][at])
        off = abs(log_ratio(definition.moment(s), complex(found.value[at])))
        assert off.lower() <= ball(found.radius[at])
        assert found.radius[at] <= 1e-10
    alone = pair.cgf(line)
    assert (np.abs(alone.value - found.value[2:]) <= alone.radius + found.radius[2:]).all()
