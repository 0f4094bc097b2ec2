"""The pairs whose loss is that of a Gaussian pair, raised to a floor or folded there.

P has the loss G ~ N(mu^2/2, mu^2) with ``weight`` times its density above the floor f, and its
other mass at f. Q has density e^{-loss} there and its other mass off P, so the swapped pair has
infinite losses. With a = (f - mu^2/2)/mu, z = t mu - a and erfcx(u) = e^{u^2} erfc(u),

    M(t) = e^{tf} (atom + weight e^{-a^2/2} erfcx(-z/sqrt 2)/2)
         = e^{tf} (atom - weight e^{-a^2/2} erfcx(z/sqrt 2)/2) + weight e^{t(t+1) mu^2/2},

the first for Re z <= 0, the second for Re z > 0. M is entire, but K has branch points where M is 0.
Assumption: scipy.special.wofz is within 1e-13 of itself on the upper half-plane.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.elementary import log_of_sum
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.finite import nearest_mass
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.pair import Smoothness
from dpproof.accountant.pairs.smoothness import required_square
from dpproof.accountant.pairs.symmetry import ExactPair

_FADDEEVA = 1.1e-13  # The assumption above, with room for its use. Error bounds depend on it.
_DIGITS = 80  # Of the infinite mass, beyond those lost to cancellation. Soundness depends on it.
_FAR = 40  # Standard deviations at which a tail is below 1e-300. Soundness depends on it.
_NOT_ALL = 1 - Decimal(2) ** -60  # The infinite mass is never 1. Soundness depends on it.
_WIDTHS = np.linspace(0.02, 6.0, 150)  # Half-widths of layers, standard deviations. Heuristic.


class GaussianAboveFloor(ExactPair, ABC):
    """A pair with the loss of a Gaussian pair above a floor, in either order."""

    __slots__ = ()

    mu_squared: Fraction
    reverse: bool

    @property
    @abstractmethod
    def lowest(self) -> Fraction:
        """Return the floor f, at or above 0."""

    @property
    @abstractmethod
    def weight(self) -> int:
        """Return what multiplies the Gaussian's density above the floor."""

    @property
    @final
    def _atom(self) -> float:
        """Return the mass at the floor, Phi(a) for weight 1 and 0 for weight 2."""
        return float(_masses(self.mu_squared, self.lowest, 1)[0]) if self.weight == 1 else 0.0

    @final
    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K; that of the swapped pair is K(-1 - s)."""
        from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

        t = -1.0 - s if self.reverse else np.asarray(s, dtype=complex)
        mu, floor = math.sqrt(self.mu_squared), float(self.lowest)
        a = floor / mu - 0.5 * mu
        z = t * mu - a
        right = z.real > 0
        turned = np.where(right, z, -z) / math.sqrt(2.0)
        tail = 0.5 * self.weight * math.exp(-0.5 * a * a) * special.wofz(1j * turned)
        low, high = t * floor, 0.5 * float(self.mu_squared) * (t * (t + 1.0))
        peak = np.where(right, np.maximum(low.real, high.real), low.real)
        with np.errstate(under="ignore"):
            first = np.exp(low - peak)
            second = np.where(right, self.weight * np.exp(np.where(right, high - peak, 0.0)), 0.0)
        total = first * (self._atom + np.where(right, -tail, tail)) + second
        blur = (64.0 * ELEMENTARY_ULPS + 64.0) * UNIT_ROUNDOFF
        moved = (np.abs(t) + 1.0) * (floor + np.abs(t) * mu * mu + mu * mu + np.abs(a) * mu)
        slip = 16.0 * UNIT_ROUNDOFF * (1.0 + moved + a * a)
        size = np.abs(first) * (self._atom + np.abs(tail)) + np.abs(second)
        error = np.abs(first) * np.abs(tail) * _FADDEEVA + size * (blur + slip)
        return log_of_sum(total, error, peak)

    @property
    @final
    def infinite_mass(self) -> float:
        """Return Q's mass off P's support for the swapped pair, 0 for the pair itself."""
        if not self.reverse:
            return 0.0
        return nearest_mass(_masses(self.mu_squared, self.lowest, self.weight)[1])

    @property
    @final
    def max_loss(self) -> float:
        """Return infinity; for the swapped pair minus the floor, rounded up."""
        return -float(self.lowest) * (1 - 4e-16) if self.reverse else math.inf

    @property
    @final
    def zcdp_bound(self) -> float:
        """Return f + 0.8 mu + mu^2/2, rounded up.

        The loss is at most f + mu |N| + mu^2/2, and log 2 Phi(x) <= x sqrt(2/pi); the finite losses
        of the swapped pair are at most 0.
        """
        mu = math.sqrt(self.mu_squared)
        return (float(self.lowest) + 0.8 * mu + 0.5 * mu * mu) * (1 + 1e-14)

    @final
    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return 8

    @final
    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile.

        It is weight delta_mu(eps) from the floor on, and 1 - e^{eps - f} (1 - weight delta_mu(f))
        below; of the swapped pair 1 - e^eps + e^eps times that at -eps.
        """
        at = -epsilon if self.reverse else epsilon
        floor = float(self.lowest)
        above = gaussian_profile(math.sqrt(self.mu_squared), np.maximum(at, floor))
        rest = np.minimum(at - floor, 0.0)
        slack = 32 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * (1.0 + np.abs(at) + floor)
        ends = []
        for end, sign in zip(above, (-1.0, 1.0), strict=True):
            rest_mass = np.exp(rest) * self.weight * end
            value = np.where(at >= floor, self.weight * end, -np.expm1(rest) + rest_mass)
            if self.reverse:
                value = -np.expm1(epsilon) + np.exp(epsilon) * value
            size = np.exp(np.maximum(epsilon, 0.0)) if self.reverse else 1.0
            moved = np.where((at >= floor) & (not self.reverse), np.abs(value), size)
            ends.append(np.maximum(value + sign * slack * moved, 0.0))
        return ends[0], ends[1]

    @final
    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted density, a Gaussian's above the floor.

        Between the heights at two distances from its mean it contains a uniform law on what is
        above the floor of the smaller interval.
        """
        mu, floor = math.sqrt(self.mu_squared), float(self.lowest)
        t = -1.0 - c if self.reverse else c
        centre = mu * mu * (0.5 + t)
        start = max(0.0, (floor - centre) / mu)
        widths = start + _WIDTHS
        low = np.maximum(floor, centre - widths * mu)
        spans = centre + widths * mu - low
        # log of weight e^{t l} n(l; mu^2/2, mu^2) at the mean of the tilted law
        top = 0.5 * mu * mu * t * (t + 1.0) - moment.upper + math.log(self.weight)
        with np.errstate(under="ignore", over="ignore"):
            heights = np.exp(np.minimum(top - 0.5 * widths**2, 600.0))
        heights /= mu * math.sqrt(2 * math.pi)
        drops = heights - np.append(heights[1:], 0.0)
        masses = np.maximum(drops, 0.0) * np.maximum(spans, 0.0) * (1 - 1e-9)
        kept = (spans > 0) & (masses > 0)
        return Smoothness(masses=masses[kept], widths=spans[kept] * (1 - 1e-12))


@lru_cache(maxsize=256)
def _masses(mu_squared: Fraction, floor: Fraction, weight: int) -> tuple[Decimal, Decimal]:
    """Return Phi(a), a = (f - mu^2/2)/mu, and Q's mass off P's support, with many digits.

    That is Phi(a + mu) - e^-f Phi(a) for weight 1 and 2 Phi(a + mu) - 1 for weight 2, of the order
    of mu if mu is small: as many digits cancel as mu has zeros.
    """
    rough = (float(floor) + 0.5 * float(mu_squared)) / math.sqrt(mu_squared)
    zeros = max(-int(math.log10(mu_squared)), 0)
    digits = _DIGITS + int(min(rough, _FAR) ** 2) + zeros
    with localcontext(Context(prec=digits)):
        mu = (Decimal(mu_squared.numerator) / mu_squared.denominator).sqrt()
        f = Decimal(floor.numerator) / floor.denominator
        a = f / mu - mu / 2
        below, shifted = _normal(a, digits), _normal(a + mu, digits)
        mass = shifted - (-f).exp() * below if weight == 1 else 2 * shifted - 1
        return below, min(mass, _NOT_ALL)


def _normal(x: Decimal, digits: int) -> Decimal:
    """Return Phi(x) by its series 1/2 + phi(x) (x + x^3/3 + x^5/15 + ...), at most 40 away."""
    if abs(x) > _FAR:
        return Decimal(int(x > 0))
    term = total = x
    k = 1
    while term and abs(term) > abs(total) * Decimal(10) ** -digits:
        k += 2
        term = term * x * x / k
        total += term
    return Decimal("0.5") + (-x * x / 2).exp() * total / (2 * _pi(digits)).sqrt()


def _pi(digits: int) -> Decimal:
    """Return pi by Machin's formula, 16 arctan(1/5) - 4 arctan(1/239)."""
    total = Decimal(0)
    for factor, base in ((16, 5), (-4, 239)):
        power = Decimal(factor) / base
        k = 0
        while abs(power) > Decimal(10) ** (-digits - 5):
            total += power / (2 * k + 1) * (-1) ** k
            power /= base * base
            k += 1
    return total


