"""Local reports in a random order, or in rounds one of which a record draws, as hidden bits.

They are bracketed between two pairs. From above it is a bit of the record among uniform bits of
others, in layers by how many of them there are. From below two datasets are enough, or, for
randomisers of which only epsilon is known, the pair above again with its layers merged the other
way. Proofs: proofs/theory/shuffle_model.md; allocation.md, section 7.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar, Final, final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect, invert
from dpproof.accountant.arithmetic.discrete_laws import Binomial
from dpproof.accountant.arithmetic.enclosure import (
    Reals,
    float_down,
    float_up,
    from_swapped,
    log_down,
    log_up,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.subsampling.hidden_bits import HiddenBits, Layer
from dpproof.accountant.subsampling.tabulated import TabulatedPair

_CENTRAL: Final = 1e-18  # The same, for what matters less. Heuristic.
_LIKELY: Final = 1e-40  # Mass of a count that is no longer of interest. Heuristic.
# Relative rounding of a probability of a bit. Soundness depends on it.
_ROUNDED: Final = 2.0**-44
_BLOCKS: Final = 224  # Most blocks of counts. Heuristic, as all that follows.
_LEAST: Final = 8  # Fewest, if there are so many counts.
_RELATIVE: Final = 1e-3  # Width of a block, relative to the counts.
_NODES, _FEWEST = 48, 12  # Most and fewest numbers of other reports.
_LAYERS: Final = 3_000  # Most blocks times nodes, about.
_LAWS: Final = 256  # Most laws of the other reports.
_LEAST_LEVEL: Final = 1e-36  # Least delta at which the profile is inverted. Smaller ones raise.


@final
@dataclass(frozen=True, slots=True)
class Reports:
    """Some number of shuffled reports of one kind.

    Attributes:
        records: from 1.
        epsilon: of each report, above 0.
        categories: of randomised response, from 2; 0 for a randomiser of which nothing else holds.
        alike: whether all others have the neighbour's of two categories, in every dataset.
    """

    records: int
    epsilon: Fraction
    categories: int
    alike: bool = False

    @property
    def excess(self) -> float:
        """Return e^epsilon - 1, within 40 roundings: that of epsilon counts for 33 at most."""
        return math.expm1(float(self.epsilon))

    @property
    def spare(self) -> int:
        """Return the number of categories beside two, 0 if it is not stated."""
        return max(self.categories - 2, 0)

    @property
    def uniform(self) -> Binomial:
        """Return the law of how many of the others' uniform reports are on two categories."""
        odds = 2.0 / (self.excess + self.spare) if self.categories else 1.0 / self.excess
        return Binomial(self.records - 1, odds)

    @property
    def own(self) -> float:
        """Return the probability that the record's own report is on its two categories."""
        return (self.excess + 2.0) / (self.excess + self.categories)

    def elsewhere(self, size: int) -> Binomial:
        """Return the law of the other uniform reports, given that ``size`` are on the two."""
        return Binomial(max(self.records - 1 - size, 0), self.spare / self.excess)

    def flip(self, size: int, elsewhere: int) -> float:
        """Return the least probability that the record's bit is another, rounded down.

        It is that among ``size`` reports on two categories and so many uniform ones elsewhere.
        """
        total = size + elsewhere
        return total / (2.0 * total + self.excess * size) * (1.0 - _ROUNDED)

    def merged_flip(self, size: int) -> float:
        """Return the same, rounded up, if only ``size`` from 1 is seen, the others elsewhere."""
        power, outside = self.excess + 2.0, float(self.spare) * (self.records - size)
        own = 1.0 / (1.0 + 2.0 * outside / (power * (self.excess + self.spare) * size))
        return 0.5 - 0.5 * own * (self.excess / power) * (1.0 - _ROUNDED)

    def kept(self, *, up: bool) -> float:
        """Return e^epsilon / (e^epsilon + 1), rounded up or down."""
        share = (self.excess + 1.0) / (self.excess + 2.0)
        return share * (1.0 + _ROUNDED if up else 1.0 - _ROUNDED)


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """The layers of a bound from above.

    Attributes:
        groups: ends of blocks of counts, each the first of the next: neighbouring groups share one.
            The law of the other reports is that of the largest count of a group.
        nodes: numbers of other uniform reports, from 0, between which the profile is interpolated.
    """

    groups: tuple[tuple[int, ...], ...]
    nodes: tuple[int, ...]


