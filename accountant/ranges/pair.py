"""The pair of one mechanism of bounded range, whose powers are less than products of it."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.logistic import LogisticPair, LogisticShift
from dpproof.accountant.pairs.pair import Pair, Power
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.ranges.composed import ComposedRangePair
from dpproof.accountant.ranges.recursion import MOST
from dpproof.accountant.subsampling.subsampled import SubsampledPair

_GROUP = 256  # Mechanisms of one recursion where there are too many for one. Heuristic.
_TYPICAL = math.log(1e6)  # For which delta the adversary with one loss is chosen. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRangePair(LogisticShift):
    """The logistic pair as the worst case of one mechanism of bounded range.

    In a product it says more than that the logistic pair dominates: so many parts, wherever they
    stand, and chosen after what ran before, have this range each. Their composition is
    dominated by the value of a recursion, which is less than the product of logistic pairs.
    Proofs: proofs/theory/bounded_range.md, sections 2 and 5.
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
            found: list[Power] = [(self._composed(size).above(whole), whole)]
            if rest > 1:
                found.append((self._composed(rest).above(1), 1))
            return found + [(self, 1)] * (rest == 1)
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
        """Return one pair with two losses at most epsilon apart, chosen for so many of it.

        Heuristic: where they lie is best for one Rényi divergence. There is none if floats cannot
        tell the losses apart.
        """
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