_HIGHEST = 600  # Largest floor, nats: e to it is a float. Error bounds depend on it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FlooredGaussianPair(GaussianAboveFloor):
    """The loss max(G, floor), G ~ N(mu^2/2, mu^2) under P; Q's other mass lies off P.

    Source: proofs/theory/logistic.md, Theorem 2: the minimum of perturbed logistic losses.

    Attributes:
        mu_squared: exact, above 0.
        floor: exact, at or above 0, nats.
        reverse: whether P and Q are exchanged.
    """

    mu_squared: Fraction
    floor: Fraction
    reverse: bool = False

    def __post_init__(self) -> None:
        """Refuse parameters whose powers are not representable as floats."""
        required_square(mu_squared=self.mu_squared)
        if not 0 <= self.floor <= _HIGHEST:
            raise ParameterError("floor", self.floor, f"from 0 to {_HIGHEST}")

    @property
    def lowest(self) -> Fraction:
        """Return the floor."""
        return self.floor

    @property
    def weight(self) -> int:
        """Return 1: above the floor the density is the Gaussian's."""
        return 1

    def swapped(self) -> FlooredGaussianPair:
        """Return the pair in the other order."""
        return replace(self, reverse=not self.reverse)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedGaussianPair(GaussianAboveFloor):
    """The loss mu |N| + mu^2/2, N standard normal under P; Q's other mass lies off P.

    Source: proofs/theory/separators.md, Theorem 3: Gaussian noise whose shift's signs depend on the
        output.

    Attributes:
        mu_squared: exact, above 0.
        reverse: whether P and Q are exchanged.
    """

    mu_squared: Fraction
    reverse: bool = False

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        required_square(mu_squared=self.mu_squared)

    @property
    def lowest(self) -> Fraction:
        """Return mu^2/2, the loss at N = 0."""
        return self.mu_squared / 2

    @property
    def weight(self) -> int:
        """Return 2: both signs of N have the same loss."""
        return 2

    def swapped(self) -> FoldedGaussianPair:
        """Return the pair in the other order."""
        return replace(self, reverse=not self.reverse)
