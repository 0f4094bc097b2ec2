"""What a mechanism's privacy really is, computed without the library: mpmath at 120 digits.

Comparisons look at 70 of them: the others are for what formulas lose where numbers cancel or are
divided by an order next to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, final

from mpmath.ctx_mp import MPContext
from scipy.special import ndtri

from tests.hunt.laws import Neighbours

DIGITS = 120
MP = MPContext()  # a context of our own: the library's precision stays what it is
MP.dps = DIGITS
Real = Any  # a number of MP; mpmath ships no types
_BITS = 360
TOLERANCE = MP.mpf(10) ** -70


class DeltaAlone:
    """A truth of which delta alone is known."""

    def renyi(self, order: Fraction) -> Real:
        """Unknown."""
        raise NotImplementedError

    def power(self, rate: Fraction) -> Real:
        """Unknown."""
        raise NotImplementedError

    def mu(self) -> Real:
        """Unknown."""
        raise NotImplementedError


def real(value: Fraction | float) -> Real:
    """A rational or a float at 120 digits."""
    if isinstance(value, Fraction):
        return MP.mpf(value.numerator) / value.denominator
    return MP.mpf(value)


def rational(value: Real) -> Fraction:
    """A number of MP, down to 360 bits after the point: far closer than comparisons see."""
    return Fraction(int(MP.floor(value * 2**_BITS)), 2**_BITS)


def is_below(claimed: float, truth: Real) -> bool:
    """Whether a float is below a true value, by more than the truth may err."""
    if truth == MP.inf:
        return claimed < float("inf")
    return bool(real(claimed) < truth - TOLERANCE * (1 + abs(truth)))


def is_above(claimed: float, truth: Real) -> bool:
    """Whether a float is above a true value, by more than the truth may err."""
    if truth == MP.inf:
        return False
    return bool(claimed == float("inf") or real(claimed) > truth + TOLERANCE * (1 + abs(truth)))


class Truth(Protocol):
    """True values of a mechanism, or of the mechanism that attains a statement."""

    def delta(self, epsilon: Real) -> Real:
        """The hockey-stick divergence at epsilon, the larger of both directions."""

    def renyi(self, order: Fraction) -> Real:
        """The Renyi divergence, the larger of both directions."""

    def power(self, rate: Fraction) -> Real:
        """The largest true-positive rate at a false-positive rate."""

    def mu(self) -> Real:
        """The smallest mu of Gaussian differential privacy."""


@final
@dataclass(frozen=True)
class Enumerated:
    """The truth about finitely many pairs of laws on finitely many outcomes.

    Attributes:
        neighbours: the laws, exact.
    """

    neighbours: Neighbours

    @cached_property
    def _pairs(self) -> list[list[tuple[Real, Real]]]:
        return [
            [(real(p), real(q)) for p, q in zip(one, other, strict=True) if p or q]
            for one, other in (*self.neighbours.forward, *self.neighbours.backward)
        ]

    def delta(self, epsilon: Real) -> Real:
        """The sum of what P has above e^epsilon Q."""
        t = MP.exp(epsilon)
        return max(sum(p - t * q for p, q in pair if p > t * q) for pair in self._pairs)

    def renyi(self, order: Fraction) -> Real:
        """The sum of p^a q^(1-a)."""
        return max(_renyi(pair, real(order)) for pair in self._pairs)

    def power(self, rate: Fraction) -> Real:
        """The Neyman-Pearson test, with one outcome split."""
        return max(_power(pair, real(rate)) for pair in self._pairs)

    def mu(self) -> Real:
        """The largest over the corners of the trade-off curve, which is convex between them."""
        return max(_mu(pair) for pair in self._pairs)

    def kl(self) -> Real:
        """The Kullback-Leibler divergence: the Renyi divergence at order 1."""
        return max(_kl(pair) for pair in self._pairs)

    def largest_loss(self) -> Real:
        """The largest privacy loss."""
        return max(
            max(MP.log(p / q) if q else MP.inf for p, q in pair if p) for pair in self._pairs
        )


def _renyi(pair: Sequence[tuple[Real, Real]], order: Real) -> Real:
    if any(p and not q for p, q in pair):
        return MP.inf
    return MP.log(sum(p * (p / q) ** (order - 1) for p, q in pair if p)) / (order - 1)


def _kl(pair: Sequence[tuple[Real, Real]]) -> Real:
    if any(p and not q for p, q in pair):
        return MP.inf
    return sum(p * MP.log(p / q) for p, q in pair if p)


def _ranked(pair: Sequence[tuple[Real, Real]]) -> list[tuple[Real, Real]]:
    """Outcomes by falling likelihood ratio."""
    return sorted(pair, key=lambda mass: MP.inf if not mass[1] else mass[0] / mass[1], reverse=True)


def _power(pair: Sequence[tuple[Real, Real]], rate: Real) -> Real:
    left, power = rate, MP.mpf(0)
    for p, q in _ranked(pair):
        if q > left:
            return power + p * left / q
        power, left = power + p, left - q
    return power


def _mu(pair: Sequence[tuple[Real, Real]]) -> Real:
    if any(bool(p) != bool(q) for p, q in pair):
        return MP.inf
    ranked, largest = _ranked(pair), MP.mpf(0)
    for place in range(1, len(ranked)):
        power, rate = (_split_quantile(masses, place) for masses in zip(*ranked, strict=True))
        largest = max(largest, power - rate)
    return largest


def _split_quantile(masses: Sequence[Real], place: int) -> Real:
    """The quantile of the first masses, from those that are fewer than one half."""
    first, others = MP.fsum(masses[:place]), MP.fsum(masses[place:])
    return quantile(first) if first < others else -quantile(others)


def quantile(mass: Real) -> Real:
    """The standard normal quantile, by Newton steps from a double, each doubling the digits."""
    if mass > 0.5:
        return -quantile(1 - mass)
    guess = MP.mpf(_quantile_of_a_double(mass))
    for _ in range(5):
        guess -= (MP.ncdf(guess) - mass) / MP.npdf(guess)
    return guess


def _quantile_of_a_double(mass: Real) -> float:
    return float(ndtri(float(mass)))
