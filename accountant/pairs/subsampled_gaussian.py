"""The Poisson-subsampled Gaussian pair, in either direction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeGuard, final

import numpy as np

from dpproof.accountant.arithmetic import elementary, enclosure, normal_distribution
from dpproof.accountant.arithmetic.enclosure import EXTENDED, Complexes, Enclosure, Reals, joined
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs import gaussian_mixtures
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.gaussian_mixtures import GaussianMixtures, TrapezoidRules
from dpproof.accountant.pairs.pair import CommonSupport, ExactPair, Pair, Smoothness, required_rate

# Log of a term beyond which M - 1 is no smaller than M, so that a plain sum is as good. Heuristic.
_LARGE = -4.0
UNREACHABLE = 1 << 40  # The work of a value that cannot be computed. Heuristic.
_SHORT = 1 << 12  # Terms up to which points and a line are evaluated together. Heuristic.
_BLOCK = 1 << 20  # Terms evaluated at once, to bound memory. Heuristic.
# Where they end, what they cut counts in upper ends only. Heuristic: it is next to nothing.
_LEAST_SHIFT, _LARGEST_SHIFT = 1e-14 - 1.0, 1e300


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledGaussianPair(CommonSupport, ExactPair):
    """The mixture W = (1-q) N(0,1) + q N(mu,1) against N(0,1).

    ``removal`` is the pair (W, N(0,1)); otherwise (N(0,1), W). With u(z) = q (e^l - 1),
    l = mu z - mu^2/2 and z standard normal,

        M(s) = E[(1 + u)^alpha],   alpha = s + 1 for removal, -s for addition.

    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11, with the Gaussian's own pair; the
        formula is a change of measure.
    Rounds: as E[u] = 0, M - 1 = E[(1+u)^alpha - 1 - alpha u], an integral of terms of the
        size of the answer. It is taken by a trapezoid rule (pairs/mixture_quadrature.py) on a
        line on which |(1+u)^{i Im alpha}| <= 1, conjugating alpha so that Im alpha >= 0.
    """

    mu_squared: Fraction  # exact, above 0
    sampling_rate: Fraction  # exact, in (0, 1)
    removal: bool  # the direction
    extended: bool = False  # whether K near 0 is computed with the longest floats there are

    def __post_init__(self) -> None:
        """Refuse rates whose logs are not representable as floats."""
        required_rate(sampling_rate=self.sampling_rate)

    def swapped(self) -> SubsampledGaussianPair:
        """Return the pair of the other direction."""
        return replace(self, removal=not self.removal)

    def refined(self) -> SubsampledGaussianPair:
        """Return the same pair with longer floats, or itself if there are none."""
        return self if EXTENDED is np.float64 else replace(self, extended=True)

    @property
    def max_loss(self) -> float:
        """Return infinity for removal, -log(1 - q), rounded up, for addition."""
        if self.removal:
            return math.inf
        return -gaussian_mixtures.log_unsampled(self.sampling_rate) * (1 + 1e-15)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K, the log of an expectation, by the trapezoid rule."""
        alone = s.shape == (1,) and s.dtype == complex
        return _alone(self, complex(s[0])) if alone else self._cgf(s, 0)

    def cgf_along(self, points: Reals, line: Complexes) -> Enclosure:
        """Enclose K at all arguments together, as one rule serves them."""
        return self._cgf(np.concatenate([points, line]), points.size)

    def _cgf(self, s: Complexes, apart: int) -> Enclosure:
        """Enclose K; the first ``apart`` arguments may not be on a line with the others."""
        mixture = mixture_of(self)
        alpha = mixture.alpha(s)
        flipped = alpha.imag < 0
        alpha = np.where(flipped, alpha.conj(), alpha)
        wide = mixture.spread_out(alpha)
        rule = gaussian_mixtures.choose_rule(mixture, alpha[:1] if wide else alpha)
        if alpha.size > 1 and (wide or alpha.size * rule.z.size > _BLOCK):
            half = apart or s.size // 2
            return joined([self._cgf(s[:half], 0), self._cgf(s[half:], 0)])
        growth = mixture.log_ratio(rule.z, rule.shift)
        tilt = np.maximum(alpha.real.max() * growth.real, alpha.real.min() * growth.real)
        size = 2 * np.log(np.abs(alpha).max() * np.abs(growth) + 1e-300)
        if (rule.log_weights.real + np.minimum(size, 0.0) + tilt).max() > _LARGE:
            long = apart and alpha.size * rule.z.size > _SHORT  # then a line shares work
            parts = (alpha[:apart], alpha[apart:]) if long else (alpha,)
            every = [mixture.plain(one, rule, growth) for one in parts]
            cgf = joined([Enclosure(one.value[0], one.radius[0]) for one in every])
        elif self.extended:
            longer = mixture_of(self, EXTENDED)
            nodes, alpha = rule.to(longer.mu.dtype), longer.alpha(s.astype(np.clongdouble))
            alpha = np.where(flipped, alpha.conj(), alpha)
            ratio = longer.log_ratio(nodes.z, nodes.shift)
            cgf = small_moments(longer, alpha, nodes, ratio)
        else:
            cgf = small_moments(mixture, alpha, rule, growth)
        return Enclosure(np.where(flipped, cgf.value.conj(), cgf.value), cgf.radius)

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' by a coarse trapezoid rule on the real axis."""
        value, slope, bend = mixture_of(self).steer(c)
        return value[0], slope[0], bend[0]

    @property
    def distance(self) -> float:
        """Return q (2 Phi(mu / 2) - 1), rounded up."""
        return float(self.sampling_rate) * math.erf(self.gdp_bound / math.sqrt(8.0)) * (1 + 1e-14)

    @property
    def variance(self) -> float | None:
        """Return K(1) where the Gaussian's is no larger than 1."""
        mu_squared = float(self.mu_squared)
        return float(self.sampling_rate) ** 2 * math.expm1(mu_squared) if mu_squared <= 1 else None

    @property
    def gaussian_tail(self) -> float:
        """Return mu^2 for removal: no rate is small where delta is small enough."""
        return float(self.mu_squared) if self.removal else 0.0

    @property
    def zcdp_bound(self) -> float:
        """Return the unsampled rho: Rényi divergence is quasi-convex, so mixing only helps."""
        return 0.5 * float(self.mu_squared) * (1 + 1e-15)

    def work(self, s: complex) -> int:
        """Return the number of nodes of the quadrature."""
        alpha = mixture_of(self).alpha(np.array([s]))
        try:
            alpha = np.where(alpha.imag < 0, alpha.conj(), alpha)
            return gaussian_mixtures.choose_rule(mixture_of(self), alpha).z.size
        except NotCertified:
            return UNREACHABLE

    @property
    def gdp_bound(self) -> float:
        """Return the Gaussian's mu: forgetting the sample is post-processing."""
        return math.sqrt(self.mu_squared) * (1 + 1e-15)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the Gaussian's profile at a shifted epsilon (pairs/subsampling_formulas.py)."""
        mu = math.sqrt(self.mu_squared)
        through = (
            gaussian_mixtures.removal_profile
            if self.removal
            else gaussian_mixtures.addition_profile
        )
        return through(lambda x: gaussian_profile(mu, x), self.sampling_rate, epsilon)

    def beyond(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose Q(L > eps) at eps >= 0, by which the profile falls with e^eps.

        Statement: with l = mu z - mu^2/2, the loss is log(1 + q (e^l - 1)) for removal, above eps
            where l > log(1 + (e^eps - 1)/q), and its negative for addition, above eps where
            l < log(1 - (1 - e^{-eps})/q).
        Rounds: both ways, by moving the normal law's argument.
        """
        mu, rate = math.sqrt(self.mu_squared), float(self.sampling_rate)
        with np.errstate(over="ignore"):
            exact = np.expm1(epsilon if self.removal else -epsilon) / rate
        shift = np.clip(exact, _LEAST_SHIFT, _LARGEST_SHIFT)
        log_likely = np.log1p(shift)
        x = log_likely / mu + 0.5 * mu
        moved = np.abs(log_likely) + np.abs(shift) / (1.0 + shift)
        slack = (
            8 * enclosure.ELEMENTARY_ULPS * enclosure.UNIT_ROUNDOFF * (moved / mu + np.abs(x) + mu)
        )
        digits = 128 * enclosure.UNIT_ROUNDOFF * (1.0 + x * x + mu * mu)
        if self.removal:
            ends = [normal_distribution.ndtr(-x - slack), normal_distribution.ndtr(-x + slack)]
        else:
            ends = [
                float(1 - self.sampling_rate) * normal_distribution.ndtr(one)
                + rate * normal_distribution.ndtr(one - mu)
                for one in (x - slack, x + slack)
            ]
        low = np.maximum(ends[0] * (1.0 - digits) - 1e-300, 0.0)
        return np.where(shift == exact, low, 0.0), ends[1] * (1.0 + digits) + 1e-300

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted loss density."""
        mixture = mixture_of(self)
        masses, widths = mixture.layers(mixture.cells(c), np.array([moment.upper]))
        return Smoothness(0.0, masses[0], widths[0])

    def envelope(self, c: float, moment: Bound) -> tuple[Reals, Reals]:
        """Return heights and rates from a shifted contour."""
        mixture = mixture_of(self)
        heights, rates = mixture.envelope(mixture.cells(c), np.array([moment.lower]))
        return heights[0], rates[0]


@lru_cache(maxsize=512)
def _alone(pair: SubsampledGaussianPair, s: complex) -> Enclosure:
    """Enclose K at one argument, which an answer and both halves of its proof ask for in turn."""
    return pair._cgf(np.array([s]), 0)  # noqa: SLF001  # what a method caches for its class


@lru_cache(maxsize=256)
def mixture_of(pair: SubsampledGaussianPair, kind: type[Any] = np.float64) -> GaussianMixtures:
    """Return the pair's one mixture, as floats."""
    return GaussianMixtures.of(
        [pair.mu_squared], [pair.sampling_rate], removal=pair.removal, dtype=np.dtype(kind)
    )


def small_moments(
    mixture: GaussianMixtures, alpha: Complexes, rule: TrapezoidRules, log_ratio: enclosure.Numbers
) -> Enclosure:
    """Return log1p of the sum of second-order terms, for one mixture.

    With g = log(1+u) a term is w (e^{alpha g} - 1 - alpha g + alpha (g - u)). An error d in u (from
    rounding l) moves it by |alpha ((1+u)^{alpha-1} - 1)| d / |1+u|, at most 2 |alpha| min((|alpha|
    + 1) |g|, 1) max(e^{Re alpha Re g}, 1) d / |1+u|, as Im alpha Im g >= 0. Where |alpha g| > 3 the
    rounding of a term is linear in |alpha g|, not quadratic, as it is not summed by Taylor.
    """
    growth, log_weights = log_ratio[0], rule.log_weights[0]
    bent, digits = (one[0] for one in mixture.curvature(rule, log_ratio))
    second = elementary.exp_minus_linear(alpha, growth, log_weights)
    excess = second + alpha * bent.sum()

    grown, blur, moved = np.abs(growth), np.abs(log_weights), mixture.slip(rule, log_ratio)[0]
    size = np.abs(alpha)
    far = size.min() * grown > elementary.TAYLOR_RADIUS
    constant = np.where(far, 4.0 * enclosure.ELEMENTARY_ULPS + 64 + 2.0 * blur, 0.0)
    linear = np.where(far, 8.0 * grown + moved, grown * moved)
    square = np.where(
        far, 0.0, grown * ((13 * enclosure.ELEMENTARY_ULPS + 88 + 14.0 * blur) * grown + moved)
    )
    tilts = enclosure.distinct(alpha.real)
    exponent = np.maximum(tilts[:, None] * growth.real, 0.0) + log_weights.real
    sums = np.exp(exponent) @ np.column_stack([constant, linear, square])
    sums = sums[np.searchsorted(tilts, alpha.real)]
    flat = np.abs(bent) @ digits
    spread = sums[:, 0] + size * (sums[:, 1] + flat + size * sums[:, 2])
    truncation = math.exp(rule.log_truncation[0])
    kind = mixture.q.dtype
    unit = enclosure.unit_roundoff(kind) * (1.0 if kind == np.float64 else elementary.LONGER)
    return elementary.log1p_enclosure(excess, unit * spread + truncation)


_MANY = 16  # Fewest pairs that are bundled. Heuristic.
# Largest rate bundled: at larger ones more than layers is known of the loss. Heuristic.
_RARE = Fraction(1, 32)
_MOST = 1 << 15  # Largest sum of counts: a plain sum errs by approximately 1e-13 a part. Heuristic.
_TOGETHER = 64  # Mixtures in one array. Heuristic.
_WIDTH = 0.02  # Rounding of log widths of layers. Heuristic: widths are rounded down.
# Layers narrower than the widest by e to this are left out, which is sound. Heuristic.
_NARROW = 30.0
_SLACK = 1 + 1e-12  # Above the rounding of sums. Soundness depends on it.

Block = tuple[GaussianMixtures, Reals]


@final
@dataclass(frozen=True, slots=True)
class SubsampledGaussians(CommonSupport, ExactPair):
    """Independent subsampled Gaussian pairs of one direction, each with a count."""

    parts: tuple[tuple[SubsampledGaussianPair, int], ...]  # pairs and counts
    removal: bool  # the direction of all
    # the same in arrays, with their counts; those of similar noise together
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
        each = (
            -count * gaussian_mixtures.log_unsampled(pair.sampling_rate)
            for pair, count in self.parts
        )
        return math.fsum(each) * _SLACK

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose the sum of the parts' K, each the log of a plain sum."""
        blocks = self.blocks
        alpha = blocks[0][0].alpha(s)
        flipped = alpha.imag < 0
        alpha = np.where(flipped, alpha.conj(), alpha)
        if alpha.size > 1 and any(mixtures.spread_out(alpha) for mixtures, _ in blocks):
            return joined([self.cgf(part) for part in np.array_split(s, 2)])
        parts = [enclosure.weighted_sum(one, counts) for one, counts in _each(blocks, alpha)]
        values, radii = np.stack([one.value for one in parts]), [one.radius for one in parts]
        total = enclosure.weighted_sum(Enclosure(values, np.stack(radii)), np.ones(len(parts)))
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
        """Return the unsampled rho: Rényi divergence is quasi-convex, so mixing only helps."""
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
            return sum(
                gaussian_mixtures.choose_rule(mixtures, alpha).z.size for mixtures, _ in blocks
            )
        except NotCertified:
            return UNREACHABLE

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return the layers of all parts: log(1 - x) <= -x, so their deficits add up.

        A layer counts as narrower than it is, which has a smaller deficit.
        """
        blocks = self.blocks
        alpha = blocks[0][0].alpha(np.array([c + 0j]))
        masses, widths = [], []
        for (mixtures, counts), (one, _) in zip(blocks, _each(blocks, alpha), strict=True):
            upper = one.value[:, 0].real + one.radius[:, 0]
            mass, width = mixtures.layers(mixtures.cells(c), upper)
            masses.append((counts[:, None] * mass)[mass > 0.0])
            widths.append(width[mass > 0.0])
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
        rule = gaussian_mixtures.choose_rule(mixtures, alpha)
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
