"""The Gaussian pair, N(mu, 1) over N(0, 1), and two discrete Gaussians."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

import numpy as np

from dpproof.accountant.arithmetic import normal_distribution
from dpproof.accountant.arithmetic.elementary import log1p_enclosure
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.pairs import pair


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPair(pair.Reflected, pair.CommonSupport, pair.ExactPair):
    """(N(mu, 1), N(0, 1)): K(s) = mu^2 s (s + 1) / 2, and the loss is N(mu^2/2, mu^2) under P.

    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6 and Corollary 2.13.
    """

    mu_squared: Fraction  # exact, above 0; mu is sensitivity over sigma, dimensionless

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        pair.required_square(mu_squared=self.mu_squared)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K(s) = mu^2 s (s + 1) / 2, computed with five roundings."""
        value = (0.5 * float(self.mu_squared)) * (s * (s + 1.0))
        size = 0.5 * float(self.mu_squared) * np.abs(s) * np.abs(s + 1.0)
        return Enclosure(np.asarray(value, dtype=complex), 16 * UNIT_ROUNDOFF * size)

    @property
    def gaussian_tail(self) -> float:
        """Return mu^2."""
        return float(self.mu_squared)

    variance = gaussian_tail

    @property
    def zcdp_bound(self) -> float:
        """Return mu^2 / 2, rounded up, which is exact."""
        return 0.5 * float(self.mu_squared) * (1 + 1e-15)

    @property
    def gdp_bound(self) -> float:
        """Return mu, rounded up, which is exact."""
        return math.sqrt(self.mu_squared) * (1 + 1e-15)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
        return gaussian_profile(math.sqrt(self.mu_squared), epsilon)

    def smoothness(self, c: float, moment: Bound) -> pair.Smoothness:
        """Return a Gaussian of variance mu^2, the tilted law at every tilt."""
        return pair.Smoothness(gaussian_variance=float(self.mu_squared) * (1 - 1e-14))


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


