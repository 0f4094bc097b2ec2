"""Bound the profile of what is selected from or composed, and replace pairs by finite ones.

Heuristic: all constants; the checker repeats every bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.choose import Point, facts_of_all, ways
from dpproof.accountant.certificates.finite_pairs import LOG_BITS, Aim, pair_of_bounds
from dpproof.accountant.certificates.finite_sums import bends
from dpproof.accountant.certificates.serialize import UNCERTIFIED, Object
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.ranges import ComposedRangePair, as_logistic
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import curve
from dpproof.accountant.subsampling.shuffled import as_gaussian
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Step

MARGIN = 1e-9  # Relative margin for the roundings of bounds computed here.
_BENDS = 160  # Losses of the base at which its profile is bounded.
_FINE = 4_000  # Masses from which cells are chosen.
_SMALLEST = 1e-15  # Least of these masses.
_POSITION_BITS = 20  # Bits of the ends of cells.
_HALVINGS = 1100  # Most bisections for an epsilon, as many as lead from one float to 0.
_FAINT = 1e-8  # Share of phi'(1) below which values need no fine cells.


@final
@dataclass(frozen=True, slots=True)
class BaseProfile:
    """The base's profile H_t in one direction."""

    ratio: Reals  # t, increasing
    level: Reals  # bounds of H_t
    missing: Reals  # 1 - (c - level)/ratio at c = 1, with all its digits

    @staticmethod
    def of(points: Mapping[Fraction, Fraction]) -> BaseProfile:
        """Return the profile from bounds by log t, those of the other direction below t = 1."""
        logs = np.array([float(x) for x in sorted(points)])
        delta = np.array([float(points[x]) for x in sorted(points)])
        ratio = np.exp(logs)
        level = np.where(logs >= 0.0, delta, -np.expm1(logs) + ratio * delta)
        missing = np.where(logs >= 0.0, -np.expm1(-logs) + level / ratio, delta)
        return BaseProfile(ratio, level, missing)

    def lines(self, a: Reals, c: Reals) -> Reals:
        """Return (c - level)/ratio, c = 1 - a, a row for each c and a column for each point."""
        small = (c[:, None] - self.level) / self.ratio
        return np.where(c[:, None] < 0.5, small, 1.0 - self.missing - a[:, None] / self.ratio)

    def rest(self, a: Reals, c: Reals) -> Reals:
        """Return 1 - (c - level)/ratio, c = 1 - a, with rows and columns as ``lines``."""
        large = 1.0 - (c[:, None] - self.level) / self.ratio
        return np.where(c[:, None] < 0.5, large, self.missing + a[:, None] / self.ratio)

    def height(self, t: Reals) -> Reals:
        """Return H_t by chords, from H_0 = 1."""
        ratio, level = np.insert(self.ratio, 0, 0.0), np.insert(self.level, 0, 1.0)
        return np.interp(t, ratio, level)

    def cells(self, runs: RunLaw, count: int) -> list[Fraction]:
        """Return masses a at which log phi'(1 - a) and log phi'(tau(1 - a)) change evenly."""
        fine = np.geomspace(1.0, _SMALLEST, _FINE)
        along = evenly(runs, 1.0 - fine, self.lines(fine, 1.0 - fine).max(axis=1), _FAINT)
        chosen = np.interp(np.linspace(along[0], along[-1], count), along, fine)
        inside = {short_up(float(one), _POSITION_BITS) for one in chosen}
        return [Fraction(1), *sorted(inside - {Fraction(1)}, reverse=True), Fraction(0)]


def base_facts(
    base: DominatingPair[Any], runs: RunLaw, shifted: Callable[[Product], Reals]
) -> tuple[list[Step], dict[str, BaseProfile]]:
    """Return facts about a base at some logs of ratios, and the profile they prove each way."""
    both = base.forward, base.backward
    directions = {name: both if name == "forward" else both[::-1] for name in ways(base)}
    wanted: dict[Product, set[Fraction]] = {base.forward: set(), base.backward: set()}
    for ahead, behind in directions.values():
        own = bends(ahead)
        listed = [_bends(ahead, runs), shifted(ahead), *([] if own is None else [own])]
        for log_ratio in np.concatenate(listed).tolist():
            exact = Fraction(math.ceil(math.ldexp(log_ratio, LOG_BITS)), 1 << LOG_BITS)
            wanted[ahead if exact >= 0 else behind].add(abs(exact))
    heights, steps = facts_of_all(wanted)
    return steps, {
        name: BaseProfile.of({-x: y for x, y in heights[behind].items()} | heights[ahead])
        for name, (ahead, behind) in directions.items()
    }


def proved_point(
    delta: Callable[[float], float], point: Point, near: float
) -> tuple[Fraction, Fraction]:
    """Return the point that a falling bound proves, its epsilon as asked for or near another."""
    if not point.moves:
        bracket = delta(point.epsilon)
        if not bracket < 1.0:
            raise _useless(point)
        return Fraction(point.epsilon), short_up(bracket, LOG_BITS)
    if delta(near + 1.0) > point.delta:
        raise _useless(point)
    _, high = bisect(
        lambda at: delta(at) > point.delta, 0.0, near + 1.0, rounds=_HALVINGS, near=MARGIN
    )
    return short_up(high, LOG_BITS), Fraction(point.delta)


def _useless(point: Point) -> NotCertified:
    """Return the error for a bound that is vacuous near a point."""
    return NotCertified(
        "the checker's bound of a selection says nothing near epsilon = "
        f"{point.epsilon:.6g}, delta = {point.delta:.6g}; {UNCERTIFIED}"
    )


