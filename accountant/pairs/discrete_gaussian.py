"""The discrete Gaussian pair: two discrete Gaussians at an integer distance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

import numpy as np

from dpproof.accountant.arithmetic.elementary import log1p_enclosure
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
)
from dpproof.accountant.pairs.pair import Lattice
from dpproof.accountant.pairs.symmetry import CommonSupport, ExactPair, Reflected

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
class DiscreteGaussianPair(Reflected, CommonSupport, ExactPair):
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

    Attributes:
        sigma_squared: exact, above 0.
        shift: an integer, at least 1.
    """

    sigma_squared: Fraction
    shift: int

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K(s)."""
        return self.cgfs([self], s)[0]

    @classmethod
    def cgfs(cls, pairs: Sequence[Self], s: Complexes) -> list[Enclosure]:
        """Enclose K of many pairs: mu^2 s(s+1)/2 plus the log of the ratio of theta functions."""
        at_once = max(_AT_ONCE // s.size, 1)
        enclosures_at: dict[int, Enclosure] = {}
        for wide in (True, False):
            places = [i for i, one in enumerate(pairs) if (one.sigma_squared >= 1) == wide]
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

    def lattice(self, c: float) -> Lattice:
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
            return Lattice(-0.5 * self.shift * span, span, near * (1 - 1e-12))
        center = (c + 1.0) * self.shift
        x = np.floor(center) + np.arange(-math.ceil(8 * sigma) - 2, math.ceil(8 * sigma) + 3)
        weight = np.exp(-((x - center) ** 2) / (2 * float(self.sigma_squared)))
        weight /= weight.sum() * (1 + 1e-12)
        adjacency = float(2.0 * (weight[:-1] * weight[1:]).sum()) * (1 - 1e-9)
        return Lattice(-0.5 * self.shift * span, span, adjacency)


def _enclosed(
    pairs: Sequence[DiscreteGaussianPair], s: Complexes, *, wide: bool
) -> Iterator[Enclosure]:
    """Enclose K of pairs that all have sigma >= 1, or none."""
    mu2 = np.array([[float(one.shift * one.shift / one.sigma_squared)] for one in pairs])
    span = np.array([[float(one.shift / one.sigma_squared)] for one in pairs])
    variance = np.array([[float(one.sigma_squared)] for one in pairs])
    shift = np.array([[float(one.shift)] for one in pairs])
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
