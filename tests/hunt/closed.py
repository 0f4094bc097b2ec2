"""Mechanisms whose truth is a formula: mpmath evaluates it at 120 digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from tests.hunt.truth import MP, DeltaAlone, Real, quantile, real


@final
@dataclass(frozen=True)
class Normal:
    """N(mu, 1) against N(0, 1)."""

    shift: Real

    def delta(self, epsilon: Real) -> Real:
        """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
        half, place = self.shift / 2, epsilon / self.shift
        return MP.ncdf(half - place) - MP.exp(epsilon) * MP.ncdf(-half - place)

    def renyi(self, order: Fraction) -> Real:
        """Order times mu^2/2."""
        return real(order) * self.shift**2 / 2

    def power(self, rate: Fraction) -> Real:
        """Phi(mu + Phi^-1(rate))."""
        return MP.ncdf(self.shift + quantile(real(rate)))

    def mu(self) -> Real:
        """By definition."""
        return self.shift


@final
@dataclass(frozen=True)
class Laplacian:
    """Laplace noise and its shift by s scales."""

    shift: Real

    def delta(self, epsilon: Real) -> Real:
        """1 - e^((epsilon - s)/2) between the largest losses."""
        if epsilon >= self.shift:
            return MP.mpf(0)
        if epsilon <= -self.shift:
            return 1 - MP.exp(epsilon)
        return -MP.expm1((epsilon - self.shift) / 2)

    def renyi(self, order: Fraction) -> Real:
        """Two tails and what is between, Mironov's Proposition 6."""
        a, s = real(order), self.shift
        total = a * MP.exp((a - 1) * s) + (a - 1) * MP.exp(-a * s)
        return MP.log(total / (2 * a - 1)) / (a - 1)

    def power(self, rate: Fraction) -> Real:
        """Half-lines: P(x > c) from Q(x > c)."""
        a, s = real(rate), self.shift
        if a <= MP.exp(-s) / 2:
            return a * MP.exp(s)
        return 1 - MP.exp(-s) / (4 * a) if a <= 0.5 else 1 - (1 - a) * MP.exp(-s)

    def mu(self) -> Real:
        """The corner at rate e^-s/2, by the symmetry of the curve also its mirror image."""
        raise NotImplementedError


@final
@dataclass(frozen=True)
class Logistic:
    """Logistic noise and its shift by s scales: what bounded range s amounts to."""

    shift: Real

    def delta(self, epsilon: Real) -> Real:
        """The half-line x > c with e^loss(c) = e^epsilon, without cancellation."""
        s = self.shift
        if abs(epsilon) >= s:
            return max(MP.mpf(0), -MP.expm1(epsilon))
        # (1 + e^c)/(1 + e^(c - s)) squared is e^(epsilon + s), and 1/(1 + e^(c - s)) is P's mass
        return MP.expm1((epsilon - s) / 2) ** 2 / -MP.expm1(-s)

    def power(self, rate: Fraction) -> Real:
        """Logit moves by s."""
        a = real(rate)
        return a * MP.exp(self.shift) / (1 - a + a * MP.exp(self.shift))

    def renyi(self, order: Fraction) -> Real:
        """No formula is used."""
        raise NotImplementedError

    def mu(self) -> Real:
        """No formula is used."""
        raise NotImplementedError


@final
@dataclass(frozen=True)
class Floored:
    """A Gaussian loss N(mu^2/2, mu^2) above a floor, its density times a weight, the rest there.

    Q has e^-loss times that mass; what is left of Q has an infinite loss in the other order.
    """

    shift: Real
    floor: Real
    weight: int

    def _above(self, place: Real) -> tuple[Real, Real]:
        """The masses under P and Q of losses above a place at or above the floor."""
        half = self.shift / 2
        ends = (half - place / self.shift, -half - place / self.shift)
        return self.weight * MP.ncdf(ends[0]), self.weight * MP.ncdf(ends[1])

    def _atom(self) -> Real:
        return 1 - self._above(self.floor)[0]

    def delta(self, epsilon: Real) -> Real:
        """The atom and what is above both the floor and epsilon."""
        p, q = self._above(max(epsilon, self.floor))
        far = MP.exp(epsilon)
        atom = self._atom() * max(1 - far * MP.exp(-self.floor), 0)
        return p - far * q + (atom if self.weight == 1 else 0)

    def reversed_delta(self, epsilon: Real) -> Real:
        """What Q has off P where no loss is larger, else the mirror 1 - t + t H_(1/t)(P|Q)."""
        t = MP.exp(epsilon)
        if epsilon >= -self.floor:
            kept = self._atom() * MP.exp(-self.floor) if self.weight == 1 else 0
            return 1 - self._above(self.floor)[1] - kept
        return 1 - t + t * self.delta(-epsilon)


@final
@dataclass(frozen=True)
class PoissonSample(DeltaAlone):
    """A Poisson sample of a mechanism known by its profile, which is symmetric."""

    delta_of_one: Callable[[Real], Real]
    rate: Real

    def delta(self, epsilon: Real) -> Real:
        """The larger of removal and addition."""
        t = MP.exp(epsilon)
        return max(self._removal(t), self._addition(t))

    def _removal(self, t: Real) -> Real:
        """H_t((1-q)Q + qP | Q) is q H_a(P | Q) at a = 1 + (t-1)/q, or 1 - t if a is below 0."""
        inner = 1 + (t - 1) / self.rate
        return self.rate * self.delta_of_one(MP.log(inner)) if inner > 0 else 1 - t

    def _addition(self, t: Real) -> Real:
        """H_t(P | (1-q)P + qQ) is k H_(tq/k)(P | Q), k = 1 - t(1-q), or 0 if k is below 0."""
        kept = 1 - t * (1 - self.rate)
        return kept * self.delta_of_one(MP.log(t * self.rate / kept)) if kept > 0 else MP.mpf(0)
