"""A law of the number of runs with finitely many values, given by its probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import Reals, raised_up
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.law import FARTHEST, RunLaw

_MOST_VALUES = 1000  # Most values, to bound the time; ``_SUM_ERROR`` covers sums of so many terms.
_CELLS = 4096  # Cells on which the largest ratio is bounded. Heuristic: each bound is valid.
# Stands for minus the log of 0, so that products with 0 are 0. Soundness depends on it.
_HUGE = 1e100
# Above the relative error of sums of a thousand non-negative terms and of their logs. Soundness
# depends on it.
_SUM_ERROR = 1e-13


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
    # With a large but rare number of runs the ratio can rise twice.
    corner_is_worst: ClassVar[bool] = False

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
        """Return the sum of k P(K = k)."""
        return float(sum(k * mass for k, mass in enumerate(self.probabilities)))

    @property
    def largest(self) -> int | None:
        """Return the largest value of positive probability."""
        return len(self.probabilities) - 1

    def describe(self) -> str:
        """Return the law in words and numbers."""
        return f"at most {self.largest} runs (mean {self.mean:g})"

    def _sum(self, z: Reals, order: int) -> Reals:
        """Return a derivative of the generating function by Horner's rule. No term is negative."""
        total = np.zeros(np.shape(z))
        for k in range(len(self.probabilities) - 1, order - 1, -1):
            falling = (
                float(self.probabilities[k]) * (1, k, k * (k - 1), k * (k - 1) * (k - 2))[order]
            )
            total = total * z + falling
        return total

    def pgf(self, z: Reals) -> Reals:
        """Return the generating function, a polynomial."""
        return self._sum(z, 0)

    def derivative(self, z: Reals) -> Reals:
        """Return the first derivative of the generating function."""
        return self._sum(z, 1)

    def third(self, z: Reals) -> Reals:
        """Return the third derivative of the generating function."""
        return self._sum(z, 3)

    def growth(self, z: Reals) -> Reals:
        """Return the second over the first derivative."""
        return np.asarray(self._sum(z, 2) / np.maximum(self.derivative(z), 1e-300))

    def log_moment_up(self, exponent: float) -> float:
        """Return log(1 + sum p_k (e^(k x) - 1)), rounded up, for large x by its largest term."""
        if exponent == 0.0:
            return 0.0
        k = np.arange(len(self.probabilities))
        masses, last = np.nextafter(self.masses(k.size - 1), np.inf), float(k[-1])
        if last * exponent <= FARTHEST:
            grown = float((masses * np.expm1(k * exponent)).sum())
            return raised_up(math.log1p(grown), _SUM_ERROR)
        terms = np.log(masses) + k * exponent
        size = last * exponent - float(np.log(masses).min())
        return min(
            float(np.logaddexp.reduce(terms)) + _SUM_ERROR * size,
            raised_up(last * exponent, _SUM_ERROR),
        )

    def log_ratio_up(self, epsilon: float) -> float:
        """Bound the ratio at the corner and on cells, as the corner need not be worst.

        The corner is tau = 1 - c = 1/(1 + e^epsilon). On tau = e^-epsilon c the ratio is largest
        there: z phi''(z)/phi'(z) is the mean of K - 1 under weights k p_k z^(k-1), which grows with
        z. On the other part, a = 1 - c and 1 - tau = e^epsilon a, cut into cells of a: phi' grows,
        so on a cell the ratio is at most phi' at the largest c over phi' at the least tau. For at
        most n runs phi'(tau) >= (tau/c)^(n-1) phi'(c), so n - 1 times epsilon is enough.
        """
        most = raised_up((len(self.probabilities) - 2) * epsilon, _SUM_ERROR)
        if len(self.probabilities) == 2 or epsilon == 0.0:
            return 0.0
        if epsilon > FARTHEST:
            return min(self._log_ratio(np.ones(1), np.zeros(1)), most)
        low = 1.0 / (1.0 + math.exp(epsilon))
        a = np.concatenate([[0.0], np.geomspace(low * 1e-9, low * (1 + 1e-12), _CELLS)])
        least = 1.0 - math.exp(epsilon) * a[1:] * (1 + 1e-12)
        least = np.clip(least, low * (1 - 1e-12), 1.0)
        high = np.array([1.0 / (1.0 + math.exp(-epsilon))])
        corner = self._log_ratio(high, np.array([low]))
        return min(max(corner, self._log_ratio(1.0 - a[:-1], least)), most)

    def _log_ratio(self, c: Reals, tau: Reals) -> float:
        """Return the largest log phi'(c)/phi'(tau) up, for c and tau within 1e-15, relative."""
        high = self._log_derivative(np.minimum(c * (1 + 1e-15), 1.0))
        low = self._log_derivative(tau * (1 - 1e-14))
        with np.errstate(invalid="ignore"):
            ratios = high - low + _SUM_ERROR * (16.0 + np.abs(high) + np.abs(low))
        return float(np.where(np.isinf(low), math.inf, ratios).max())

    def _log_derivative(self, z: Reals) -> Reals:
        """Return the log of the first derivative, -inf if that is 0."""
        masses = self.masses(len(self.probabilities) - 1)
        k = np.flatnonzero(masses[1:]) + 1
        with np.errstate(divide="ignore"):
            log_z = np.maximum(np.log(z), -_HUGE)
        terms = np.log(k * masses[k]) + np.multiply.outer(log_z, k - 1.0)
        log_sum = np.logaddexp.reduce(terms, axis=-1)
        return np.where(log_sum < -0.5 * _HUGE, -math.inf, log_sum)

    def masses(self, largest: int) -> Reals:
        """Return the probabilities as floats."""
        first = np.array([float(mass) for mass in self.probabilities[: largest + 1]])
        return np.concatenate([first, np.zeros(largest + 1 - first.size)])
