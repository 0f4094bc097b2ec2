"""Bound the characteristic function of the loss of two opposite Gaussian mixtures.

The notation is that of pairs/opposite_gaussians.py. In nats the loss tilted by c > 0 has density
phi A^{1+c} B^{-c} / (M(c) l'), with slope l' = mu (q e^{l(z)}/A(z) + q e^{l(-z)}/B(z)), where
l(z) = mu z - mu^2/2. Its first part increases in z, the second decreases, and so do A and B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.pairs.smoothness import layers
from dpproof.accountant.pairs.subsampling_formulas import log_unsampled

_LARGEST = 600.0  # A log whose exponential is representable as a float.
# A difference so large, relative to its ends, has 9 correct digits. Soundness depends on it.
_DISTINCT = 1e-5
# Standard deviations between the mean of the tilted law and the last cell. Soundness depends on its
# use in ``envelope``.
_BEYOND = 9.0
_PEAK = -0.5 * math.log(2 * math.pi)  # The log of phi(0).


@final
@dataclass(frozen=True, slots=True)
class OppositeCells:
    """Adjacent cells of z, with the parameters that give the bounds on them.

    Attributes:
        c: the tilt, above 0.
        mu: of the mixtures.
        log_q: log of the sampling rate.
        log_unsampled: log(1 - q).
        z: shape (n + 1,), the ends.
    """

    c: float
    mu: float
    log_q: float
    log_unsampled: float
    z: Reals

    @staticmethod
    def of(mu: float, sampling_rate: Fraction, c: float) -> OppositeCells:
        """Cut [-mu - 9, mu (1 + 2 c) + 9] into cells."""
        right = mu * (1.0 + 2.0 * c) + _BEYOND
        left = mu + _BEYOND
        count = int(min(max(8.0 * (left + right), 128), 2048))
        z = ((left + right) / count) * np.arange(count + 1.0) - left
        return OppositeCells(c, mu, math.log(sampling_rate), log_unsampled(sampling_rate), z)

    def layers(self, log_moment: float) -> tuple[Reals, Reals]:
        """Return layers of the density, from an upper bound of K(c).

        On a cell the density is at least the smallest phi times A^{1+c} B^{-c} at the left, over
        the first part of the slope at the right and the second at the left. A cell counts as empty
        if its length has too few correct digits.
        """
        above, below = self._log_mixture(self.z), self._log_mixture(-self.z)
        log_phi = _PEAK - 0.5 * self.z**2
        power = (1.0 + self.c) * above - self.c * below
        drift = self.log_q - 0.5 * self.mu**2
        rising = drift + self.mu * self.z - above
        falling = drift - self.mu * self.z - below
        log_slope = math.log(self.mu) + np.logaddexp(rising[1:], falling[:-1])
        low = np.minimum(log_phi[:-1], log_phi[1:]) + power[:-1] - log_slope
        loss = above - below
        width = np.diff(loss)
        known = width > _DISTINCT * np.maximum(np.abs(above), np.abs(below))[1:]
        known &= width > _DISTINCT * np.maximum(np.abs(above), np.abs(below))[:-1]
        heights = np.where(known, np.exp(np.minimum(low - log_moment, _LARGEST)), 0.0)
        return layers(heights, np.maximum(width, 0.0))

    def envelope(self, log_moment: float) -> tuple[Reals, Reals]:
        """Return heights and rates of the same law, from a lower bound of K(c).

        M on the line Im z = b is at most e^{b^2/2} E[|A|^{1+c} |B|^{-c} e^{-y (arg A - arg B)}];
        with mu b <= pi/2 both |A| and arg A increase in z, |B| and -arg B decrease. |A| is at
        most its real value. What lies outside the cells is added without decay, by the slope of
        the integrand's log: on the left |A|^{1+c} |B|^{-c} grows and is at most its value at the
        end, on the right the slope is at most mu (1 + 2 c) - z <= -9.
        """
        shift = min(1.4 / self.mu, 1.0)
        along, across = self._on_the_line(self.z, shift)
        behind, aside = self._on_the_line(-self.z, shift)
        log_below = 0.5 * np.log(behind**2 + aside**2)
        power = (1.0 + self.c) * self._log_mixture(self.z) - self.c * log_below
        turned, unturned = np.arctan2(across, along), np.arctan2(aside, behind)
        log_phi = _PEAK - 0.5 * self.z**2
        highest = np.where(
            self.z[:-1] * self.z[1:] < 0, _PEAK, np.maximum(log_phi[:-1], log_phi[1:])
        )
        lift = 0.5 * shift * shift - log_moment
        inside = lift + highest + power[1:] + np.log(np.diff(self.z))
        ends = log_phi[0] + power[0], log_phi[-1] + power[-1]
        last = lift + float(np.logaddexp(*ends)) - math.log(_BEYOND)
        rates = np.append((turned[:-1] + unturned[1:]) * (1 - 1e-9), 0.0)
        rates[:-1][inside > _LARGEST] = 0.0  # and then nothing is gained, with any height
        heights = np.exp(np.minimum(np.append(inside, last), _LARGEST))
        return heights * (1 + 1e-9), rates

    def _log_mixture(self, z: Reals) -> Reals:
        """Return log A."""
        likely = self.log_q + self.mu * z - 0.5 * self.mu**2
        return np.asarray(np.logaddexp(self.log_unsampled, likely))

    def _on_the_line(self, z: Reals, shift: float) -> tuple[Reals, Reals]:
        """Return real and imaginary part of A(z + i shift), cut off if they are huge."""
        log_ratio = np.minimum(self.log_q + self.mu * z - 0.5 * self.mu**2, _LARGEST / 2)
        ratio, turn = np.exp(log_ratio), self.mu * shift
        return math.exp(self.log_unsampled) + ratio * math.cos(turn), ratio * math.sin(turn)
