"""A fixed number of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arithmetic.enclosure import Reals, raised_up
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.law import LOG_ERROR, RunLaw

# Most runs: the error of the law's functions is tested up to here. Soundness depends on it.
_MOST_RUNS = 10**4


@final
@dataclass(frozen=True, slots=True, init=False)
class FixedRuns(RunLaw):
    """K = count: the worst law for privacy, as whoever loses always loses to the same number.

    Attributes:
        count: from 1 to 10^4.

    Example:
        >>> FixedRuns(count=7).mean
        7.0
    """

    count: int

    def __init__(self, *, count: int) -> None:
        """Keep the count."""
        number = arguments.count(count=count)
        if number > _MOST_RUNS:
            raise ParameterError("count", count, f"a whole number from 1 to {_MOST_RUNS}")
        object.__setattr__(self, "count", number)

    @property
    def mean(self) -> float:
        """Return the count."""
        return float(self.count)

    @property
    def largest(self) -> int | None:
        """Return the count."""
        return self.count

    @property
    def smallest(self) -> int:
        """Return the count."""
        return self.count

    @property
    def corner_is_worst(self) -> bool:
        """Return True: (n - 1) a / (1 - a) grows with a."""
        return True

    def describe(self) -> str:
        """Return the law in words and numbers."""
        return f"{self.count} runs"

    def pgf(self, z: Reals) -> Reals:
        """Return z^count."""
        return np.asarray(z**self.count)

    def derivative(self, z: Reals) -> Reals:
        """Return count z^(count - 1)."""
        return np.asarray(self.count * z ** (self.count - 1))

    def growth(self, z: Reals) -> Reals:
        """Return (count - 1) / z."""
        return np.asarray((self.count - 1) / np.maximum(z, 1e-300))

    def log_moment_up(self, exponent: float) -> float:
        """Return count times the exponent, rounded up."""
        return raised_up(self.count * exponent, LOG_ERROR) if exponent > 0.0 else 0.0

    def log_ratio_up(self, epsilon: float) -> float:
        """Return (count - 1) epsilon, rounded up."""
        if self.count == 1 or epsilon == 0.0:
            return 0.0
        return raised_up((self.count - 1) * epsilon, LOG_ERROR)

    def masses(self, largest: int) -> Reals:
        """Return mass 1 at the count and 0 elsewhere."""
        return np.asarray(np.arange(largest + 1) == self.count, dtype=float)
