"""A binomial number of runs: every candidate of a list is tried or not, by a coin of its own."""

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

_MOST_TRIALS = 10**5


@final
@dataclass(frozen=True, slots=True, init=False)
class BinomialRuns(RunLaw):
    """K is binomial: no run at all with probability (1 - probability)^trials.

    Attributes:
        trials: from 1 to 10^5.
        probability: exact, in (0, 1).

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
        object.__setattr__(self, "trials", number)
        object.__setattr__(self, "probability", arguments.open_probability(probability=probability))

    @property
    def mean(self) -> float:
        """Trials times probability."""
        return float(self.trials * self.probability)

    @property
    def largest(self) -> int | None:
        """The number of trials."""
        return self.trials

    @property
    def corner_is_worst(self) -> bool:
        """(n - 1) p a / (1 - p a) grows with a."""
        return True

    def describe(self) -> str:
        """The law in words and numbers."""
        return f"binomial runs ({self.trials} trials of probability {float(self.probability):g})"

    def _gap(self, z: Reals) -> Reals:
        """1 - probability (1 - z)."""
        return float(1 - self.probability) + float(self.probability) * z

    def pgf(self, z: Reals) -> Reals:
        """(1 - probability (1 - z))^trials."""
        return np.asarray(self._gap(z) ** self.trials)

    def derivative(self, z: Reals) -> Reals:
        """Mean (1 - probability (1 - z))^(trials - 1)."""
        return np.asarray(self.mean * self._gap(z) ** (self.trials - 1))

    def growth(self, z: Reals) -> Reals:
        """(trials - 1) probability / (1 - probability (1 - z))."""
        return np.asarray((self.trials - 1) * float(self.probability) / self._gap(z))

    def masses(self, largest: int) -> Reals:
        """By the ratio (n - k) p / ((k + 1)(1 - p)) of neighbours."""
        k = np.arange(0.0, min(largest, self.trials))
        odds = math.log(self.probability / (1 - self.probability))
        first = self.trials * math.log1p(-float(self.probability))
        known = masses_from_ratios(0, first, odds + np.log((self.trials - k) / (k + 1.0)))
        return np.concatenate([known, np.zeros(largest + 1 - known.size)])
