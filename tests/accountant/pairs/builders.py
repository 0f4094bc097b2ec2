"""What the tests of this folder share."""

from __future__ import annotations

import functools
from fractions import Fraction

import flint
import numpy as np

from dpproof.accountant.arithmetic import convex_profile
from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.convex_profile import ProfileHalf
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.gaussian_mixtures import GaussianMixtures
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from tests.contracts.definition import Ball, Densities, Outcomes, ball
from tests.contracts.pair_contract import Case


def normal(z: Ball) -> Ball:
    """Density of N(0, 1)."""
    return (-(z * z) / 2).exp() / (2 * flint.arb.pi()).sqrt()


def outcomes(atoms: Atoms) -> Outcomes:
    """The atoms as they are, and the two masses outside them."""
    zero = ball(0)
    found = [
        (ball(log_p).exp(), (ball(log_p) - ball(loss)).exp())
        for log_p, loss in zip(atoms.log_p.tolist(), atoms.loss.tolist(), strict=True)
    ]
    found += [(ball(atoms.infinite_mass), zero)] if atoms.infinite_mass else []
    found += [(zero, ball(atoms.missing_mass))] if atoms.missing_mass else []
    return Outcomes(found)


def balanced(atoms: Atoms) -> Outcomes:
    """The atoms as K takes them: two masses absorb what rounding leaves of either sum."""
    found = list(outcomes(atoms).masses)
    rest_p = 1 - ball(atoms.infinite_mass) - sum((p for p, q in found if q > 0 and p > 0), ball(0))
    rest_q = 1 - ball(atoms.missing_mass) - sum((q for p, q in found if q > 0 and p > 0), ball(0))
    first = int(np.argmax(atoms.log_p))
    lever = np.abs(np.expm1(-atoms.loss) - np.expm1(-atoms.loss[first])) * np.exp(atoms.log_p)
    second = int(np.argmax(lever))
    e = [(-ball(float(atoms.loss[k]))).exp() for k in (first, second)]
    change = (rest_q - e[0] * rest_p) / (e[1] - e[0])
    for at, k, more in ((0, first, rest_p - change), (1, second, change)):
        p, q = found[k]
        assert abs(more) < 1e-14 * p
        found[k] = (p + more, q + more * e[at])
    return Outcomes(found)


@functools.cache
def ladders() -> tuple[LatticePair, ...]:
    """Tables above and below a Gaussian profile: few wide steps, and many narrow ones."""
    found = []
    for mu, span, reach in ((1.0, 2.0**-2, 40), (0.01, 2.0**-12, 300), (1e-4, 2.0**-20, 400)):
        index = np.arange(-reach, reach + 1, dtype=float)
        loss = index[reach:] * span
        side = ProfileHalf(loss, *gaussian_profile(mu, loss))
        for atoms, position in (convex_profile.above(side, side), convex_profile.below(side, side)):
            found.append(LatticePair(atoms, position.astype(float), span))
    return tuple(found)


@functools.cache
def responses(epsilon: Fraction, categories: int, infinite: Fraction) -> Outcomes:
    """Keep the true category with odds e^epsilon : k - 1; a revealing outcome for each side."""
    e, rest, zero = ball(epsilon).exp(), 1 - ball(infinite), ball(0)
    total = e + categories - 1
    kept = [(rest * e / total, rest / total), (rest / total, rest * e / total)]
    kept += [(rest / total, rest / total)] * (categories - 2)
    return Outcomes([*kept, (ball(infinite), zero), (zero, ball(infinite))] if infinite else kept)


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


def mixture_terms(
    mixture: GaussianMixtures, z: flint.acb, alpha: flint.acb, *, analytic: bool = False
) -> tuple[flint.acb, flint.acb]:
    """The density times (1+u)^alpha - 1 - alpha u, and times (1+u)^alpha, at one z."""
    mu, q = flint.arb(float(mixture.mu[0])), flint.arb(float(mixture.q[0]))
    u = q * ((mu * z - mu * mu / 2).exp() - 1)
    density, power = (-z * z / 2).exp() / (2 * flint.arb.pi()).sqrt(), (1 + u).log(analytic)
    plain = (alpha * power).exp()
    return density * (plain - 1 - alpha * u), density * plain
