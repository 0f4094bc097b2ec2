"""The logistic pair, which dominates every bounded-range mechanism that runs once."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.elementary import log1p_enclosure
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.pairs.pair import Exponentials, Smoothness
from dpproof.accountant.pairs.pure_loss import PureLoss
from dpproof.accountant.pairs.smoothness import exponential_layers
from dpproof.accountant.pairs.symmetry import CommonSupport, Reflected

# Largest |z| for which K is summed as a series, next to 0. Error bounds depend on it.
_SMALL = 0.25
_TERMS = 8  # Terms of that series; the next is below 2^-80 of the first. Error bounds depend on it.


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticShift(Reflected, CommonSupport, PureLoss, ABC):
    """A pair of logistic distributions of scale 1 at distance epsilon.

    With a = e^epsilon and V uniform on [0, 1] under Q, dP/dQ = a / (1 + (a-1)V)^2. So under
    P the loss has density e^{l/2} / (4 sinh(epsilon/2)) on [-epsilon, epsilon], and

        M(s) = sinh((s + 1/2) epsilon) / ((2s + 1) sinh(epsilon/2)).

    Source: proofs/theory/bounded_range.md: an epsilon-bounded-range mechanism
        changes the odds of every event by at most e^epsilon, which is this pair's trade-off.
    """

    epsilon: Fraction

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K.

        It is the log of the ratio of sinh(z)/z at z = (s + 1/2) epsilon and at epsilon/2.
        """
        e = float(self.epsilon)
        z = (s + 0.5) * e
        if float(np.abs(z).max()) <= _SMALL:
            return self._small(z, 0.5 * e)
        # log(sinh z / z) - log(sinh h / h) with sinh z = e^z (1 - e^{-2z}) / 2, Re z >= 0
        flip = np.where(z.real < 0, -z, z)
        top = flip + np.log((1.0 - np.exp(-2.0 * flip)) / flip)
        bottom = 0.5 * e + math.log(-math.expm1(-e) / (0.5 * e))
        size = 4.0 + np.abs(flip) + np.abs(top) + e + 1.0 / np.abs(-np.expm1(-2.0 * flip))
        return Enclosure(top - bottom + 0j, 4 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * size)

    def _small(self, z: Complexes, half: float) -> Enclosure:
        """Enclose K next to 0 as log1p of the ratio minus 1.

        It is summed from sinh(z)/z - 1 = z^2/6 (1 + z^2/20 (1 + ...)).
        """
        square = z * z
        difference = square - half * half  # = epsilon^2 s (s + 1)
        total, base = np.zeros(z.shape, dtype=complex), 0.0
        power_sum = np.zeros(z.shape, dtype=complex)
        factor = 1.0
        for k in range(1, _TERMS + 1):
            # (z^{2k} - h^{2k}) / (z^2 - h^2) = z^2 * previous + h^{2(k-1)}
            power_sum = square * power_sum + half ** (2 * k - 2)
            factor /= (2 * k) * (2 * k + 1)
            total = total + factor * power_sum
            base += factor * half ** (2 * k)
        excess = difference * total / (1.0 + base)
        size = np.abs(square) + half * half
        return log1p_enclosure(excess, 16 * UNIT_ROUNDOFF * size)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return 2

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile, (sqrt(a) - sqrt(t))^2 / (a - 1) on [1/a, a], t = e^eps.

        It is 0 above and 1 - t below.
        """
        e = float(self.epsilon)
        inside = np.clip(epsilon, -e, e)
        # (1 - e^{(eps-e)/2})^2 / (1 - e^{-e})
        root, scale = -np.expm1(0.5 * (inside - e)), -math.expm1(-e)
        value = root * root / scale
        value = np.where(
            epsilon < -e, -np.expm1(np.minimum(epsilon, 0.0)), np.where(epsilon >= e, 0.0, value)
        )
        slip = 8 * UNIT_ROUNDOFF * (np.abs(inside) + e)
        margin = 16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * value
        margin += slip * (root * (1.0 - root) + slip) / scale
        left = epsilon < self.max_loss  # between a rounded and the exact end some delta is left
        return np.maximum(value - margin, 0.0), value + np.where(left, margin, 0.0)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted density, which is exponential on [-epsilon, epsilon]."""
        e = float(self.epsilon)
        log_sinh = 0.5 * e + math.log(-0.5 * math.expm1(-e))
        scale = -math.log(4.0) - log_sinh - moment.upper
        masses, widths = exponential_layers(c + 0.5, e, scale)
        return Smoothness(masses=masses, widths=widths)

    def exponentials(self) -> Exponentials | None:
        """Return M as sinh(z e) / (2 z sinh(e/2))."""
        e = float(self.epsilon)
        scale = 0.5 * math.exp(-0.5 * e) / -math.expm1(-e)
        return Exponentials(np.array([e, -e]), scale * np.array([[0.0, 1.0], [0.0, -1.0]]))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticPair(LogisticShift):
    """The pair by itself: its powers are products."""
