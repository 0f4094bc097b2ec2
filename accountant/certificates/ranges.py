"""Write the step that counts composed mechanisms of bounded range together.

Heuristic: all constants; the checker repeats the recursion on the grid that is chosen here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import Object
from dpproof.accountant.certificates.hockey_stick.choose import Point
from dpproof.accountant.certificates.selection.base_profile import Substitutes, with_logistic
from dpproof.accountant.certificates.selection.finite_base import Aim, pair_of_bounds
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.ranges.pair import ComposedRangePair
from dpproof.proofs import limits

_SAME = ("post-process", "map-records", "restrict/relation")  # theorems that keep the pair
_COMPOSED = ("compose/pair", "repeat/pair")
_RANGE = "dominate/bounded-range"
_MOST = 256  # Mechanisms of one recursion.
_LEAST, _LARGEST = Fraction(1, 1 << 16), Fraction(32)  # Ranges that are counted together.
_WORK = 2_700_000  # Of the checker's recursion: a second or two.
_FARTHEST = 600.0  # Largest loss of a finite pair, nats.
_COARSEST, _FINEST = 12, 128  # Cells per range.
_LEVEL = 8  # Bits of the tail below which a value counts as level.
_GUARD = 72  # Bits of a value below that.
_CURVED = 16  # Squares of ranges for a bit by which a profile next to 1 bends less.
_COUNT = 600  # Ratios of a finite pair.
_TAIL = 1e-5  # Share of delta that the pairs may count as infinite.


@final
@dataclass(frozen=True, slots=True)
class RangeParts:
    """A composition as bounded ranges and pairs, each so many times.

    Attributes:
        root: the derivation of the composition.
        parts: the number of runs of each part.
        aim: the purpose of the finite pairs.
    """

    root: Derivation
    parts: tuple[tuple[Derivation, int], ...]
    aim: Aim

    def written(
        self, places: list[int], substitutes: Substitutes
    ) -> tuple[Product, Product, Object]:
        """Return both directions of the conclusion, and the witness.

        Args:
            places: where the parts are proved.
            substitutes: of pairs inside the parts.
        """
        ordered = [part for _, part in sorted(zip(places, self.parts, strict=True), key=_place)]
        lengths: dict[Fraction, int] = {}
        ahead: list[Factor] = []
        behind: list[Factor] = []
        for part, count in ordered:
            conclusion = part.conclusion
            if isinstance(conclusion, BoundedRange):
                lengths[conclusion.stated_epsilon] = (
                    lengths.get(conclusion.stated_epsilon, 0) + count
                )
            elif isinstance(conclusion, DominatingPair):
                used = with_logistic(substitutes.of(conclusion))
                ahead += used.forward.times(count).factors
                behind += used.backward.times(count).factors
        parts = [self.above(length, count) for length, count in lengths.items()]
        heads = [head for head, _ in parts]
        witness: Object = {
            "counts": [count for _, count in ordered],
            "grids": [grid for _, grid in parts],
        }
        return Product.merge([*heads, *ahead]), Product.merge([*heads, *behind]), witness

    def above(self, length: Fraction, count: int) -> tuple[Factor, Object]:
        """Return finite pairs above so many mechanisms of one range, and the grid that shows it."""
        times = -(-count // _MOST)
        depth, tail = -(-count // times), self.aim.tail / times
        level = math.ceil(-math.log2(tail)) + depth.bit_length() + _LEVEL
        rows = sum(_rows(float(length), k, level * math.log(2)) for k in range(1, depth + 1))
        bits = level + _GUARD + int(depth * float(length) ** 2 / _CURVED + 2 * float(length))
        work = limits.ranges_work(math.ceil(rows), bits)
        cells = min(max(_WORK // work, _COARSEST), _FINEST)
        if bits > limits.MAX_RANGE_BITS or work * cells > limits.MAX_WORK // 2:
            raise NotCertified("composed bounded ranges are too many for the checker's recursion")
        bound = _Bound(ComposedRangePair(length=length, count=depth, cells=cells))
        if bound.end(tail) > _FARTHEST:
            raise NotCertified("losses of composed bounded ranges are beyond floats")
        aim = Aim(tail=tail, epsilon=self.aim.epsilon)
        pair = pair_of_bounds(bound, bound, aim, one_way=True, count=_COUNT)
        grid: Object = {"cells": cells, "bits": bits, "level": level}
        return Factor(pair, times), grid


@final
@dataclass(frozen=True, slots=True)
class _Bound:
    """The recursion's upper ends as a bound of a profile."""

    pair: ComposedRangePair

    def delta(self, t: Reals) -> Reals:
        """Return the bound at ratios."""
        return self.pair.profile(np.log(t))[1]

    def end(self, tail: float) -> float:
        """Return a log t beyond which the bound is at most the tail."""
        table = self.pair.table
        below = np.flatnonzero(table.upper.value <= tail)
        place = int(below[0]) if below.size else table.upper.value.size - 1
        return (table.upper.start + place) * table.above.span


def range_parts(pair: DominatingPair[Any], point: Point) -> RangeParts | None:
    """Return the parts of a composition with several mechanisms of one range, else None."""
    root = pair.derivation
    while root.rule in _SAME:
        root = root.premises[0]
    if root.rule not in _COMPOSED or not 0.0 < point.delta < 1.0:
        return None
    counts: dict[int, int] = {}
    parts: dict[int, Derivation] = {}
    stack = [(root, 1)]
    while stack:
        node, count = stack.pop()
        if node.rule in _COMPOSED:
            each = count * int(str(dict(node.parameters).get("count", 1)))
            stack.extend((one, each) for one in reversed(node.premises))
            continue
        parts[id(node)] = node
        counts[id(node)] = counts.get(id(node), 0) + count
    listed = [(part, counts[place]) for place, part in parts.items()]
    lengths: dict[Fraction, int] = {}
    for part, count in listed:
        if part.rule == _RANGE:
            length = _length(part)
            lengths[length] = lengths.get(length, 0) + count
    joined = {one for one, count in lengths.items() if count > 1 and _LEAST <= one <= _LARGEST}
    if not joined:
        return None
    single = len(lengths) == len(listed) == 1 and sum(lengths.values()) <= _MOST
    aim = Aim(tail=_TAIL * point.delta / len(joined), epsilon=point.epsilon if single else 0.0)
    found = [
        (part.premises[0] if part.rule == _RANGE and _length(part) in joined else part, count)
        for part, count in listed
    ]
    return RangeParts(root, tuple(found), aim)


def _length(part: Derivation) -> Fraction:
    """Return the length of the range that a pair is made of."""
    conclusion = part.premises[0].conclusion
    return conclusion.stated_epsilon if isinstance(conclusion, BoundedRange) else Fraction(0)


def _rows(length: float, count: int, depth: float) -> float:
    """Return about how many ranges the recursion extends over; ``depth`` nats below 1."""
    return min(count, count * length / 8 + math.sqrt(count * depth / 2))


def _place(one: tuple[int, object]) -> int:
    """Return where a part is proved."""
    return one[0]
