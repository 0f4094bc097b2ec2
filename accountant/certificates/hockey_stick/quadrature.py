"""Witnesses for M of a subsampled Gaussian: two trapezoid rules on shifted lines.

With b = shift and h = step, the checker bounds what the rule misses by
2 e^{2 b^2} B / (e^{2 pi b/h} - 1) plus tails, B a bound of E|1+u|^a: see
proofs/theory/subsampled_gaussian.md.
Nothing here is trusted: a poor rule makes a certificate that is rejected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from accountant.arithmetic.enclosure import Complexes, Reals, short
from accountant.errors import NotCertified
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.certificate import Json, show_rational

_LARGEST_TURN = 1.49  # mu times shift: the checker allows 3/2
_SHIFTS = 8
_MAX_NODES, _LONGEST = 8_000, 1 << 14
EXACT, _ROUGH = 30.0, 5.0  # log of how far below 1/count the error of M is to be


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """Nodes step * j + i shift for j = -left, ..., right."""

    shift: float
    step: float
    left: int
    right: int

    def witness(self) -> Json:
        """The rule in the certificate's JSON."""
        return {
            "shift": show_rational(Fraction(self.shift)),
            "step": show_rational(Fraction(self.step)),
            "left": self.left,
            "right": self.right,
        }

    def samples(self, pair: SubsampledGaussianPair) -> tuple[Reals, Complexes]:
        """Logs of the weights' absolute values, and log(1 + u), at the nodes."""
        mu, q = math.sqrt(pair.mu_squared), float(pair.sampling_rate)
        x = self.step * np.arange(-self.left, self.right + 1)
        loss = np.minimum(mu * x - 0.5 * mu * mu, 600.0) + 1j * mu * self.shift
        log_weight = math.log(self.step / math.sqrt(2 * math.pi)) + 0.5 * self.shift**2
        return log_weight - 0.5 * x * x, np.log1p(q * np.expm1(loss))


@final
@dataclass(frozen=True, slots=True)
class Sampled:
    """A subsampled Gaussian at one abscissa, with the rules to compute and to bound M.

    Attributes:
        pair: the pair.
        power: real part of the exponent of 1 + u, c + 1 or -c.
        log_size: log of B over M(c).
        log_moment: log M(c).
        count: how often the pair occurs.
    """

    pair: SubsampledGaussianPair
    power: float
    log_size: float
    log_moment: float
    count: int

    @staticmethod
    def at(pair: SubsampledGaussianPair, c: float, count: int) -> Sampled:
        """Everything that does not depend on where the contour is cut."""
        mu2, q = float(pair.mu_squared), float(pair.sampling_rate)
        moment = float(pair.cgf(np.array([c + 0j])).value.real[0])
        if pair.removal:
            raised = math.log(q) + 0.5 * c * (c + 1) * mu2
            return Sampled(pair, c + 1, float(np.logaddexp(0.0, raised)) - moment, moment, count)
        return Sampled(pair, -c, -c * math.log1p(-q) - moment, moment, count)

    def nodes(self, accuracy: float = EXACT) -> Rule:
        """The rule for M itself: few nodes, error far below 1/count.

        Raises:
            NotCertified: it takes more nodes than the checker does.
        """
        limit = _LARGEST_TURN / math.sqrt(self.pair.mu_squared)
        rule = self._rule(min(limit, math.sqrt(0.5 * accuracy) + 1.0), accuracy)
        if max(rule.left, rule.right) > _LONGEST:
            raise NotCertified(
                f"M of a subsampled Gaussian at order {self.power:.6g} takes {rule.left} nodes, "
                f"where the checker allows {_LONGEST}; ask at a larger delta, or at a smaller "
                "epsilon or order"
            )
        return rule

    def tails(self, y: float) -> list[tuple[float, Rule]]:
        """Logs of bounds of |M(c+iv)|/M(c) for v >= y, with their rules."""
        limit = _LARGEST_TURN / math.sqrt(self.pair.mu_squared)
        found = []
        for shift in limit * np.geomspace(1e-3, 1.0, _SHIFTS):
            rule = self._rule(float(shift), _ROUGH)
            if rule.left + rule.right < _MAX_NODES:
                weights, growth = rule.samples(self.pair)
                exponent = weights + self.power * growth.real - y * growth.imag
                bound = float(np.exp(exponent - self.log_moment).sum())
                error = math.exp(-_ROUGH) / self.count
                found.append((math.log(bound + 2 * error), rule))
        return found

    def _rule(self, shift: float, accuracy: float) -> Rule:
        b = short(shift)
        mu = math.sqrt(self.pair.mu_squared)
        lost = accuracy + math.log(self.count) + self.log_size + 2.0
        if not self.pair.removal:
            lost -= max(-self.power, 0.0) * math.log(math.cos(mu * b))
        step = short(2 * math.pi * b / (lost + 2 * b * b))
        reach = math.sqrt(2 * lost + b * b)
        right = reach + mu * max(self.power, 0.0)
        return Rule(b, step, math.ceil(reach / step), math.ceil(right / step))