@lru_cache(maxsize=64)
def layout(reports: Reports, *, most: int = _LAYERS) -> Layout:
    """Return blocks narrow next to their counts, and nodes over the likely numbers.

    Args:
        reports: how many, and of which kind.
        most: about as many blocks times nodes.
    """
    first, last = reports.uniform.window(_LIKELY)
    last += bool(reports.spare)
    count = last - first + 1
    width = min(math.ceil(count / _LEAST), int(_RELATIVE * last))
    width = max(width, math.ceil(count / min(_BLOCKS, most // _FEWEST)), 1)
    ends = [*range(first, last + 1, width), last + 1]
    if not reports.spare:
        return Layout((tuple(ends),), (0,))
    low, high = (reports.elsewhere(at).window(_CENTRAL)[at == first] for at in (last, first))
    count = min(_NODES, most // len(ends))
    dense = range(low, high + 2, max(1, math.ceil((high - low + 2) / count)))
    nodes = sorted({0, *dense, reports.elsewhere(first).last + 1})
    size = math.ceil((len(ends) - 1) / _LAWS)
    groups = [tuple(ends[k : k + size + 1]) for k in range(0, len(ends) - 1, size)]
    return Layout(tuple(groups), tuple(nodes))


def layers_above(reports: Reports, plan: Layout, *, removal: bool = True) -> Iterator[Layer]:
    """Yield layers whose pair dominates the shuffled reports."""
    if reports.alike:
        yield _among_alike(reports, removal=removal, upper=True)
        return
    law, kept = reports.uniform, reports.kept(up=True)
    first, last = plan.groups[0][0], plan.groups[-1][-1] - 1
    beyond = law.most(0, first - 1) + law.most(last + (not reports.spare), law.trials)
    yield Layer(_coins(0), beyond, kept, 1.0 - kept)
    for ends in plan.groups:
        shares = _node_shares(reports, ends[-1] - 1, plan.nodes)
        for start, end in itertools.pairwise(ends):
            if not reports.spare:
                yield Layer(_coins(start), law.most(start, end - 1), kept, 1.0 - kept)
            elif end > 1:
                others = _coins(max(start - 1, 0))
                masses = law.most(start, end - 1), law.most(start - 1, end - 2)
                for node, *each in zip(plan.nodes, *shares, strict=True):
                    weight = sum(map(operator.mul, masses, each)) * (1.0 + _ROUNDED)
                    flip = reports.flip(end - 1, node)
                    yield Layer(others, weight, 1.0 - flip, flip)


def _node_shares(reports: Reports, size: int, nodes: Sequence[int]) -> tuple[list[float], ...]:
    """Return shares of the nodes, from above, without the record's own report and with it."""
    if not reports.spare:
        return [1.0], [1.0]
    own = reports.own
    outside, inside = reports.elsewhere(size), reports.elsewhere(size - 1)
    return _spread(outside, 1, nodes, 1.0 - own), _spread(inside, 0, nodes, own)


def _spread(law: Binomial, further: int, nodes: Sequence[int], share: float) -> list[float]:
    """Return a law of counts, and some more, spread over nodes, times a share, from above."""
    places = np.array(nodes, dtype=np.float64)
    counts = np.minimum(law.first + further + np.arange(law.masses.size), places[-1])
    left = np.minimum(np.searchsorted(places, counts, side="right") - 1, len(nodes) - 2)
    near = (counts - places[left]) / np.diff(places)[left]
    masses = np.bincount(left, law.masses * (1.0 - near), len(nodes))
    masses += np.bincount(left + 1, law.masses * near, len(nodes))
    return [(one * (1.0 + 2.0 * law.slip) + law.lost) * share for one in masses.tolist()]


def layers_below(reports: Reports, *, removal: bool) -> Iterator[Layer]:
    """Yield layers whose pair the laws of the reports on two datasets dominate.

    With two categories all others have that of the neighbour; with more they have a third one. Of
    a randomiser of which only epsilon holds it is the pair above instead.
    """
    if reports.categories == 2:
        yield _among_alike(reports, removal=removal, upper=False)
        return
    kept, law = reports.kept(up=False), reports.uniform
    for ends in layout(reports).groups:
        for start, end in itertools.pairwise(ends):
            if not reports.categories:
                yield Layer(_coins(end - 1), law.least(start, end - 1), kept, 1.0 - kept)
            elif start:
                weight = (1.0 - reports.own) * law.least(start, end - 1)
                weight += reports.own * law.least(start - 1, end - 2)
                flip = reports.merged_flip(start)
                yield Layer(_coins(end - 2), weight * (1.0 - _ROUNDED), 1.0 - flip, flip)


def _among_alike(reports: Reports, *, removal: bool, upper: bool) -> Layer:
    """Return the number of reports on one of two categories, all others having the neighbour's."""
    odds, kept = 1.0 / (reports.excess + 1.0), reports.kept(up=upper)
    others = Binomial(reports.records - 1, odds if removal else 1.0 / odds)
    return Layer(others, 1.0, kept, 1.0 - kept)


@lru_cache(maxsize=1 << 9)
def _coins(count: int) -> Binomial:
    """Return the law of a sum of fair coins."""
    return Binomial(count, 1.0)


@lru_cache(maxsize=16)
def bounds(reports: Reports, *, removal: bool) -> tuple[HiddenBits, HiddenBits]:
    """Return the bounds of the profile, from below and from above."""
    below = HiddenBits(layers_below(reports, removal=removal), upper=False)
    above = layers_above(reports, layout(reports), removal=removal)
    return below, HiddenBits(above, upper=True)


@lru_cache(maxsize=32)
def _profile(pair: ShuffledReportsPair, epsilon: bytes) -> tuple[Reals, Reals]:
    """Return both bounds at epsilons, which tables ask for once in each direction."""
    places = np.frombuffer(epsilon)
    below, above = (one(places) for one in bounds(pair.reports, removal=pair.removal))
    return np.maximum(below, 0.0), np.minimum(above, 1.0)


def _log_side(pair: ShuffledReportsPair, side: int, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return the log of one bound of the profile, rounded both ways."""
    ends = pair.profile(epsilon)[side]
    return log_down(ends), log_up(ends)


@lru_cache(maxsize=64)
def _end(pair: ShuffledReportsPair) -> float:
    """Return a loss at which next to nothing is left of the profile."""
    _, above = bounds(pair.reports, removal=pair.removal)
    return bisect(lambda x: float(above(np.array([x]))[0]) > _LEAST_LEVEL, 0.0, pair.max_loss)[1]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledReportsPair(TabulatedPair):
    """Shuffled reports of neighbours that differ in one record, from below and from above.

    Attributes:
        reports: how many, and of which kind.
        removal: with two categories whether P is the law of the dataset whose record differs from
            all others; else it makes no difference.
    """

    reports: Reports
    removal: bool = True
    is_quick: ClassVar[bool] = True  # The profile is a sum over layers.
    lower_is_convex: ClassVar[bool] = True  # It is that of one pair, but for rounding.

    def swapped(self) -> ShuffledReportsPair:
        """Return the pair (Q, P), the same unless there are two categories."""
        if self.reports.categories != 2:
            return self
        return replace(self, removal=not self.removal)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Bound the profile on both sides; it is 0 from the epsilon of one report on.

        Below 0 it is that of the swapped pair: layers leave out what both laws share.
        """
        lower, upper = np.zeros((2, *epsilon.shape))
        inside, negative = (epsilon >= 0) & (epsilon < self.max_loss), epsilon < 0
        if inside.any():
            lower[inside], upper[inside] = _profile(self, epsilon[inside].tobytes())
        if negative.any():
            other = self.swapped().profile(-epsilon[negative])
            lower[negative], upper[negative] = from_swapped(*other, epsilon[negative])
        return lower, upper

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon by the profile; at delta 0 it is that of one report.

        Raises:
            NotCertified: delta is too small for the tables.
        """
        level, top = Bound.of(delta), self.max_loss
        if level.lower < _LEAST_LEVEL:
            if level.upper == 0.0:
                return Bound(float_down(self.reports.epsilon), self.max_loss)
            raise NotCertified(
                f"tables of shuffled reports lose a delta of {level.lower:.3g}; {EASIER}"
            )
        target = log_down(np.array(level.lower)).item(), log_up(np.array(level.upper)).item()
        lower, upper = (
            invert(partial(_log_side, self, side), target, 0.5 * top, 0.1 * top, top)
            for side in (0, 1)
        )
        return Bound(min(lower.lower, upper.upper), upper.upper)

    @property
    def max_loss(self) -> float:
        """Return the epsilon of one report, rounded up."""
        return float_up(self.reports.epsilon)

    def tail(self, s: Reals, end: float) -> tuple[float, Reals]:  # any
        """Return the largest loss, beyond which nothing is added."""
        return self.max_loss, np.full(s.shape, -math.inf)

    @property
    def zcdp_bound(self) -> float:
        """Return that of pure DP."""
        return 0.5 * self.max_loss**2 * (1.0 + 1e-15)

    @property
    def infinite_mass(self) -> float:
        """Return 0: the pair above may have more, where its table ends."""
        return 0.0

    @property
    def end(self) -> float:
        """Return where next to nothing is left of the profile."""
        return _end(self)
