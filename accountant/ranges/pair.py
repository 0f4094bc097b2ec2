"""The pair of one mechanism of bounded range, whose powers are less than products of it."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar, final

import numpy as np

from dpproof.accountant.arithmetic.crossing import invert
from dpproof.accountant.arithmetic.enclosure import Reals, from_swapped, log_down, log_up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import log_ends
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import LogisticPair, LogisticShift
from dpproof.accountant.pairs.pair import Pair, Power, Reflected
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.ranges.recursion import MOST, ValueTable, value_table
from dpproof.accountant.subsampling.subsampled import SubsampledPair
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
    """

    length: Fraction  # of the range of each, exact, above 0, nats
    count: int  # the number, from 2
    cells: int = 0  # of the recursion's grid for each range; 0 for as many as suit the count
    is_quick: ClassVar[bool] = True  # It costs less than tables made of it.

    def swapped(self) -> ComposedRangePair:
        """Return the pair itself, which is symmetric."""
        return self

    @property
    def table(self) -> ValueTable:
        """Return the brackets of the recursion, which are cached."""
        return value_table(*short_floats(self.length), self.count, self.cells)

    @property
    def end(self) -> float:
        """Return the loss from which the recursion is level."""
        upper = self.table.upper
        return (upper.start + upper.value.size) * self.table.above.span

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
        table, span = self.table.upper, self.table.above.span
        place = np.clip(np.floor(y / span), table.start, table.start + table.value.size - 1)
        place -= place * span > y
        place = np.maximum(place, table.start)
        at = (place - table.start).astype(np.intp)
        after = np.minimum(at + 1, table.value.size - 1)
        share = np.clip(np.expm1(y - place * span) / math.expm1(span), 0.0, 1.0)
        value = table.value[at] * (1.0 - share) + table.value[after] * share
        line = 1.0 - np.exp(np.minimum(y - table.start * span, 0.0)) * (1.0 - table.value[0])
        value = np.where(y < table.start * span, line, value) * (1.0 + _ROUNDING)
        return np.where(y >= self.top, 0.0, np.minimum(value, 1.0))

    def _lower(self, y: Reals) -> Reals:
        """Return chords of the value of one mechanism less, rounded down."""
        table = self.table
        y = np.maximum(y, table.upper.start * table.below.span)  # before it V is no smaller
        at = np.floor(y / table.below.span) - table.upper.start
        cell = table.left[np.clip(at, 0, table.left.size - 1).astype(np.intp)]
        return np.asarray(table.below.chords_below(table.before, y, cell) * (1.0 - _ROUNDING))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon."""
        level = Bound.of(delta)
        ends = max(level.lower, _LEAST), max(level.upper, _LEAST)
        target = log_down(np.array(ends[0])).item(), log_up(np.array(ends[1])).item()
        size = min(self.top, 8.0 * float(self.length) * math.sqrt(self.count))
        bracket = invert(
            partial(log_ends, self, Bound.exactly(0.0)), target, 0.5 * size, 0.2 * size, self.top
        )
        return bracket if level.lower >= _LEAST else Bound(bracket.lower, self.top)


def short_floats(epsilon: Fraction) -> tuple[float, float]:
    """Return floats of few bits at or above, and at or below, a rational number above 0."""
    scale = _BITS - (epsilon.numerator.bit_length() - epsilon.denominator.bit_length())
    scaled = epsilon * Fraction(2) ** scale
    return math.ldexp(math.ceil(scaled), -scale), math.ldexp(math.floor(scaled), -scale)


_GROUP = 256  # Mechanisms of one recursion where there are too many for one. Heuristic.
_TYPICAL = math.log(1e6)  # For which delta the adversary with one loss is chosen. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRangePair(LogisticShift):
    """The logistic pair as the worst case of one mechanism of bounded range.

    In a product it says more than that the logistic pair dominates: their composition, adaptive too, is
    dominated by the value of a recursion, which is less than the product of logistic pairs. Proofs:
    proofs/theory/bounded_range.md, sections 2 and 5.
    """

    @property
    def zcdp_bound(self) -> float:
        """Return epsilon^2 / 8, rounded up."""
        return 0.125 * float(self.epsilon) ** 2 * (1 + 1e-15)

    @property
    def adapts(self) -> bool:
        """Return True: the worst case depends on what other parts showed."""
        return True

    def powers_above(self, count: int) -> list[Power]:
        """Return the value of the recursion, or a product of it, or of logistic pairs."""
        if count == 1:
            return [(self, 1)]
        size = count if count <= MOST else _GROUP
        whole, rest = divmod(count, size)
        with contextlib.suppress(NotCertified):  # the logistic pairs are above as well
            powers: list[Power] = [(self._composed(size).above(whole), whole)]
            if rest > 1:
                powers.append((self._composed(rest).above(1), 1))
            return powers + [(self, 1)] * (rest == 1)
        return [(self, count)]

    def powers_below(self, count: int, *, adapts: bool) -> list[Power]:
        """Return the value of the recursion, or the same two losses again and again."""
        if adapts and count == 1:
            return [(self, 1)]
        if adapts and count <= MOST:
            with contextlib.suppress(NotCertified):  # repeated losses are below as well
                return [(self._composed(count).below(1), 1)]
        return [(pair, count) for pair in self._repeated(count)]

    def composed(self, count: int) -> ComposedRangePair | None:
        """Return the value of the recursion as a pair, None if it is out of reach."""
        if not 2 <= count <= MOST:
            return None
        pair = self._composed(count)
        with contextlib.suppress(NotCertified):  # sums over pairs above and below are left
            pair.table.above  # noqa: B018  # made once, or refused
            return pair
        return None

    def _composed(self, count: int) -> ComposedRangePair:
        """Return the pair of so many mechanisms."""
        return ComposedRangePair(length=self.epsilon, count=count)

    def _repeated(self, count: int) -> list[Pair]:
        """Return one pair of two losses at most epsilon apart, best for one order, or none."""
        epsilon = float(self.epsilon)
        less = math.sqrt(_TYPICAL / (count * max(epsilon * epsilon / 8, 1e-300)))  # order minus 1
        less = min(max(less, 1e-3 / epsilon), 300.0 / epsilon)
        top = -math.expm1(-(less + 1.0) * epsilon) / -math.expm1(-less * epsilon)
        p = -math.expm1(math.log(less / (less + 1.0) * top)) / -math.expm1(-epsilon)
        ratio = Fraction(math.exp(-epsilon) * (1 + 4e-16))  # at or above e^-epsilon
        if not (0.0 < p < 1.0 and 0 < ratio < 1):
            return []
        kept = Fraction(p)
        odds = kept / (1 - kept) * ratio
        return [FinitePair(p=(kept, 1 - kept), q=(odds / (1 + odds), 1 / (1 + odds)))]


def composed_alone(product: Product) -> ComposedRangePair | None:
    """Return composed mechanisms of one range as one pair, if a product is that."""
    if len(product.factors) != 1 or not isinstance(product.factors[0].pair, BoundedRangePair):
        return None
    return product.factors[0].pair.composed(product.factors[0].count)


def has_worst_case(product: Product) -> bool:
    """Return whether adaptive mechanisms of one range attain each point of a product's profile."""
    counts = [count for _, count in ranges_apart(product)[0]]
    return len(product.factors) == len(counts) == 1 and counts[0] <= MOST


