"""The truncated negative binomial law: at least one run, geometric tail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals, log_exact, raised_up
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.law import (
    LEAST_PROBABILITY,
    LOG_ERROR,
    RunLaw,
    logistic_log_ratio_up,
    masses_from_ratios,
    only_one,
)

_LEAST_GAMMA = Fraction(1, 10**9)  # A smaller one raises.
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
        gamma: exact, in [1e-9, 1 - 1e-300]; or ``mean=``, above 1, from which it follows.

    Example:
        >>> TruncatedNegativeBinomial(eta=1, mean=8).gamma
        Fraction(1, 8)
    """

    eta: Fraction
    gamma: Fraction

    def __init__(
        self, *, eta: Number, gamma: Number | None = None, mean: Number | None = None
    ) -> None:
        """Keep the exact parameters."""
        shape = arguments.real(eta=eta)
        allowed = f"above -1, and eta log(1/gamma) at most {_LARGEST_EXPONENT}"
        if not shape > -1:
            raise ParameterError("eta", eta, allowed)
        only_one("gamma", gamma, mean)
        if gamma is None:
            gamma = _gamma(shape, arguments.positive(mean=mean))
        tail = arguments.open_probability(gamma=gamma)
        if not _LEAST_GAMMA <= tail <= 1 - LEAST_PROBABILITY:
            raise ParameterError("gamma", gamma, "in [1e-9, 1 - 1e-300]")
        if shape * Fraction(-log_exact(tail)) > _LARGEST_EXPONENT:
            raise ParameterError("eta", eta, allowed)
        object.__setattr__(self, "eta", shape)
        object.__setattr__(self, "gamma", tail)

    @property
    def mean(self) -> float:
        """Return (1 - gamma)/(gamma log(1/gamma)) times x/(1 - e^-x).

        Here x = eta log(1/gamma).
        """
        return _mean(self.eta, self.gamma)

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

    def third(self, z: Reals) -> Reals:
        """Return phi' (eta + 1)(eta + 2) ((1 - gamma)/d)^2."""
        rising = float((self.eta + 1) * (self.eta + 2))
        return np.asarray(self.derivative(z) * rising * (float(1 - self.gamma) / self._gap(z)) ** 2)

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


@lru_cache(maxsize=64)
def _mean(eta: Fraction, gamma: Fraction) -> float:
    """Return the mean, which every derivative asks for."""
    length = -log_exact(gamma)
    growth = float(_relative_growth(np.array(-float(eta) * length)))
    return float((1 - gamma) / gamma) / length / growth


def _gamma(eta: Fraction, mean: Fraction) -> Fraction:
    """Return a gamma whose law has this mean, or a larger one by at most 1e-9 of it."""
    if eta == 1 and 1 < mean <= 1 / _LEAST_GAMMA:
        return 1 / mean
    low = max(log_exact(_LEAST_GAMMA), -_LARGEST_EXPONENT / float(eta) if eta > 0 else -math.inf)

    def law_mean(log_gamma: float) -> float:
        return _mean(eta, Fraction(math.exp(log_gamma)))

    ends = low * (1 - 1e-12), -(2.0**-40)
    log_gamma = bisect(lambda one: law_mean(one) > mean, *ends, rounds=80)[0]
    if not mean > 1 or abs(Fraction(law_mean(log_gamma)) - mean) > mean / 10**9:
        raise ParameterError("mean", mean, "above 1, and that of a gamma in its range")
    return Fraction(math.exp(log_gamma))


def _relative_growth(x: Reals) -> Reals:
    """Return (e^x - 1)/x, and 1 at 0."""
    safe = np.where(np.abs(x) < _LINEAR, 1.0, x)
    return np.where(np.abs(x) < _LINEAR, 1.0, np.expm1(safe) / safe)
