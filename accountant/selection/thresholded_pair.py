"""The first run of a random number of runs that reaches a threshold, of a product of pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from accountant.arithmetic.enclosure import Reals
from accountant.engine.profile import infinite_mass
from accountant.pairs.product import Product
from accountant.run_counts.law import LAW_ERROR, RunLaw
from accountant.selection.threshold import ceiling, floor
from accountant.subsampling.tabulated import TabulatedPair

_TINY = 1e-115
_FARTHEST = 600.0  # e^loss has to stay a float
_STEPS = 60


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedPair(TabulatedPair):
    """The pair whose profile is the largest over all acceptance rules.

    Proof: proofs/theory/threshold.md.

    Attributes:
        base: one run, in this direction.
        runs: the law of the largest number of runs.
    """

    base: Product
    runs: RunLaw

    def swapped(self) -> ThresholdedPair:
        """The base swapped."""
        return ThresholdedPair(base=self.base.swapped(), runs=self.runs)

    @property
    def zcdp_bound(self) -> float:
        """None is known."""
        return math.inf

    @property
    def gdp_bound(self) -> float:
        """That of all the runs released together; +inf when their number has no bound."""
        if self.runs.largest is None:
            return math.inf
        squares = sum(f.count * f.pair.gdp_bound**2 for f in self.base.factors)
        return math.sqrt(squares * self.runs.largest) * (1 + 1e-14)

    @property
    def lower_is_convex(self) -> bool:
        """They are the profiles of rules, of both directions."""
        return True

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Above by Theorem 1, below 0 from the swapped pair; below by rules written down."""
        t, rest = np.exp(epsilon), -np.expm1(epsilon)
        right = epsilon >= 0.0
        upper = np.empty(epsilon.shape)
        upper[right] = self.upper(epsilon[right])
        mirrored = self.swapped().upper(-epsilon[~right])
        upper[~right] = np.minimum((rest[~right] + t[~right] * mirrored) * (1 + 1e-14), 1.0)
        ahead = floor(self.base, self.runs).lower(epsilon)
        behind = rest + t * floor(self.base.swapped(), self.runs).lower(-epsilon)
        lower = np.maximum(ahead, behind - 4e-16 * (1.0 + t)) * (1 - 1e-14)
        return np.minimum(np.maximum(lower, 0.0), upper), upper

    def upper(self, epsilon: Reals) -> Reals:
        """At epsilons at or above 0; far out it no longer falls."""
        return ceiling(self.base, self.runs).upper(np.minimum(epsilon, _FARTHEST))

    @property
    def end(self) -> float:
        """Where the upper end is 1e-115, about what it is at e^600, or 0 if it gets there."""
        far = float(self.upper(np.array([_FARTHEST]))[0])
        least = max(far * (1 + 1e-3), _TINY) if far else 0.0
        low, high = 0.0, _FARTHEST
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            small = float(self.upper(np.array([middle]))[0]) <= least
            low, high = (low, middle) if small else (middle, high)
            if high - low <= 1e-6 * high:
                break
        return high

    @property
    def rest(self) -> float:
        """When everything is accepted one run is released, unless there is none."""
        some = 1.0 - self.runs.probability_of_none * (1 + LAW_ERROR)
        return some * infinite_mass(self.base.below()).lower * (1 - 1e-12)