def ranges_apart(product: Product) -> tuple[list[tuple[Fraction, int]], Product]:
    """Return lengths and counts of the bounded ranges of a product, and its other factors."""
    ranges = [
        (f.pair.epsilon, f.count) for f in product.factors if isinstance(f.pair, BoundedRangePair)
    ]
    rest = Product(tuple(f for f in product.factors if not isinstance(f.pair, BoundedRangePair)))
    return ranges, rest


def composes_ranges(product: Product) -> bool:
    """Return whether a product, or one that is sampled, says more of ranges than its pairs do."""
    if any(
        isinstance(f.pair, SubsampledPair) and composes_ranges(f.pair.base) for f in product.factors
    ):
        return True
    return len(ranges_apart(product)[0]) > 0 and sum(f.count for f in product.factors) > 1


def as_logistic(product: Product) -> Product:
    """Return what dominates a product where bounded ranges are taken for logistic pairs."""
    return Product.merge([Factor(_plain(f.pair), f.count) for f in product.factors])


def _plain(pair: Pair) -> Pair:
    """Return a pair with the logistic pair in the place of that of a bounded range."""
    if isinstance(pair, SubsampledPair):
        return replace(pair, base=as_logistic(pair.base))
    return LogisticPair(epsilon=pair.epsilon) if isinstance(pair, BoundedRangePair) else pair
