"""Witnesses for M of Gaussian mixtures: two trapezoid rules on shifted lines.

With b = shift and h = step, the checker bounds what the rule misses by
2 e^{2 b^2} S / (e^{2 pi b/h} - 1) plus tails, S a bound of E|1+u|^a: see
proofs/theory/subsampled_gaussian.md, and proofs/theory/replace_one.md of opposite mixtures.
Nothing here is trusted: a poor rule makes a certificate that is rejected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Reals, rounded_short
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.guarantee import pair_in_words
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.proofs.core.certificate import Json, show_rational
from dpproof.proofs.limits import MAX_QUADRATURE

_LARGEST_TURN = 1.49  # Largest mu times shift: the checker allows 3/2. Heuristic.
_SHIFTS = 8  # Shifts tried for a tail. Heuristic.
_OWN_SHIFTS = (3.0, 2.1, 1.5, 1.0)  # Shifts tried for M itself: larger ones lose digits. Heuristic.
# Logs of how far below 1/count the error of M is, for M itself and for tails. Heuristic.
EXACT, _ROUGH = 30.0, 5.0
_LARGEST_LOSS = 600.0  # A loss whose exponential is representable as a float.

Mixture = SubsampledGaussianPair | OppositeGaussiansPair


@final
@dataclass(frozen=True, slots=True)
class ShiftedRule:
    """A trapezoid rule with nodes step * j + i shift for j = -left, ..., right."""

    shift: float
    step: float
    left: int
    right: int

    def witness(self) -> Json:
        """Return the rule in the certificate's JSON."""
        return {
            "shift": show_rational(Fraction(self.shift)),
            "step": show_rational(Fraction(self.step)),
            "left": self.left,
            "right": self.right,
        }

    def samples(self, pair: Mixture) -> tuple[Reals, Complexes]:
        """Return the weights' log sizes, and the term that grows with the power, at the nodes."""
        x = self.step * np.arange(-self.left, self.right + 1)
        log_weight = math.log(self.step / math.sqrt(2 * math.pi)) + 0.5 * self.shift**2
        above = self._log_ratio(pair, x, 1.0)
        if isinstance(pair, SubsampledGaussianPair):
            return log_weight - 0.5 * x * x, above
        return log_weight - 0.5 * x * x + above.real, above - self._log_ratio(pair, x, -1.0)

    def _log_ratio(self, pair: Mixture, x: Reals, sign: float) -> Complexes:
        """Return the log of 1-q + q e^{sign mu z - mu^2/2} at the nodes z = x + i shift."""
        mu, q = math.sqrt(pair.mu_squared), float(pair.sampling_rate)
        real = np.minimum(sign * mu * x - 0.5 * mu * mu, _LARGEST_LOSS)
        return np.asarray(np.log1p(q * np.expm1(real + 1j * sign * mu * self.shift)))


@final
@dataclass(frozen=True, slots=True)
class MixtureAtTilt:
    """A mixture at one abscissa, with the rules that compute and bound M.

    Attributes:
        pair: the pair.
        power: real part of the exponent: of 1 + u, c + 1 or -c; of opposite mixtures, c.
        centre: the integrand's centre, in mu right of 0.
        fall: the power of cos(mu shift) that the checker's bound is divided by.
        log_size: log of S over M(c), without the cosine.
        log_moment: log M(c).
        count: the number of times the pair occurs.
    """

    pair: Mixture
    power: float
    centre: float
    fall: float
    log_size: float
    log_moment: float
    count: int

    @staticmethod
    @lru_cache(maxsize=64)
    def at(pair: Mixture, c: float, count: int) -> MixtureAtTilt:
        """Return all that does not depend on the length of the contour."""
        mu2, q = float(pair.mu_squared), float(pair.sampling_rate)
        moment = float(pair.cgf(np.array([c + 0j])).value.real[0])
        lifted = -c * math.log1p(-q) - moment
        grown = float(np.logaddexp(0.0, math.log(q) + 0.5 * c * (c + 1) * mu2))
        if isinstance(pair, OppositeGaussiansPair):
            return MixtureAtTilt(pair, c, c + 1, c, lifted + grown, moment, count)
        if pair.removal:
            return MixtureAtTilt(pair, c + 1, c + 1, 0.0, grown - moment, moment, count)
        return MixtureAtTilt(pair, -c, 0.0, c, lifted, moment, count)

    def nodes(self, accuracy: float = EXACT) -> ShiftedRule:
        """Return the rule for M itself, with few nodes and an error far below 1/count.

        Raises:
            NotCertified: it takes more nodes than the checker does.
        """
        mu = math.sqrt(self.pair.mu_squared)
        limit = _LARGEST_TURN / mu
        rules = [self.rule(min(limit, shift), accuracy) for shift in _OWN_SHIFTS]
        rule = min(rules, key=lambda one: one.left + one.right)
        if max(rule.left, rule.right) > MAX_QUADRATURE:
            raise NotCertified(
                f"the proof integrates {pair_in_words(self.pair)} at "
                f"{max(rule.left, rule.right)} points, where the checker allows {MAX_QUADRATURE}; "
                f"{UNCERTIFIED}"
            )
        return rule

    def tails(self, y: float, longest: int) -> list[tuple[float, ShiftedRule]]:
        """Return logs of bounds of |M(c+iv)|/M(c) for v >= y, with rules of fewer nodes."""
        error = 2 * math.exp(-_ROUGH) / self.count
        return [
            (math.log(float(np.exp(still - y * turned).sum()) + error), rule)
            for rule, still, turned in _sampled(self, longest)
        ]

    def rule(self, shift: float, accuracy: float) -> ShiftedRule:
        """Return the rule with a shift and an accuracy."""
        b = rounded_short(shift)
        mu = math.sqrt(self.pair.mu_squared)
        lost = accuracy + math.log(self.count) + self.log_size + 2.0
        if self.fall:
            lost -= self.fall * math.log(math.cos(mu * b))
        step = rounded_short(2 * math.pi * b / (lost + 2 * b * b))
        reach = math.sqrt(2 * lost + b * b)
        right = reach + mu * self.centre
        return ShiftedRule(b, step, math.ceil(reach / step), math.ceil(right / step))


@lru_cache(maxsize=8)
def _sampled(mixture: MixtureAtTilt, longest: int) -> list[tuple[ShiftedRule, Reals, Reals]]:
    """Return rules for a tail with the logs of their terms over M, and how these fall with y."""
    found: list[tuple[ShiftedRule, Reals, Reals]] = []
    limit = _LARGEST_TURN / math.sqrt(mixture.pair.mu_squared)
    for shift in limit * np.geomspace(1e-3, 1.0, _SHIFTS):
        rule = mixture.rule(float(shift), _ROUGH)
        if rule.left + rule.right < longest:
            weights, growth = rule.samples(mixture.pair)
            still = weights + mixture.power * growth.real - mixture.log_moment
            found.append((rule, still, growth.imag))
    return found
