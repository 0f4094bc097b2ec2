"""The Gaussian pair: N(mu, 1) over N(0, 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant.arithmetic import normal_distribution
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.pairs.pair import Smoothness
from dpproof.accountant.pairs.smoothness import required_square
from dpproof.accountant.pairs.symmetry import CommonSupport, ExactPair, Reflected


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPair(Reflected, CommonSupport, ExactPair):
    """(N(mu, 1), N(0, 1)): K(s) = mu^2 s (s + 1) / 2, and the loss is N(mu^2/2, mu^2) under P.

    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6 and Corollary 2.13.

    Attributes:
        mu_squared: exact, above 0; mu is sensitivity over sigma, dimensionless.
    """

    mu_squared: Fraction

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        required_square(mu_squared=self.mu_squared)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K(s) = mu^2 s (s + 1) / 2, computed with five roundings."""
        value = (0.5 * float(self.mu_squared)) * (s * (s + 1.0))
        size = 0.5 * float(self.mu_squared) * np.abs(s) * np.abs(s + 1.0)
        return Enclosure(np.asarray(value, dtype=complex), 16 * UNIT_ROUNDOFF * size)

    @property
    def gaussian_tail(self) -> float:
        """Return mu^2."""
        return float(self.mu_squared)

    @property
    def zcdp_bound(self) -> float:
        """Return mu^2 / 2, rounded up, which is exact."""
        return 0.5 * float(self.mu_squared) * (1 + 1e-15)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return 1

    @property
    def gdp_bound(self) -> float:
        """Return mu, rounded up, which is exact."""
        return math.sqrt(self.mu_squared) * (1 + 1e-15)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
        return gaussian_profile(math.sqrt(self.mu_squared), epsilon)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return a Gaussian of variance mu^2, the tilted law at every tilt."""
        return Smoothness(gaussian_variance=float(self.mu_squared) * (1 - 1e-14))


# Standard deviations at which delta is 0 in every digit, while the square is a float. Error bounds
# depend on it.
_FARTHEST = 1e150


def gaussian_profile(mu: float | Reals, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return rigorous lower and upper ends of the profile of mu-GDP.

    Statement: delta(eps) = Phi(-x) - e^eps Phi(-y), x = eps/mu - mu/2, y = eps/mu + mu/2
        (Balle & Wang, arXiv:1805.06530, Theorem 8), and as e^eps phi(y) = phi(x) this is
        phi(x) (m(x) - m(y)) with the Mills ratio m = Phi(-.)/phi. For eps < 0 the symmetry
        delta(eps) = 1 - e^eps + e^eps delta(-eps).
    Rounds: outwards, by the sum of the sizes of the parts times the roundings in each. A
        rounded mu or x moves the exponent x^2/2 by at most 4 u (x^2 + |x| mu + 1).
    """
    size = np.abs(epsilon)
    with np.errstate(under="ignore", over="ignore"):
        x = np.minimum(size / mu - 0.5 * mu, _FARTHEST)
        y = np.minimum(size / mu + 0.5 * mu, _FARTHEST)
        # Right of the mode through Mills ratios, which keep relative precision in the tail.
        right = np.maximum(x, 0.0)
        density = np.exp(-0.5 * right * right) / math.sqrt(2 * math.pi)
        mills_x = math.sqrt(math.pi / 2) * normal_distribution.erfcx(right / math.sqrt(2))
        mills_y = math.sqrt(math.pi / 2) * normal_distribution.erfcx(y / math.sqrt(2))
        first = np.where(x >= 0, density * mills_x, normal_distribution.ndtr(-x))
        peak = np.where(x >= 0, first, np.exp(-0.5 * x * x))  # Phi(-x) moves by phi(x) dx
        second = np.where(
            x >= 0, density * mills_y, np.exp(-0.5 * x * x) * mills_y / math.sqrt(2 * math.pi)
        )
    value = first - second
    moved = 4 * UNIT_ROUNDOFF * (x * x + np.abs(x) * (mu + 1.0) + y)
    margin = (
        16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * (first + second) + moved * (peak + second) + 1e-320
    )
    lower, upper = np.maximum(value - margin, 0.0), value + margin
    negative = epsilon < 0
    if negative.any():
        below = np.where(negative, epsilon, 0.0)
        decay, rest = np.exp(below), -np.expm1(below)
        slack = 4 * ELEMENTARY_ULPS * UNIT_ROUNDOFF
        lower = np.where(negative, (rest + decay * lower) * (1 - slack), lower)
        upper = np.where(negative, (rest + decay * upper) * (1 + slack), upper)
    return lower, upper


def gaussian_tangent(mu: float, at: Reals, to: Reals) -> Reals:
    """Bound from below the tangent in t = e^eps of mu-GDP's profile.

    It is drawn at ``at`` and evaluated at ``to``.

    Statement: the profile has slope -Phi(-y) in t, y as in ``gaussian_profile``, and as
        e^eps phi(y) = phi(x), t times that is phi(x) m(y).
    Rounds: down, as ``gaussian_profile``; the parts round by less than 1e-12 besides.
    """
    x, y = at / mu - 0.5 * mu, at / mu + 0.5 * mu
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        fall = (
            0.5
            * np.exp(-0.5 * x * x)
            * normal_distribution.erfcx(y / math.sqrt(2))
            * np.expm1(to - at)
        )
        slack = 1e-12 + 4 * UNIT_ROUNDOFF * (x * x + np.abs(x) * (mu + 1.0))
        return np.asarray(gaussian_profile(mu, at)[0] - fall - slack * np.abs(fall))


def gaussian_overlap(mu: float | Reals, at: Reals, to: Reals) -> tuple[Reals, Reals]:
    """Enclose the log of the tangent in t = e^eps of 1 less mu-GDP's profile.

    It is drawn at ``at`` and evaluated at ``to``.

    Statement: with x, y as in ``gaussian_profile`` it is Phi(x) + e^to Phi(-y).
    Rounds: both ways; a rounded x or y moves its log by less than |x| + 1 times its error.
    """
    x, y = at / mu - 0.5 * mu, at / mu + 0.5 * mu
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        parts = normal_distribution.log_ndtr(x), to + normal_distribution.log_ndtr(-y)
    size = np.abs(at) / mu + mu + 1.0
    slack = 1e-13 + 64 * UNIT_ROUNDOFF * (size * size + np.abs(to))
    value = np.logaddexp(*parts)
    return np.asarray(value - slack), np.asarray(value + slack)


def pure_mu(epsilon: float) -> float:
    """Return the upper end of the mu of pure epsilon-DP, 2 Phi^{-1}(e^eps / (1 + e^eps)).

    Statement: randomised response's trade-off has its corner at type-I = type-II error
        1/(1 + e^eps), and every pure epsilon-DP trade-off lies above; G_mu is convex, meets
        (0, 1), (1, 0) and passes below the corner as soon as Phi(-mu/2) <= 1/(1 + e^eps).
    Source: Dong, Roth & Su (arXiv:1905.02383), Section 2.2 with Definition 2.6.
    Rounds: up, by at most 1e-13 relative.
    """
    return 2.0 * normal_distribution.log_odds_quantile(epsilon) * (1 + 5e-14)
