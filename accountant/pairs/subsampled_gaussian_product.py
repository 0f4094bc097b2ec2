"""Treat the product of many subsampled Gaussian pairs as one pair, so that they share arrays.

K is the sum of K of the parts, with its error: plain sums of M, known to fewer digits than each
part's own. Of the smoothness of the losses only the layers are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeGuard, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import (
    Complexes,
    Enclosure,
    Reals,
    joined,
    weighted_sum,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.exact import ExactPair
from dpproof.accountant.pairs.gaussian_mixtures import GaussianMixtures
from dpproof.accountant.pairs.mixture_quadrature import choose_rule
from dpproof.accountant.pairs.pair import Pair, Smoothness
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.pairs.subsampling_formulas import log_unsampled
from dpproof.accountant.pairs.symmetry import CommonSupport

_MANY = 16  # Fewest pairs that are bundled. Heuristic.
# Largest rate bundled: at larger ones more than layers is known of the loss. Heuristic.
_RARE = Fraction(1, 32)
_MOST = 1 << 15  # Largest sum of counts: a plain sum errs by approximately 1e-13 a part. Heuristic.
_TOGETHER = 64  # Mixtures in one array. Heuristic.
_UNREACHABLE = 1 << 40  # The work of a value that cannot be computed. Heuristic.
_WIDTH = 0.02  # Rounding of log widths of layers. Heuristic: widths are rounded down.
# Layers narrower than the widest by e to this are left out, which is sound. Heuristic.
_NARROW = 30.0
_SLACK = 1 + 1e-12  # Above the rounding of sums. Soundness depends on it.

Block = tuple[GaussianMixtures, Reals]


@final
@dataclass(frozen=True, slots=True)
class SubsampledGaussians(CommonSupport, ExactPair):
    """Independent subsampled Gaussian pairs of one direction, each with a count.

    Attributes:
        parts: pairs and counts.
        removal: the direction of all.
        blocks: the same in arrays, with their counts; those of similar noise together.
    """

    parts: tuple[tuple[SubsampledGaussianPair, int], ...]
    removal: bool
    blocks: list[Block] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Arrange the parts in blocks."""
        object.__setattr__(self, "blocks", _blocks(self.parts, removal=self.removal))

    def swapped(self) -> SubsampledGaussians:
        """Return the product of the other direction."""
        parts = tuple((pair.swapped(), count) for pair, count in self.parts)
        return SubsampledGaussians(parts, not self.removal)

    @property
    def max_loss(self) -> float:
        """Return infinity for removal, the sum of -log(1 - q), rounded up, for addition."""
        if self.removal:
            return math.inf
        each = (-count * log_unsampled(pair.sampling_rate) for pair, count in self.parts)
        return math.fsum(each) * _SLACK

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose the sum of the parts' K, each the log of a plain sum."""
        blocks = self.blocks
        alpha = blocks[0][0].alpha(s)
        flipped = alpha.imag < 0
        alpha = np.where(flipped, alpha.conj(), alpha)
        if alpha.size > 1 and any(mixtures.spread_out(alpha) for mixtures, _ in blocks):
            return joined([self.cgf(part) for part in np.array_split(s, 2)])
        found = [weighted_sum(one, counts) for one, counts in _each(blocks, alpha)]
        values, radii = np.stack([one.value for one in found]), [one.radius for one in found]
        total = weighted_sum(Enclosure(values, np.stack(radii)), np.ones(len(found)))
        return Enclosure(np.where(flipped, total.value.conj(), total.value), total.radius)

    def cgf_along(self, points: Reals, line: Complexes) -> Enclosure:
        """Enclose K at the points and on the line apart, as sums on a line share work."""
        return joined([self.cgf(points + 0j), self.cgf(line)])

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' by the sums of the parts' values."""
        total = np.zeros((3, c.size))
        for mixtures, counts in self.blocks:
            value, slope, bend = mixtures.steer(c)
            total += [counts @ value, counts @ slope, counts @ np.maximum(bend, 0.0)]
        return total[0], total[1], total[2]

    @property
    def zcdp_bound(self) -> float:
        """Return the rho without subsampling.

        Rényi divergence is quasi-convex, so mixing only helps.
        """
        each = (count * float(pair.mu_squared) for pair, count in self.parts)
        return 0.5 * math.fsum(each) * _SLACK

    @property
    def gdp_bound(self) -> float:
        """Return the Gaussians' mu: forgetting the samples is post-processing."""
        return math.sqrt(2.0 * self.zcdp_bound) * _SLACK

    def work(self, s: complex) -> int:
        """Return the number of nodes of the quadratures."""
        blocks = self.blocks
        alpha = blocks[0][0].alpha(np.array([s]))
        alpha = np.where(alpha.imag < 0, alpha.conj(), alpha)
        try:
            return sum(choose_rule(mixtures, alpha).z.size for mixtures, _ in blocks)
        except NotCertified:
            return _UNREACHABLE

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return the layers of all parts: log(1 - x) <= -x, so their deficits add up.

        A layer counts as narrower than it is, which has a smaller deficit.
        """
        blocks = self.blocks
        alpha = blocks[0][0].alpha(np.array([c + 0j]))
        masses, widths = [], []
        for (mixtures, counts), (one, _) in zip(blocks, _each(blocks, alpha), strict=True):
            upper = one.value[:, 0].real + one.radius[:, 0]
            for count, (mass, width) in zip(
                counts, mixtures.layers(mixtures.cells(c), upper), strict=True
            ):
                masses.append(count * mass)
                widths.append(width)
        return Smoothness(0.0, *_merged(np.concatenate(masses), np.concatenate(widths)))


def bundled(parts: Sequence[tuple[Pair, int]]) -> list[tuple[Pair, int]]:
    """Return the same product, many different subsampled Gaussians of a direction as one pair.

    Heuristic: only small rates are bundled, and only if they are not repeated so often that each
    has to be known to more digits.
    """
    bundles: list[tuple[Pair, int]] = []
    for removal in (True, False):
        some = tuple(part for part in parts if _is_rare(part, removal=removal))
        if len(some) >= _MANY and sum(count for _, count in some) <= _MOST:
            bundles.append((SubsampledGaussians(some, removal), 1))
            parts = [part for part in parts if not _is_rare(part, removal=removal)]
    return [*parts, *bundles]


def _is_rare(
    part: tuple[Pair, int], *, removal: bool
) -> TypeGuard[tuple[SubsampledGaussianPair, int]]:
    """Return whether the pair is a subsampled Gaussian of that direction and a small rate."""
    pair, _ = part
    return (
        isinstance(pair, SubsampledGaussianPair)
        and pair.removal == removal
        and pair.sampling_rate <= _RARE
    )


def _blocks(parts: tuple[tuple[SubsampledGaussianPair, int], ...], *, removal: bool) -> list[Block]:
    """Return the parts as arrays, those of similar noise together."""
    ordered = sorted(parts, key=lambda part: part[0].mu_squared)
    return [
        (
            GaussianMixtures.of(
                [pair.mu_squared for pair, _ in some],
                [pair.sampling_rate for pair, _ in some],
                removal=removal,
            ),
            np.array([float(count) for _, count in some]),
        )
        for some in (ordered[i : i + _TOGETHER] for i in range(0, len(ordered), _TOGETHER))
    ]


def _each(blocks: list[Block], alpha: Complexes) -> Iterator[tuple[Enclosure, Reals]]:
    """Yield K of every part, block by block, with the counts."""
    for mixtures, counts in blocks:
        rule = choose_rule(mixtures, alpha)
        growth = mixtures.log_ratio(rule.z, rule.shift)
        yield mixtures.plain(alpha, rule, growth), counts


def _merged(masses: Reals, widths: Reals) -> tuple[Reals, Reals]:
    """Merge layers of similar width, each group as narrow as its narrowest layer may be."""
    if not widths.size:
        return masses, widths
    step = np.floor(np.log(widths) / _WIDTH)
    least = step.max() - _NARROW / _WIDTH
    total = np.bincount(np.maximum(step - least, 0.0).astype(int), weights=masses)
    kept = np.flatnonzero(total)
    kept = kept[kept > 0]
    return total[kept] * (1 - 1e-12), np.exp((least + kept) * _WIDTH) * (1 - 1e-9)
