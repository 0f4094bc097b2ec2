"""A Poisson number of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import Reals, log_exact, raised_up
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.law import (
    FARTHEST,
    LEAST_PROBABILITY,
    LOG_ERROR,
    RunLaw,
    masses_from_ratios,
)

# Largest rate: the error of the law's functions is tested up to here. Soundness depends on it.
_LARGEST_RATE = 10**4


@final
@dataclass(frozen=True, slots=True, init=False)
class PoissonRuns(RunLaw):
    """K is Poisson: there is no run with probability e^-rate.

    Source: Papernot & Steinke (arXiv:2110.03620), Section 3.4.

    Attributes:
        rate: exact, in [1e-300, 10^4]: the expected number of runs.

    Example:
        >>> PoissonRuns(rate=3).quantile(level=0.5)
        3
    """

    rate: Fraction

    def __init__(self, *, rate: Number) -> None:
        """Keep the exact rate."""
        exact = arguments.positive(rate=rate)
        if not LEAST_PROBABILITY <= exact <= _LARGEST_RATE:
            raise ParameterError("rate", rate, f"in [1e-300, {_LARGEST_RATE}]")
        object.__setattr__(self, "rate", exact)

    @property
    def mean(self) -> float:
        """Return the rate."""
        return float(self.rate)

    @property
    def largest(self) -> int | None:
        """Return None: the number of runs is unbounded."""
        return None

    @property
    def corner_is_worst(self) -> bool:
        """Return True: the growth is constant, and rate a grows with a."""
        return True

    def describe(self) -> str:
        """Return the law in words and numbers."""
        return f"Poisson runs (rate {float(self.rate):g})"

    def pgf(self, z: Reals) -> Reals:
        """Return e^(-rate (1 - z))."""
        return np.asarray(np.exp(-float(self.rate) * (1.0 - z)))

    def derivative(self, z: Reals) -> Reals:
        """Return rate times the generating function."""
        return np.asarray(float(self.rate) * self.pgf(z))

    def growth(self, z: Reals) -> Reals:
        """Return the rate."""
        return np.full(np.shape(z), float(self.rate))

    def log_moment_up(self, exponent: float) -> float:
        """Return rate (e^exponent - 1), rounded up."""
        if exponent > FARTHEST:
            return math.inf
        return raised_up(float(self.rate) * math.expm1(exponent), LOG_ERROR) if exponent else 0.0

    def log_ratio_within(self, variation: float) -> float:
        """Return rate times variation, as the growth is the rate."""
        return raised_up(float(self.rate) * variation, LOG_ERROR)

    def log_ratio_up(self, epsilon: float) -> float:
        """Return rate tanh(epsilon/2), rounded up."""
        return raised_up(float(self.rate) * math.tanh(0.5 * epsilon), LOG_ERROR) if epsilon else 0.0

    def masses(self, largest: int) -> Reals:
        """Return the masses by the ratio rate/(k + 1) of neighbours."""
        ratios = log_exact(self.rate) - np.log(np.arange(1.0, largest + 1.0))
        return masses_from_ratios(0, -float(self.rate), ratios)
