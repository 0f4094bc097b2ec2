"""The Laplace pair: two Laplace distributions of scale 1 at distance epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from accountant.arithmetic.elementary import exp_minus_linear, log1p_enclosure
from accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
)
from accountant.bound import Bound
from accountant.pairs.pair import Exponentials, Smoothness
from accountant.pairs.pure_loss import PureLoss
from accountant.pairs.smoothness import exponential_layers
from accountant.pairs.symmetry import CommonSupport, Reflected

_FLAT = np.zeros(1)  # The log of the weight 1.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplacePair(Reflected, CommonSupport, PureLoss):
    """The pair (Lap(a), Lap(0)) of scale 1, a = sensitivity / scale.

    M(s) = ((s+1) e^{sa} + s e^{-(s+1)a}) / (2s+1): under P the loss is a with mass 1/2, -a
    with mass e^{-a}/2, and has density e^{(l-a)/2}/4 between.
    Source: Zhu, Dong & Wang (arXiv:2106.08567), Table 1; the integral is elementary.
    """

    epsilon: Fraction

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K; next to 0 through e^z - 1 - z, whose linear terms cancel exactly."""
        a = float(self.epsilon)
        first, second = s * a, -(s + 1.0) * a
        if float(np.abs(first.real).max()) + a > 600.0:
            return self._large(s, a)
        both = exp_minus_linear(np.concatenate([s, -(s + 1.0)]), np.array([a]), _FLAT)
        parts = (s + 1.0) * both[: s.size] + s * both[s.size :]
        size = np.abs(s + 1.0) * np.abs(first) ** 2 * np.exp(np.maximum(first.real, 0.0))
        size += np.abs(s) * np.abs(second) ** 2 * np.exp(np.maximum(second.real, 0.0))
        scale = np.abs(2.0 * s + 1.0)
        error = (13 * ELEMENTARY_ULPS + 160 + 4 * np.abs(first)) * UNIT_ROUNDOFF * size / scale
        return log1p_enclosure(parts / (2.0 * s + 1.0), error)

    def _large(self, s: Complexes, a: float) -> Enclosure:
        """Enclose K as s a + log of (s + 1 + s e^{-(2s+1)a}) / (2s + 1), for Re s > 0."""
        inner = (s + 1.0 + s * np.exp(-(2.0 * s + 1.0) * a)) / (2.0 * s + 1.0)
        value = s * a + np.log(inner)
        return Enclosure(value, 32 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * (1.0 + np.abs(s) * a))

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return 4

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile: 1 - e^{(eps-a)/2} on [-a, a], 0 above, 1 - e^eps below."""
        a = float(self.epsilon)
        value = -np.expm1(np.where(epsilon < -a, epsilon, np.minimum(0.5 * (epsilon - a), 0.0)))
        margin = 16 * UNIT_ROUNDOFF * (value + a + np.abs(epsilon))
        inside = epsilon < self.max_loss  # between a rounded and the exact end some delta is left
        return np.maximum(value - margin, 0.0), value + np.where(inside, margin, 0.0)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the continuous part, whose tilted density is exponential on (-a, a)."""
        a = float(self.epsilon)
        masses, widths = exponential_layers(c + 0.5, a, -math.log(4.0) - 0.5 * a - moment.upper)
        return Smoothness(masses=masses, widths=widths)

    def exponentials(self) -> Exponentials | None:
        """Return M as e^{-a/2}/2 (2 cosh(za) + sinh(za)/z)."""
        a = float(self.epsilon)
        scale = 0.5 * math.exp(-0.5 * a)
        weights = scale * np.array([[1.0, 0.5], [1.0, -0.5]])
        return Exponentials(np.array([a, -a]), weights)
