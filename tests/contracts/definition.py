"""Dominating pairs written out as plain distributions, in ball arithmetic; nothing of the engine.

A definition is what a pair's docstring says it is: point masses and densities of P and Q.
Moments and hockey-stick divergences are direct sums and integrals of them, at 100 digits, with
rigorous radii (Arb's adaptive Gauss-Legendre quadrature). Values are kept: the battery asks for
the same ones again and again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import flint

DIGITS = 100
Ball = Any  # python-flint ships no types
Curve = Callable[[Ball, bool], Ball]  # of a complex ball; the flag asks for analyticity

flint.ctx.dps = DIGITS
_MEMORY: dict[tuple[int, str, complex], tuple[object, Ball]] = {}


def ball(value: Fraction | float) -> Ball:
    """A rational or a float, as it is."""
    fraction = Fraction(value)
    return flint.arb(flint.fmpq(fraction.numerator, fraction.denominator))


def complex_ball(value: complex) -> Ball:
    """A complex float, as it is."""
    return flint.acb(ball(value.real), ball(value.imag))


class Definition(ABC):
    """Two distributions."""

    @abstractmethod
    def compute_moment(self, s: complex) -> Ball:
        """E_P[e^{sL}; L < inf] by direct summation or quadrature."""

    @abstractmethod
    def compute_hockey_stick(self, epsilon: float) -> Ball:
        """Sup over S of P(S) - e^epsilon Q(S), by direct summation or quadrature."""

    def moment(self, s: complex) -> Ball:
        """The moment, from memory where it was asked before."""
        key = (id(self), "moment", complex(s))
        if key not in _MEMORY:
            _MEMORY[key] = self, self.compute_moment(complex(s))
        return _MEMORY[key][1]

    def hockey_stick(self, epsilon: float) -> Ball:
        """The hockey-stick divergence, from memory where it was asked before."""
        key = (id(self), "profile", float(epsilon))
        if key not in _MEMORY:
            _MEMORY[key] = self, self.compute_hockey_stick(float(epsilon))
        return _MEMORY[key][1]


@final
@dataclass(frozen=True)
class Outcomes(Definition):
    """Finitely many outcomes.

    Attributes:
        masses: (P, Q) of each outcome, real balls; exact zeros where there is none.
    """

    masses: Sequence[tuple[Ball, Ball]]

    def compute_moment(self, s: complex) -> Ball:
        """A sum over the outcomes that both distributions have."""
        total = flint.acb(0)
        for p, q in self.masses:
            if p > 0 and q > 0:
                total += p * (complex_ball(s) * (p / q).log()).exp()
        return total

    def compute_hockey_stick(self, epsilon: float) -> Ball:
        """A sum of positive parts."""
        t = ball(epsilon).exp()
        return sum(((p - t * q).max(flint.arb(0)) for p, q in self.masses), flint.arb(0))


@final
@dataclass(frozen=True)
class Densities(Definition):
    """A density of P on an interval and the loss on it, which never falls.

    Attributes:
        density: of P.
        loss: log of the ratio of P's density to Q's.
        breaks: ends of the pieces on which both are analytic; what lies beyond is negligible.
        start: where the loss rises above epsilon, None if nowhere.
        digits: to work with in moments, fewer where the integrand is expensive.
    """

    density: Curve
    loss: Curve
    breaks: Sequence[Ball]
    start: Callable[[Ball], Ball | None]
    digits: int = DIGITS

    def compute_moment(self, s: complex) -> Ball:
        """The integral of the density times e^{s loss}."""
        power = complex_ball(s)

        def integrand(z: Ball, analytic: bool) -> Ball:  # noqa: FBT001 -- Arb's signature
            return self.density(z, analytic) * (power * self.loss(z, analytic)).exp()

        with flint.ctx.workdps(self.digits):
            return _integral(integrand, self.breaks)

    def compute_hockey_stick(self, epsilon: float) -> Ball:
        """The integral of the density times 1 - e^{epsilon - loss}, right of the crossing."""
        value = ball(epsilon)
        start = self.start(value)
        if start is None:
            return flint.arb(0)

        def integrand(z: Ball, analytic: bool) -> Ball:  # noqa: FBT001 -- Arb's signature
            return self.density(z, analytic) * (1 - (value - self.loss(z, analytic)).exp())

        points = [start, *(point for point in self.breaks if point > start)]
        if len(points) == 1:  # far out in an unbounded tail
            points.append(start + 25)
        return _integral(integrand, points).real


def _integral(integrand: Curve, breaks: Sequence[Ball]) -> Ball:
    """Piece by piece, to an absolute error far below what the tests ask for."""
    total = flint.acb(0)
    for left, right in pairwise(breaks):
        total += flint.acb.integral(
            integrand, flint.acb(left), flint.acb(right), abs_tol=flint.arb("1e-150")
        )
    return total
