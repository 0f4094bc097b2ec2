"""Bounds of the profile of a selection's base at some points, both ways.

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
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, Object
from dpproof.accountant.certificates.hockey_stick.choose import Point
from dpproof.accountant.certificates.hockey_stick.closed_form import bends
from dpproof.accountant.certificates.hockey_stick.curve import facts
from dpproof.accountant.certificates.selection.finite_base import LOG_BITS
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.ranges.pair import as_logistic
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import curve
from dpproof.accountant.subsampling.shuffled import as_gaussian
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs.core.certificate import Step

MARGIN = 1e-9  # Relative margin for the roundings of bounds computed here.
_BENDS = 160  # Losses of the base at which its profile is bounded.
_FINE = 4_000  # Masses from which cells are chosen.
_SMALLEST = 1e-15  # Least of these masses.
_POSITION_BITS = 20  # Bits of the ends of cells.
_HALVINGS = 1100  # Most bisections for an epsilon, as many as lead from one float to 0.
_FAINT = 1e-8  # Share of phi'(1) below which values need no fine cells.


@final
@dataclass(frozen=True, slots=True)
class SelectionProof:
    """The rule, point, facts about the base and witness that prove a selection's profile."""

    rule: str
    epsilon: Fraction
    delta: Fraction
    facts: list[Step]
    witness: Object


@final
@dataclass(frozen=True, slots=True)
class BaseProfile:
    """The base's profile in one direction: bounds ``level`` of H_t at growing ratios t.

    ``missing`` is 1 - (c - level)/ratio at c = 1, with all its digits.
    """

    ratio: Reals
    level: Reals
    missing: Reals

    @staticmethod
    def of(points: Mapping[Fraction, Fraction]) -> BaseProfile:
        """Return the profile from bounds by log t; below t = 1 they are the other direction's."""
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
        """Return masses a from 1 to 0 at which log phi' of 1 - a and tau(1 - a) change evenly."""
        fine = np.geomspace(1.0, _SMALLEST, _FINE)
        along = evenly(runs, 1.0 - fine, self.lines(fine, 1.0 - fine).max(axis=1), _FAINT)
        chosen = np.interp(np.linspace(along[0], along[-1], count), along, fine)
        inside = {short_up(float(one), _POSITION_BITS) for one in chosen}
        return [Fraction(1), *sorted(inside - {Fraction(1)}, reverse=True), Fraction(0)]


def base_facts(
    base: DominatingPair[Any], runs: RunLaw, shifted: Callable[[Product], Reals]
) -> tuple[list[Step], dict[str, BaseProfile]]:
    """Return facts about a base, and the profile that they prove for each different direction.

    ``shifted`` tells the logs of ratios at which a direction's profile is asked for.
    """
    ways = {"forward": (base.forward, base.backward)}
    if base.forward != base.backward:
        ways["backward"] = (base.backward, base.forward)
    wanted: dict[Product, set[Fraction]] = {base.forward: set(), base.backward: set()}
    for ahead, behind in ways.values():
        own = bends(ahead)
        listed = [_bends(ahead, runs), shifted(ahead), *([] if own is None else [own])]
        for log_ratio in np.concatenate(listed).tolist():
            exact = Fraction(math.ceil(math.ldexp(log_ratio, LOG_BITS)), 1 << LOG_BITS)
            wanted[ahead if exact >= 0 else behind].add(abs(exact))
    steps: list[Step] = []
    heights = {}
    for product, places in wanted.items():
        points, shown, _ = facts(product, sorted(places))
        heights[product] = dict(points)
        steps.extend(shown)
    return steps, {
        name: BaseProfile.of({-x: y for x, y in heights[behind].items()} | heights[ahead])
        for name, (ahead, behind) in ways.items()
    }


def proved_point(
    delta: Callable[[float], float], point: Point, near: float
) -> tuple[Fraction, Fraction]:
    """Return the point that a falling bound proves: delta at its epsilon, or epsilon at its delta.

    Raises:
        NotCertified: the bound says nothing there.
    """
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
    """Return a coordinate that grows as log phi' and log phi' o tau do, unless ``faint``."""
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
    """Return the logistic or Gaussian pair that the checker knows in a pair's place, or itself."""
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
    """What replaces selected pairs, products of bounded ranges, and shuffled batches."""

    known: dict[Pair, Pair] = field(default_factory=dict)
    products: dict[Product, Product] = field(default_factory=dict)

    def of(self, pair: DominatingPair[Any]) -> DominatingPair[Any]:
        """Return both directions with all substitutes, as a stated guarantee."""
        forward, backward = (self._product(one) for one in (pair.forward, pair.backward))
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
        factors = [Factor(self._pair(f.pair), f.count) for f in product.factors]
        return as_gaussian(Product.merge(factors))

    def _pair(self, pair: Pair) -> Pair:
        """Return a pair's substitute, or itself."""
        if isinstance(pair, SubsampledPair):
            return replace(pair, base=self._product(pair.base))
        return self.known.get(pair, pair)
