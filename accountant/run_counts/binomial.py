"""A binomial number of runs: each of a list of trials is a run with a fixed probability."""

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
    LEAST_PROBABILITY,
    LOG_ERROR,
    RunLaw,
    log_binary_moment_up,
    logistic_log_ratio_up,
    masses_from_ratios,
)

# Most trials: the error of the law's functions is tested up to here. Soundness depends on it.
_MOST_TRIALS = 10**5


@final
@dataclass(frozen=True, slots=True, init=False)
class BinomialRuns(RunLaw):
    """K is binomial: no run at all with probability (1 - probability)^trials.

    Attributes:
        trials: from 1 to 10^5.
        probability: exact, in (0, 1), at least 1e-300 away from both ends.

    Example:
        >>> BinomialRuns(trials=10, probability=0.5).mean
        5.0
    """

    trials: int
    probability: Fraction

    def __init__(self, *, trials: int, probability: Number) -> None:
        """Keep the exact parameters."""
        number = arguments.count(trials=trials)
        if number > _MOST_TRIALS:
            raise ParameterError("trials", trials, f"a whole number from 1 to {_MOST_TRIALS}")
        exact = arguments.open_probability(probability=probability)
        if not LEAST_PROBABILITY <= exact <= 1 - LEAST_PROBABILITY:
            raise ParameterError(
                "probability", probability, "at least 1e-300 away from 0 and from 1"
            )
        object.__setattr__(self, "trials", number)
        object.__setattr__(self, "probability", exact)

    @property
    def mean(self) -> float:
        """Return trials times probability."""
        return float(self.trials * self.probability)

    @property
    def largest(self) -> int | None:
        """Return the number of trials."""
        return self.trials

    @property
    def corner_is_worst(self) -> bool:
        """Return True: (n - 1) p a / (1 - p a) grows with a."""
        return True

    def describe(self) -> str:
        """Return the law in words and numbers."""
        return f"binomial runs ({self.trials} trials of probability {float(self.probability):g})"

    def _log_gap(self, z: Reals) -> Reals:
        """Return log(1 - probability (1 - z)), accurate also if that is close to 0."""
        missed = float(self.probability) * (1.0 - z)
        near = float(1 - self.probability) + float(self.probability) * z
        log: Reals = np.where(missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(near))
        return log

    def pgf(self, z: Reals) -> Reals:
        """Return (1 - probability (1 - z))^trials."""
        return np.asarray(np.exp(self.trials * self._log_gap(z)))

    def derivative(self, z: Reals) -> Reals:
        """Return mean (1 - probability (1 - z))^(trials - 1)."""
        return np.asarray(self.mean * np.exp((self.trials - 1) * self._log_gap(z)))

    def growth(self, z: Reals) -> Reals:
        """Return (trials - 1) probability / (1 - probability (1 - z))."""
        gap = float(1 - self.probability) + float(self.probability) * z
        return np.asarray((self.trials - 1) * float(self.probability) / gap)

    def log_moment_up(self, exponent: float) -> float:
        """Return trials times log(1 - probability + probability e^exponent), rounded up."""
        one = log_binary_moment_up(self.probability, exponent)
        return raised_up(self.trials * one, LOG_ERROR) if one else 0.0

    def log_ratio_within(self, variation: float) -> float:
        """Return the log ratio at tau = 0, as the growth falls."""
        odds = float(self.probability / (1 - self.probability))
        return raised_up((self.trials - 1) * math.log1p(odds * variation), LOG_ERROR)

    def log_ratio_up(self, epsilon: float) -> float:
        """Return (trials - 1) log((1 - p + e^epsilon)/(1 + (1 - p) e^epsilon)), rounded up."""
        if self.trials == 1 or epsilon == 0.0:
            return 0.0
        one = logistic_log_ratio_up(1 - self.probability, epsilon)
        return raised_up((self.trials - 1) * one, LOG_ERROR)

    def masses(self, largest: int) -> Reals:
        """Return the masses by the ratio (n - k) p / ((k + 1)(1 - p)) of neighbours."""
        k = np.arange(0.0, min(largest, self.trials))
        odds = log_exact(self.probability / (1 - self.probability))
        first = self.trials * log_exact(1 - self.probability)
        known = masses_from_ratios(0, first, odds + np.log((self.trials - k) / (k + 1.0)))
        return np.concatenate([known, np.zeros(largest + 1 - known.size)])
