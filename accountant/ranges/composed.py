"""Composed mechanisms of bounded range as one pair, whose profile is the value of the recursion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.crossing import invert
from dpproof.accountant.arithmetic.enclosure import Reals, from_swapped, log_down, log_up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import log_ends
from dpproof.accountant.pairs.symmetry import Reflected
from dpproof.accountant.ranges.recursion import ValueTable, value_table
from dpproof.accountant.subsampling.tabulated import TabulatedPair

_BITS = 30  # Significant bits of a range, so that points of its grid are floats.
_ROUNDING = 1e-13  # Above the relative rounding of interpolation. Soundness depends on it.
_LEAST = 1e-140  # Delta below which the recursion has no digits. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedRangePair(Reflected, TabulatedPair):
    """The pair whose profile is that of adaptively composed mechanisms of bounded range.

    At each epsilon it is the largest hockey-stick divergence that ``count`` adaptively chosen
    mechanisms of this range have. Proofs: proofs/theory/bounded_range.md.

    Attributes:
        length: of the range of each, exact, above 0, nats.
        count: how many, from 2.
        cells: of the recursion's grid for each range; 0 for as many as suit the count.
    """

    length: Fraction
    count: int
    cells: int = 0

    def swapped(self) -> ComposedRangePair:
        """Return the pair itself, which is symmetric."""
        return self

    @property
    def table(self) -> ValueTable:
        """Return the brackets of the recursion, which are cached."""
        return value_table(*short_floats(self.length), self.count, self.cells)

    @property
    def is_quick(self) -> bool:
        """Return True: the profile costs less than tables made of it."""
        return True

    @property
    def end(self) -> float:
        """Return the loss from which the recursion is level."""
        upper = self.table.upper
        return (upper.start + upper.value.size) * self.table.above.span

    @property
    def rest(self) -> float:
        """Return 0: no loss is infinite."""
        return 0.0

    @property
    def top(self) -> float:
        """Return the largest loss."""
        return float(self.length * self.count) * (1 + 2e-16)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by the recursion."""
        size = np.abs(epsilon)
        lower, upper = self._lower(size), self._upper(size)
        swapped = from_swapped(lower, upper, -size)
        left = epsilon < 0.0
        return np.where(left, swapped[0], lower), np.where(left, swapped[1], upper)

    def _upper(self, y: Reals) -> Reals:
        """Return chords between upper ends; past the largest loss nothing is left."""
        known, span = self.table.upper, self.table.above.span
        place = np.clip(np.floor(y / span), known.start, known.start + known.value.size - 1)
        place -= place * span > y
        place = np.maximum(place, known.start)
        at = (place - known.start).astype(np.intp)
        after = np.minimum(at + 1, known.value.size - 1)
        share = np.clip(np.expm1(y - place * span) / math.expm1(span), 0.0, 1.0)
        found = known.value[at] * (1.0 - share) + known.value[after] * share
        line = 1.0 - np.exp(np.minimum(y - known.start * span, 0.0)) * (1.0 - known.value[0])
        found = np.where(y < known.start * span, line, found) * (1.0 + _ROUNDING)
        return np.where(y >= self.top, 0.0, np.minimum(found, 1.0))

    def _lower(self, y: Reals) -> Reals:
        """Return chords of the value of one mechanism less, rounded down."""
        table = self.table
        y = np.maximum(y, table.upper.start * table.below.span)  # before it V is no smaller
        at = np.floor(y / table.below.span) - table.upper.start
        cell = table.left[np.clip(at, 0, table.left.size - 1).astype(np.intp)]
        return np.asarray(table.below.chords_below(table.before, y, cell) * (1.0 - _ROUNDING))

    def delta(self, epsilon: float) -> Bound:
        """Bracket delta at a real epsilon."""
        lower, upper = self.profile(np.array([epsilon]))
        return Bound(float(lower[0]), float(upper[0]))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon."""
        level = Bound.of(delta)
        ends = max(level.lower, _LEAST), max(level.upper, _LEAST)
        target = log_down(np.array(ends[0])).item(), log_up(np.array(ends[1])).item()
        size = min(self.top, 8.0 * float(self.length) * math.sqrt(self.count))
        found = invert(
            partial(log_ends, self, Bound.exactly(0.0)), target, 0.5 * size, 0.2 * size, self.top
        )
        return found if level.lower >= _LEAST else Bound(found.lower, self.top)


def short_floats(epsilon: Fraction) -> tuple[float, float]:
    """Return floats of few bits at or above, and at or below, a rational number above 0."""
    scale = _BITS - (epsilon.numerator.bit_length() - epsilon.denominator.bit_length())
    scaled = epsilon * Fraction(2) ** scale
    return math.ldexp(math.ceil(scaled), -scale), math.ldexp(math.floor(scaled), -scale)
