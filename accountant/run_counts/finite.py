"""Any law of the number of runs with finitely many values, given by its probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from accountant import arguments
from accountant.arguments import Number
from accountant.arithmetic.enclosure import Reals
from accountant.errors import ParameterError
from accountant.run_counts.law import RunLaw

_MOST_VALUES = 1000


@final
@dataclass(frozen=True, slots=True, init=False)
class FiniteRuns(RunLaw):
    """P(K = k) is the k-th probability, k from 0 on.

    Attributes:
        probabilities: exact, at or above 0, sum exactly 1 (use Fractions), at most 1000 of
            them, and some run has to be possible.

    Example:
        >>> FiniteRuns(probabilities=(0, 0.5, 0.5)).mean
        1.5
    """

    probabilities: tuple[Fraction, ...]

    def __init__(self, *, probabilities: Sequence[Number]) -> None:
        """Keep the exact probabilities, without zeros at the end."""
        exact = [arguments.probability(probabilities=value) for value in probabilities]
        while exact and exact[-1] == 0:
            exact.pop()
        if sum(exact) != 1 or not 2 <= len(exact) <= _MOST_VALUES + 1:
            raise ParameterError(
                "probabilities",
                probabilities,
                f"at most {_MOST_VALUES + 1} numbers that sum to exactly 1, not all at 0 runs",
                "write them as Fractions",
            )
        object.__setattr__(self, "probabilities", tuple(exact))

    @property
    def mean(self) -> float:
        """Sum of k P(K = k)."""
        return float(sum(k * mass for k, mass in enumerate(self.probabilities)))

    @property
    def largest(self) -> int | None:
        """The last value of positive probability."""
        return len(self.probabilities) - 1

    @property
    def corner_is_worst(self) -> bool:
        """Not in general: a long run that is rare makes the ratio rise twice."""
        return False

    def describe(self) -> str:
        """The law in words and numbers."""
        return f"at most {self.largest} runs (mean {self.mean:g})"

    def _sum(self, z: Reals, order: int) -> Reals:
        """A derivative of the generating function, by Horner's rule: no term is negative."""
        total = np.zeros(np.shape(z))
        for k in range(len(self.probabilities) - 1, order - 1, -1):
            falling = float(self.probabilities[k]) * (1, k, k * (k - 1))[order]
            total = total * z + falling
        return total

    def pgf(self, z: Reals) -> Reals:
        """The polynomial."""
        return self._sum(z, 0)

    def derivative(self, z: Reals) -> Reals:
        """Its first derivative."""
        return self._sum(z, 1)

    def growth(self, z: Reals) -> Reals:
        """Second over first derivative."""
        return np.asarray(self._sum(z, 2) / np.maximum(self.derivative(z), 1e-300))

    def masses(self, largest: int) -> Reals:
        """As given."""
        known = np.array([float(mass) for mass in self.probabilities[: largest + 1]])
        return np.concatenate([known, np.zeros(largest + 1 - known.size)])
