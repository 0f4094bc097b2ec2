"""The first of a random number of runs that reaches a threshold, for a product of pairs."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals, down, from_swapped, up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine import profile
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import MERGED, curve
from dpproof.accountant.selection.threshold import Rules, ceiling, floor, split_below
from dpproof.accountant.selection.threshold_lines import Rectangles
from dpproof.accountant.subsampling.tabulated import TabulatedPair

# Above the rounding of a line's value, relative to its terms. Soundness depends on it.
_ROUNDED = 1e-15
_TINY = 1e-300  # Costs that are taken for 0, or replace it in quotients. Heuristic.
_FARTHER = 4.0  # Multiple of a reached t up to which one is answered. Exceeding it raises.
_REACHED = 1e-6  # Share above what is reached at which no rectangle is split. Heuristic.


def epsilon_at(base: Product, runs: RunLaw, delta: Bound) -> Bound:
    """Bracket the smallest epsilon >= 0 at which the divergence is at most delta.

    Raises:
        NotCertified: the lines have no such epsilon, or a large one; tables may have.
    """

    def least(p: Reals, q: Reals) -> Reals:
        over = p - delta.upper
        value = (over - q) / np.maximum(q, _TINY) - _ROUNDED * (1.0 + p / np.maximum(q, _TINY))
        return np.where((q > 0.0) & (over > 0.0), value, -1.0)

    low = max(_rules(base, runs).best(least), 0.0)
    far = _FARTHER * (1.0 + low)

    def most(p: Reals, q: Reals) -> Reals:
        over = p - delta.lower
        value = (over - q) / np.maximum(q, _TINY) + _ROUNDED * (1.0 + p / np.maximum(q, _TINY))
        grown = over + far * np.maximum(-q, 0.0) * (1 + _ROUNDED)
        return np.where(q > _TINY, value, np.where(grown > 0.0, np.inf, -1.0))

    high = _rectangles(base, runs).worst(most, low * (1.0 + _REACHED))
    if not high < far - 1.0:
        raise NotCertified("lines do not resolve so small a delta; ask for a larger one")
    upper = up(math.log1p(high) * (1 + _ROUNDED))
    return Bound(min(max(down(math.log1p(low) * (1 - _ROUNDED)), 0.0), upper), upper)


def delta_at(base: Product, runs: RunLaw, epsilon: float) -> Bound:
    """Bracket the divergence at an epsilon from 0 to 600."""
    t = math.exp(epsilon)
    near, far = t * (1 - _ROUNDED), t * (1 + _ROUNDED)

    def least(p: Reals, q: Reals) -> Reals:
        return p - far * q - _ROUNDED * (p + t * np.abs(q))

    def most(p: Reals, q: Reals) -> Reals:
        return p - np.where(q > 0.0, near, far) * q + _ROUNDED * (p + t * np.abs(q))

    low = max(_rules(base, runs).best(least), 0.0)
    high = min(_rectangles(base, runs).worst(most, low * (1.0 + _REACHED)), 1.0)
    return Bound(min(low, high), high)


@lru_cache(maxsize=8)
def _rules(base: Product, runs: RunLaw) -> Rules:
    """Return the rules for a base, cached."""
    return Rules.of(split_below(base), runs)


@lru_cache(maxsize=8)
def _rectangles(base: Product, runs: RunLaw) -> Rectangles:
    """Return rectangles for a base, cached."""
    base_curve = curve(base)
    return Rectangles.cover(base_curve.above(*base_curve.size, every=MERGED), runs)


_THRESHOLDED_PAIR_TINY = 1e-115  # Delta at which a table ends. Heuristic.
# Largest loss, so that e^loss is representable as a float; beyond, the bound there is used.
_FARTHEST = 600.0
_NARROW = 1e-3  # Relative width from which tables are asked too. Heuristic.
_STEPS = 60  # Bisections of the table's end. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedPair(TabulatedPair):
    """The pair of the largest profile over all acceptance rules: proofs/theory/threshold.md."""

    base: Product
    runs: RunLaw

    lower_is_convex: ClassVar[bool] = True  # Profiles of rules, of both directions.

    def swapped(self) -> ThresholdedPair:
        """Return the selection from the swapped base."""
        return ThresholdedPair(base=self.base.swapped(), runs=self.runs)

    @property
    def gdp_bound(self) -> float:
        """Return the mu of all the runs released together; +inf if their number has no bound."""
        if self.runs.largest is None:
            return math.inf
        squares = self.base.added(lambda pair: pair.gdp_bound**2)
        return math.sqrt(squares * self.runs.largest) * (1 + 1e-14)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return upper ends by Theorems 1 and 2, below 0 swapped, and lower ends by rules."""
        t, rest = np.exp(epsilon), -np.expm1(epsilon)
        right = epsilon >= 0.0
        upper = np.empty(epsilon.shape)
        upper[right] = self.upper(epsilon[right])
        swapped = self.swapped().upper(-epsilon[~right])
        upper[~right] = from_swapped(swapped, swapped, epsilon[~right])[1]
        ahead = floor(self.base, self.runs).lower(epsilon)
        behind = rest + t * floor(self.base.swapped(), self.runs).lower(-epsilon)
        lower = np.maximum(ahead, behind - 4e-16 * (1.0 + t)) * (1 - 1e-14)
        return np.minimum(np.maximum(lower, 0.0), upper), upper

    def delta(self, epsilon: float) -> Bound:
        """Bracket delta of one selection, at any real epsilon; by the profile where lines blur."""
        bracket = Bound(0.0, 1.0)
        if 0.0 <= epsilon <= _FARTHEST:
            bracket = delta_at(self.base, self.runs, epsilon)
        if bracket.relative_width <= _NARROW:
            return bracket
        lower, upper = self.profile(np.array([epsilon]))
        return bracket.meet(Bound(float(lower[0]), float(upper[0])))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon of one selection, for delta in [0, 1); by tables where lines blur."""
        bracket = Bound(0.0, math.inf)
        with contextlib.suppress(NotCertified):
            bracket = epsilon_at(self.base, self.runs, Bound.of(delta))
        if bracket.relative_width <= _NARROW:
            return bracket
        return bracket.meet(profile.epsilon(Product.of(self), delta))

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends at epsilons at or above 0, constant from 600 on."""
        return ceiling(self.base, self.runs).upper(np.minimum(epsilon, _FARTHEST))

    @property
    def end(self) -> float:
        """Return a loss at which the upper end is 1e-115, or near its value at e^600, or 0."""
        far = float(self.upper(np.array([_FARTHEST]))[0])
        least = max(far * (1 + 1e-3), _THRESHOLDED_PAIR_TINY) if far else 0.0

        def above(loss: float) -> bool:
            return not float(self.upper(np.array([loss]))[0]) <= least

        return bisect(above, 0.0, _FARTHEST, rounds=_STEPS, near=1e-6)[1]

    @property
    def rest(self) -> float:
        """Return at most the infinite mass: all may be accepted, which releases one run."""
        some = 1.0 - self.runs.probability_of_none * (1 + LAW_ERROR)
        return some * infinite_mass(self.base.below()).lower * (1 - 1e-12)