_TERMS = 12  # Terms of theta's own sum on each side of 0 for sigma < 1. Error bounds depend on it.
# Nats below the largest term at which terms of the dual sum are left out. Error bounds depend on
# it.
_FADED = 80.0
_CUT = 1e-30  # Above the sum of all terms left out of theta. Soundness depends on it.
_AT_ONCE = 1 << 12  # Values evaluated at once, to bound memory. Heuristic.
# From this sigma on the adjacency is computed in closed form, within 1e-30. Soundness depends on
# it.
_WIDE = 16.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianPair(pair.Reflected, pair.CommonSupport, pair.ExactPair):
    """A discrete Gaussian at an integer ``shift`` over one at 0.

    P(x) ~ e^{-(x - shift)^2 / (2 sigma^2)}, Q(x) ~ e^{-x^2 / (2 sigma^2)}, x an integer.

    Completing the square, M(s) = e^{mu^2 s(s+1)/2} theta((s+1) shift) / theta(0) with
    mu = shift/sigma and theta(a) = sum over integers x of e^{-(x - a)^2 / (2 sigma^2)}; theta
    has period 1, so theta((s+1) shift) = theta(i shift Im s + frac((Re s + 1) shift)).
    Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Section 2, for the family; the
    identity is a completed square.
    Rounds: theta by its own sum for sigma < 1, by its Poisson dual
    sigma sqrt(2 pi) sum_k e^{-2 pi^2 sigma^2 k^2 + 2 pi i k a} otherwise; s is first moved
    by multiples of 2 pi i / span into the main period, where M only turns.
    """

    sigma_squared: Fraction  # exact, above 0
    shift: int  # an integer, at least 1

    @property
    def is_wide(self) -> bool:
        """Return whether sigma is at least 1."""
        return self.sigma_squared.numerator >= self.sigma_squared.denominator

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K(s)."""
        return self.cgfs([self], s)[0]

    @classmethod
    def cgfs(cls, pairs: Sequence[Self], s: Complexes) -> list[Enclosure]:
        """Enclose K of many pairs: mu^2 s(s+1)/2 plus the log of the ratio of theta functions."""
        at_once = max(_AT_ONCE // s.size, 1)
        enclosures_at: dict[int, Enclosure] = {}
        for wide in (True, False):
            places = [i for i, one in enumerate(pairs) if one.is_wide == wide]
            for start in range(0, len(places), at_once):
                some = places[start : start + at_once]
                enclosures = _enclosed([pairs[place] for place in some], s, wide=wide)
                enclosures_at.update(zip(some, enclosures, strict=True))
        return [enclosures_at[place] for place in range(len(pairs))]

    @property
    def gaussian_tail(self) -> float:
        """Return mu^2, as theta stays between two numbers above 0."""
        return float(self.shift * self.shift / self.sigma_squared)

    @property
    def zcdp_bound(self) -> float:
        """Return mu^2 / 2 (Canonne, Kamath & Steinke, arXiv:2004.00010, Theorem 4)."""
        return 0.5 * float(self.shift * self.shift / self.sigma_squared) * (1 + 1e-15)

    def work(self, s: complex) -> int:
        """Return an upper bound of the number of terms in K(s)."""
        return 48

    def lattice(self, c: float) -> pair.Lattice:
        """Return the lattice of the losses (2x - shift) shift / (2 sigma^2), x an integer.

        The tilted law is again a discrete Gaussian. With a its center, twice the sum of the
        products of neighbouring masses is 2 e^{-1/(4 sigma^2)} theta'(a - 1/2) / theta(a)^2, theta'
        of the variance sigma^2/2. By their duals that is e^{-1/(4 sigma^2)} / (sqrt(pi) sigma),
        within 1e-30 from sigma = 4 on.
        """
        sigma = math.sqrt(self.sigma_squared)
        span = float(self.shift / self.sigma_squared)
        if sigma >= _WIDE:
            near = math.exp(-0.25 / sigma**2) / (math.sqrt(math.pi) * sigma)
            return pair.Lattice(-0.5 * self.shift * span, span, near * (1 - 1e-12))
        center = (c + 1.0) * self.shift
        x = np.floor(center) + np.arange(-math.ceil(8 * sigma) - 2, math.ceil(8 * sigma) + 3)
        weight = np.exp(-((x - center) ** 2) / (2 * float(self.sigma_squared)))
        weight /= weight.sum() * (1 + 1e-12)
        adjacency = float(2.0 * (weight[:-1] * weight[1:]).sum()) * (1 - 1e-9)
        return pair.Lattice(-0.5 * self.shift * span, span, adjacency)


def _enclosed(
    pairs: Sequence[DiscreteGaussianPair], s: Complexes, *, wide: bool
) -> Iterator[Enclosure]:
    """Enclose K of pairs that all have sigma >= 1, or none.

    Rounds: the span is off by 2 u, mu^2 by 3 u, of the 16 u and 128 u left for them.
    """
    each = [[float(one.sigma_squared), float(one.shift)] for one in pairs]
    variance, shift = np.array(each).T[..., None]
    span = shift / variance
    mu2 = shift * span
    turns = np.rint(s.imag * span / (2 * math.pi))
    main = s - 1j * (turns * (2 * math.pi / span))
    phase = turns * (-math.pi * shift)  # offset * turns * 2 pi / span
    value = 0.5 * mu2 * (main * (main + 1.0)) + 1j * phase
    slip = (np.abs(s.imag) + 1.0) * mu2 * (np.abs(s) + 1.0)
    size = mu2 * np.abs(main) * np.abs(main + 1.0) + np.abs(phase) + 8.0 * slip * (turns != 0)
    ratio = _log_theta_ratio(variance, shift, main, wide=wide)
    rounding = 16 * UNIT_ROUNDOFF * (size + np.abs(value))
    return map(Enclosure, value + ratio.value, ratio.radius + rounding)


def _log_theta_ratio(variance: Reals, shift: Reals, s: Complexes, *, wide: bool) -> Enclosure:
    """Enclose log theta((s+1) shift) - log theta(0), common factors left out, for each row.

    In the main period terms of the dual are at most e^{-2 pi^2 sigma^2 k (k-1)}, of the sum
    itself e^{-k (k-2) / (2 sigma^2)}: those left out are below 1e-30 together.
    """
    fraction, variances = np.mod(s.real * shift, 1.0), variance[..., None]
    terms = 1 + math.isqrt(int(_FADED / (2 * math.pi**2 * variance.min()))) if wide else _TERMS
    k = np.concatenate([np.arange(-terms, 0), np.arange(1, terms + 1)])
    if wide:
        each = -2.0 * math.pi**2 * variances * k * k
        exponent = each + 2.0 * math.pi * k * (1j * fraction - s.imag * shift)[..., None]
        lead = np.zeros(s.shape, dtype=complex)
    else:
        each = -(k * k) / (2.0 * variances)
        away = fraction + 1j * s.imag * shift
        exponent = each + (k * away[..., None]) / variances
        lead = -0.5 * away * away / variance
    slip = (1.0 + np.abs(s.real) * shift)[..., None] * np.abs(k) / np.minimum(variances, 1.0)
    error = 16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * (4.0 + np.abs(exponent) + np.abs(each) + slip)
    error = (np.exp(exponent.real) * error).sum(axis=-1) + _CUT
    top = log1p_enclosure(np.exp(exponent).sum(axis=-1), error)
    bottom = np.log1p(np.exp(each).sum(axis=-1))
    rounding = 64 * UNIT_ROUNDOFF * (np.abs(lead) * 4.0 + bottom)
    return Enclosure(top.value + lead - bottom, top.radius + rounding)
