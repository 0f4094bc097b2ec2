"""The truncated negative binomial law: at least one run, geometric tail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from accountant import arguments
from accountant.arguments import Number
from accountant.arithmetic.enclosure import Reals
from accountant.errors import ParameterError
from accountant.run_counts.law import RunLaw, masses_from_ratios

_LARGEST_EXPONENT = 600


@final
@dataclass(frozen=True, slots=True, init=False)
class TruncatedNegativeBinomial(RunLaw):
    """P(K = k) proportional to (1 - gamma)^k prod_{l<k} (l + eta)/(l + 1), k >= 1.

    eta = 1 is the geometric law, eta = 0 the logarithmic one; a smaller eta costs less and has
    a smaller mean for the same tail.

    Source: Papernot & Steinke (arXiv:2110.03620), Definition 1. With d = 1 - (1 - gamma) z the
        generating function is (d^-eta - 1)/(gamma^-eta - 1), for eta = 0 log d / log gamma, and
        its derivative mean (gamma/d)^(eta+1).

    Attributes:
        eta: exact, above -1; eta log(1/gamma) at most 600.
        gamma: exact, in [1e-9, 1).

    Example:
        >>> TruncatedNegativeBinomial(eta=1, gamma=0.125).mean
        8.0
    """

    eta: Fraction
    gamma: Fraction

    def __init__(self, *, eta: Number, gamma: Number) -> None:
        """Keep the exact parameters."""
        shape, tail = arguments.real(eta=eta), arguments.open_probability(gamma=gamma)
        if not tail >= Fraction(1, 10**9):
            raise ParameterError("gamma", gamma, "in [1e-9, 1)")
        if not shape > -1 or shape * Fraction(-math.log(tail)) > _LARGEST_EXPONENT:
            raise ParameterError(
                "eta", eta, f"above -1, and eta log(1/gamma) at most {_LARGEST_EXPONENT}"
            )
        object.__setattr__(self, "eta", shape)
        object.__setattr__(self, "gamma", tail)

    @property
    def mean(self) -> float:
        """(1 - gamma)/gamma times eta/(1 - gamma^eta), at eta = 0 times 1/log(1/gamma).

        Written with expm1, which keeps its digits where eta is close to 0.
        """
        odds = float((1 - self.gamma) / self.gamma)
        if self.eta == 0:
            return odds / -self._log_gamma()
        return odds * float(self.eta) / -math.expm1(float(self.eta) * self._log_gamma())

    def _log_gamma(self) -> float:
        return math.log(self.gamma) if self.gamma < 0.5 else math.log1p(float(self.gamma - 1))

    @property
    def largest(self) -> int | None:
        """None."""
        return None

    @property
    def corner_is_worst(self) -> bool:
        """(eta + 1)(1 - gamma) a / (gamma + (1 - gamma) a) grows with a."""
        return True

    def describe(self) -> str:
        """The law in words and numbers."""
        shape, tail = float(self.eta), float(self.gamma)
        return f"truncated negative binomial runs (eta {shape:g}, gamma {tail:g})"

    def _gap(self, z: Reals) -> Reals:
        """1 - (1 - gamma) z, from 1 - z, which is exact for z near 1."""
        return float(self.gamma) + float(1 - self.gamma) * (1.0 - z)

    def pgf(self, z: Reals) -> Reals:
        """Expm1 of the exponents, so that small z keeps its digits."""
        rest = float(1 - self.gamma)
        log_gap = np.where(z < 0.5, np.log1p(-rest * z), np.log(self._gap(z)))
        if self.eta == 0:
            return np.asarray(log_gap / self._log_gamma())
        eta = float(self.eta)
        return np.asarray(np.expm1(-eta * log_gap) / math.expm1(-eta * self._log_gamma()))

    def derivative(self, z: Reals) -> Reals:
        """Mean (gamma / (1 - (1 - gamma) z))^(eta + 1)."""
        return np.asarray(self.mean * (float(self.gamma) / self._gap(z)) ** float(self.eta + 1))

    def growth(self, z: Reals) -> Reals:
        """(eta + 1)(1 - gamma) / (1 - (1 - gamma) z)."""
        return np.asarray(float((self.eta + 1) * (1 - self.gamma)) / self._gap(z))

    def masses(self, largest: int) -> Reals:
        """By the ratio (1 - gamma)(k + eta)/(k + 1) of neighbours."""
        k = np.arange(1.0, largest)
        first = math.log(float(self.derivative(np.zeros(1))[0]))
        ratios = math.log1p(-float(self.gamma)) + np.log((k + float(self.eta)) / (k + 1.0))
        return masses_from_ratios(1, first, ratios)[: largest + 1]
