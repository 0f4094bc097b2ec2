"""The truncated negative binomial law: at least one run, geometric tail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import Reals, log_exact, raised_up
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.law import (
    LEAST_PROBABILITY,
    LOG_ERROR,
    RunLaw,
    logistic_log_ratio_up,
    masses_from_ratios,
)

# Largest eta log(1/gamma), so that gamma^-eta is representable as a float. Larger ones raise.
_LARGEST_EXPONENT = 600
# For smaller |x| the quotient (e^x - 1)/x is 1 to within x/2. Error bounds depend on it.
_LINEAR = 1e-20


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
        gamma: exact, in [1e-9, 1 - 1e-300].

    Example:
        >>> TruncatedNegativeBinomial(eta=1, gamma=0.125).mean
        8.0
    """

    eta: Fraction
    gamma: Fraction

    def __init__(self, *, eta: Number, gamma: Number) -> None:
        """Keep the exact parameters."""
        shape, tail = arguments.real(eta=eta), arguments.open_probability(gamma=gamma)
        if not Fraction(1, 10**9) <= tail <= 1 - LEAST_PROBABILITY:
            raise ParameterError("gamma", gamma, "in [1e-9, 1 - 1e-300]")
        if not shape > -1 or shape * Fraction(-log_exact(tail)) > _LARGEST_EXPONENT:
            raise ParameterError(
                "eta", eta, f"above -1, and eta log(1/gamma) at most {_LARGEST_EXPONENT}"
            )
        object.__setattr__(self, "eta", shape)
        object.__setattr__(self, "gamma", tail)

    @property
    def mean(self) -> float:
        """Return (1 - gamma)/(gamma log(1/gamma)) times x/(1 - e^-x).

        Here x = eta log(1/gamma).
        """
        length = -log_exact(self.gamma)
        growth = float(_relative_growth(np.array(-float(self.eta) * length)))
        return float((1 - self.gamma) / self.gamma) / length / growth

    @property
    def largest(self) -> int | None:
        """Return None: the number of runs is unbounded."""
        return None

    @property
    def corner_is_worst(self) -> bool:
        """Return True: (eta + 1)(1 - gamma) a / (gamma + (1 - gamma) a) grows with a."""
        return True

    def describe(self) -> str:
        """Return the law in words and numbers."""
        shape, tail = float(self.eta), float(self.gamma)
        return f"truncated negative binomial runs (eta {shape:g}, gamma {tail:g})"

    def _gap(self, z: Reals) -> Reals:
        """Return d = 1 - (1 - gamma) z, computed from 1 - z, which is exact for z near 1."""
        return float(self.gamma) + float(1 - self.gamma) * (1.0 - z)

    def pgf(self, z: Reals) -> Reals:
        """Return (e^(eta l) - 1)/(gamma^-eta - 1), l = -log d, accurate for d near 1."""
        kept = float(1 - self.gamma) * z
        gap = np.where(kept < 0.5, -np.log1p(-np.minimum(kept, 0.5)), -np.log(self._gap(z)))
        length, eta = -log_exact(self.gamma), float(self.eta)
        growth = _relative_growth(eta * gap) / _relative_growth(np.array(eta * length))
        return np.asarray(gap / length * growth)

    def derivative(self, z: Reals) -> Reals:
        """Return mean (gamma/d)^(eta + 1).

        The log of d/gamma is computed by log1p, as eta may be large.
        """
        exponent = np.log1p(float((1 - self.gamma) / self.gamma) * (1.0 - z))
        return np.asarray(self.mean * np.exp(-float(self.eta + 1) * exponent))

    def growth(self, z: Reals) -> Reals:
        """Return (eta + 1)(1 - gamma) / (1 - (1 - gamma) z)."""
        return np.asarray(float((self.eta + 1) * (1 - self.gamma)) / self._gap(z))

    def log_moment_up(self, exponent: float) -> float:
        """Return infinity for an exponent above 0: the tail is geometric."""
        return math.inf if exponent > 0.0 else 0.0

    def log_ratio_within(self, variation: float) -> float:
        """Return the log ratio at c = 1, as the growth rises."""
        return raised_up(
            float(1 + self.eta) * math.log1p(float(1 / self.gamma - 1) * variation), LOG_ERROR
        )

    def log_ratio_up(self, epsilon: float) -> float:
        """Return (1 + eta) log((gamma + e^epsilon)/(1 + gamma e^epsilon)), rounded up."""
        one = logistic_log_ratio_up(self.gamma, epsilon)
        return raised_up(float(1 + self.eta) * one, LOG_ERROR) if epsilon > 0.0 else 0.0

    def masses(self, largest: int) -> Reals:
        """Return the masses by the ratio (1 - gamma)(k + eta)/(k + 1) of neighbours."""
        k = np.arange(1.0, largest)
        first = math.log(float(self.derivative(np.zeros(1))[0]))
        ratios = log_exact(1 - self.gamma) + np.log(((k - 1.0) + float(self.eta + 1)) / (k + 1.0))
        return masses_from_ratios(1, first, ratios)[: largest + 1]

    def least_shape(self, curve: Mapping[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        """Minimise (1 - 1/b) R(b) + log(1/gamma)/b over the orders b of a curve R.

        It returns the minimum and its b.

        The log is rounded up, the rest exact. Papernot & Steinke (arXiv:2110.03620), Theorem 2.
        """
        tail = Fraction(raised_up(-log_exact(self.gamma), LOG_ERROR))
        return min(((1 - 1 / b) * value + tail / b, b) for b, value in curve.items())


def _relative_growth(x: Reals) -> Reals:
    """Return (e^x - 1)/x, and 1 at 0."""
    safe = np.where(np.abs(x) < _LINEAR, 1.0, x)
    return np.where(np.abs(x) < _LINEAR, 1.0, np.expm1(safe) / safe)
