"""Random run laws with extreme parameters, and what they are at many digits."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import mpmath

from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)

DIGITS = 80


def exact(value: Fraction) -> mpmath.mpf:
    """Return the value at the working precision."""
    return mpmath.mpf(value.numerator) / value.denominator


@dataclass(frozen=True)
class Known:
    """A law, and its exact generating function with the derivative, ratio and moments."""

    law: RunLaw
    phi: Callable[[mpmath.mpf], mpmath.mpf]
    slope: Callable[[mpmath.mpf], mpmath.mpf]
    log_ratio: Callable[[mpmath.mpf], mpmath.mpf]
    log_moment: Callable[[mpmath.mpf], mpmath.mpf]
    mean: mpmath.mpf


def log_uniform(rng: random.Random, low: float, high: float) -> Fraction:
    """Draw a float whose decimal logarithm is uniform."""
    return Fraction(10.0 ** rng.uniform(low, high))


def probability(rng: random.Random) -> Fraction:
    """Draw a probability that is often next to 0 or next to 1."""
    return rng.choice(
        [
            log_uniform(rng, -290, -0.1),
            1 - log_uniform(rng, -40, -0.1),
            Fraction(rng.uniform(0.01, 0.99)),
        ]
    )


def draw(rng: random.Random) -> Known:
    """Draw a law of a random kind."""
    return rng.choice([_binomial, _poisson, _fixed, _finite, _truncated])(rng)


def _logistic_log_ratio(gamma: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log1p((1 - gamma) * mpmath.expm1(epsilon) / (1 + gamma * mpmath.exp(epsilon)))


def _binomial(rng: random.Random) -> Known:
    n, p = int(log_uniform(rng, 0, 5)), probability(rng)
    q = exact(p)
    return Known(
        BinomialRuns(trials=n, probability=p),
        lambda z: (1 - q * (1 - z)) ** n,
        lambda z: n * q * (1 - q * (1 - z)) ** (n - 1),
        lambda epsilon: (n - 1) * _logistic_log_ratio(1 - q, epsilon),
        lambda x: n * mpmath.log1p(q * mpmath.expm1(x)),
        n * q,
    )


def _poisson(rng: random.Random) -> Known:
    rate = log_uniform(rng, -290, 4)
    m = exact(rate)
    return Known(
        PoissonRuns(rate=rate),
        lambda z: mpmath.exp(-m * (1 - z)),
        lambda z: m * mpmath.exp(-m * (1 - z)),
        lambda epsilon: m * mpmath.tanh(epsilon / 2),
        lambda x: m * mpmath.expm1(x),
        m,
    )


def _fixed(rng: random.Random) -> Known:
    n = int(log_uniform(rng, 0, 4))
    return Known(
        FixedRuns(count=n),
        lambda z: z**n,
        lambda z: n * z ** (n - 1),
        lambda epsilon: (n - 1) * epsilon,
        lambda x: n * x,
        mpmath.mpf(n),
    )


def _finite(rng: random.Random) -> Known:
    weights = [log_uniform(rng, -30, 0) for _ in range(rng.randrange(2, 7))]
    if rng.random() < 0.3:
        weights[rng.randrange(len(weights) - 1)] = Fraction(0)
    law = FiniteRuns(probabilities=[one / sum(weights) for one in weights])
    masses = list(enumerate(map(exact, law.probabilities)))

    def slope(z: mpmath.mpf) -> mpmath.mpf:
        return mpmath.fsum(k * p * z ** (k - 1) for k, p in masses[1:])

    def corner(epsilon: mpmath.mpf) -> mpmath.mpf:
        z = 1 / (1 + mpmath.exp(-epsilon))
        return mpmath.log(slope(z) / slope(1 - z))

    return Known(
        law,
        lambda z: mpmath.fsum(p * z**k for k, p in masses),
        slope,
        corner,
        lambda x: mpmath.log1p(mpmath.fsum(p * mpmath.expm1(k * x) for k, p in masses)),
        slope(mpmath.mpf(1)),
    )


def _truncated(rng: random.Random) -> Known:
    gamma = rng.choice([log_uniform(rng, -8.9, -0.1), 1 - log_uniform(rng, -40, -0.1)])
    g = exact(gamma)
    length = -mpmath.log(g)
    eta = rng.choice(
        [
            Fraction(0),
            Fraction(rng.uniform(-0.99, 3)),
            log_uniform(rng, -50, 0),
            -log_uniform(rng, -50, -0.01),
            Fraction(float(599 / length)) * log_uniform(rng, -5, 0),
        ]
    )
    e = exact(eta)
    mean = (1 - g) / g * (e / -mpmath.expm1(-e * length) if eta else 1 / length)

    def phi(z: mpmath.mpf) -> mpmath.mpf:
        d = mpmath.log1p(-(1 - g) * z)
        return mpmath.expm1(-e * d) / mpmath.expm1(e * length) if eta else -d / length

    return Known(
        TruncatedNegativeBinomial(eta=eta, gamma=gamma),
        phi,
        lambda z: mean * (g / (1 - (1 - g) * z)) ** (e + 1),
        lambda epsilon: (1 + e) * _logistic_log_ratio(g, epsilon),
        lambda _: mpmath.inf,
        mean,
    )