def _bends(base: Product, runs: RunLaw) -> Reals:
    """Return losses of the base, spread evenly over masses of outcomes, and its ends."""
    base_curve = curve(base)
    outcomes = base_curve.above(*base_curve.size)
    c, tau = np.cumsum(outcomes.p), np.cumsum(outcomes.q)
    along = evenly(runs, np.minimum(c, 1.0), np.minimum(tau, 1.0), _FAINT)
    at = np.searchsorted(along, np.linspace(along[0], along[-1], _BENDS))
    bends = outcomes.loss[np.unique(np.minimum(at, along.size - 1))]
    ends = np.array([0.0, base_curve.forward.loss[-1], -base_curve.backward.loss[-1]])
    return np.concatenate([bends[np.isfinite(bends)], ends])


def evenly(runs: RunLaw, c: Reals, tau: Reals, faint: float) -> Reals:
    """Return a coordinate that grows as log phi'(c) and log phi'(tau) do, where not faint."""
    least = faint * runs.mean
    logs = [np.log(runs.derivative(np.clip(one, 0.0, 1.0)) + least) for one in (c, tau)]
    return np.asarray(np.maximum.accumulate(logs[0]) + np.maximum.accumulate(logs[1]))


_MOST = 1_500  # Most outcomes of a pair that is used as it is. Heuristic.


def single_finite_pair(product: Product) -> FinitePair | None:
    """Return the one finite pair, once, that a product consists of, if it is short; else None."""
    first = product.factors[0]
    if len(product.factors) == 1 and first.count == 1 and isinstance(first.pair, FinitePair):
        return first.pair if len(first.pair.p) <= _MOST else None
    return None


def finite_guarantee(
    pair: DominatingPair[Any], forward: FinitePair, backward: FinitePair
) -> DominatingPair[Any]:
    """Return finite pairs as a guarantee under another one's relation."""
    ahead, behind = Product.of(forward), Product.of(backward)
    return DominatingPair(forward=ahead, backward=behind, relation=pair.relation)


def with_logistic(pair: DominatingPair[Any]) -> DominatingPair[Any]:
    """Return the pair with logistic pairs for ranges, and Gaussian ones for shuffled batches."""
    forward, backward = (as_gaussian(as_logistic(one)) for one in (pair.forward, pair.backward))
    if (forward, backward) == (pair.forward, pair.backward):
        return pair
    return DominatingPair(forward=forward, backward=backward, relation=pair.relation)


def moved_to(pair: DominatingPair[Any], point: Point) -> Point:
    """Return the point of a substitute at the same epsilon or delta."""
    if not point.moves:
        return replace(point, delta=pair.delta(epsilon=point.epsilon).upper)
    epsilon = pair.epsilon(delta=point.delta).upper
    if math.isinf(epsilon):
        raise NotCertified(
            f"no finite pair that the checker knows proves delta = {point.delta:.6g}; {UNCERTIFIED}"
        )
    return replace(point, epsilon=epsilon)


@final
@dataclass(frozen=True, slots=True)
class Substitutes:
    """The finite pairs that replace selected pairs, and whole products of bounded ranges."""

    known: dict[Pair, Pair] = field(default_factory=dict)
    products: dict[Product, Product] = field(default_factory=dict)

    def of(self, pair: DominatingPair[Any]) -> DominatingPair[Any]:
        """Return both directions with all substitutes, as a stated guarantee."""
        forward, backward = (self._product(one) for one in (pair.forward, pair.backward))
        if forward is pair.forward and backward is pair.backward:
            return pair
        return DominatingPair(forward=forward, backward=backward, relation=pair.relation)

    def substituted(self, guarantee: Guarantee[Any]) -> Guarantee[Any]:
        """Return a guarantee with substitutes, itself if it is no dominating pair."""
        return self.of(guarantee) if isinstance(guarantee, DominatingPair) else guarantee

    def add(self, pair: DominatingPair[Any], forward: FinitePair, backward: FinitePair) -> None:
        """Add finite pairs in place of those of a guarantee that has one in each direction."""
        self.known[pair.forward.factors[0].pair] = forward
        self.known[pair.backward.factors[0].pair] = backward

    def _product(self, product: Product) -> Product:
        """Return a product with all substitutes."""
        if product in self.products:
            return self.products[product]
        if all(isinstance(f.pair, GaussianPair | SubsampledGaussianPair) for f in product.factors):
            return product
        factors = [Factor(self._pair(f.pair), f.count) for f in product.factors]
        return as_gaussian(Product.merge(factors))

    def _pair(self, pair: Pair) -> Pair:
        """Return a pair's substitute, or itself."""
        if isinstance(pair, SubsampledPair):
            return replace(pair, base=self._product(pair.base))
        return self.known.get(pair, pair)


_SAME = ("post-process", "map-records", "restrict/relation")  # theorems that keep the pair
_COMPOSED = ("compose/pair", "repeat/pair")
_RANGE = "dominate/bounded-range"
_MOST_AT_ONCE = 256  # Mechanisms of one recursion.
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
    """A composition as bounded ranges and pairs, each so many times."""

    root: Derivation  # the derivation of the composition
    parts: tuple[tuple[Derivation, int], ...]  # the number of runs of each part
    aim: Aim  # the purpose of the finite pairs

    def written(
        self, places: list[int], substitutes: Substitutes
    ) -> tuple[Product, Product, Object]:
        """Return both directions of the conclusion, and the witness, from the places of parts."""
        ordered = [part for _, part in sorted(zip(places, self.parts, strict=True), key=_position)]
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
        times = -(-count // _MOST_AT_ONCE)
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
    single = len(lengths) == len(listed) == 1 and sum(lengths.values()) <= _MOST_AT_ONCE
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


def _position(one: tuple[int, object]) -> int:
    """Return where a part is proved."""
    return one[0]
