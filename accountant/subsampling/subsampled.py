"""A product of pairs released together on one random sample, as one pair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Context, localcontext
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.engine.contour import chernoff
from dpproof.accountant.engine.profile import deltas, epsilon, infinite_mass, max_loss
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.pairs.finite import AtomicPair
from dpproof.accountant.pairs.fixed_sample_gaussian import FixedSampleGaussianPair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.gaussian_mixtures import (
    addition_profile,
    log_unsampled,
    removal_profile,
    replacement_profile,
)
from dpproof.accountant.pairs.laplace import RandomizedResponsePair, as_decimal
from dpproof.accountant.pairs.pair import CommonSupport, Exponentials, Lattice, Pair, required_rate
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling.tabulated import TabulatedPair, base_corners

_TINY = 1e-115  # A base's delta at which a table ends. Heuristic: what is beyond is added.
# Least delta at which a profile that ends at ``_TINY`` is inverted. Smaller ones raise.
_LEAST_LEVEL = 1e-100
# Orders beyond s at which a tail's bound is tried, relative to s + 1. Heuristic: each is valid.
_AHEAD = np.geomspace(0.02, 5e3, 40)
_ROUNDING = 1e-13  # Above the relative rounding of logs of bounds. Soundness depends on it.
# Largest mu^2 of a quadrature, and log of an atom that does not count. Heuristic.
_LEAST_NOISE, _GONE = 16, -60.0
_MILD, _LARGE = Fraction(1, 10**9), 600  # epsilons of a response whose sample is finite in floats


class Direction(Enum):
    """The effect of the sample on (P, Q); see pairs/subsampling_formulas.py for the theorems."""

    REMOVAL = "removal"
    ADDITION = "addition"
    REPLACEMENT = "replacement"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledPair(TabulatedPair):
    """The pair whose profile follows from that of ``base`` by a subsampling theorem.

    Attributes:
        base: the releases that share the sample, in this direction.
        sampling_rate: exact, in (0, 1).
        direction: the theorem that applies.
    """

    base: Product
    sampling_rate: Fraction
    direction: Direction
    is_quick: ClassVar[bool] = True  # It costs as much as the base's.
    least_level: ClassVar[float] = _LEAST_LEVEL

    def __post_init__(self) -> None:
        """Refuse rates whose logs are not representable as floats."""
        required_rate(sampling_rate=self.sampling_rate)

    def swapped(self) -> SubsampledPair:
        """Return the other direction with the base swapped; replacement is its own swap."""
        if self.direction is Direction.REPLACEMENT:
            return self
        other = Direction.ADDITION if self.direction is Direction.REMOVAL else Direction.REMOVAL
        return SubsampledPair(
            base=self.base.swapped(), sampling_rate=self.sampling_rate, direction=other
        )

    @property
    def zcdp_bound(self) -> float:
        """Return the sum of the base's rho.

        Rényi divergences are quasi-convex, so mixing with Q only helps.
        """
        return self.base.added(lambda pair: pair.zcdp_bound) * (1 + 1e-14)

    @property
    def gaussian_tail(self) -> float:
        """Return the base's, but for addition: no rate is small where delta is small enough."""
        if self.direction is Direction.ADDITION:
            return 0.0
        return self.base.added(lambda pair: pair.gaussian_tail)

    @property
    def gdp_bound(self) -> float:
        """Return the root of the sum of the base's squared mu.

        Forgetting the sample is post-processing.
        """
        squares = self.base.added(lambda pair: pair.gdp_bound**2)
        return math.sqrt(squares) * (1 + 1e-14)

    @property
    def is_exact(self) -> bool:
        """Return whether the pair has finitely many outcomes of known masses."""
        return _exact(self) is not None

    def above(self, count: int) -> Pair:
        """Return the exact pair of a sampled randomised response, otherwise a table."""
        return _exact(self) or TabulatedPair.above(self, count)

    def below(self, count: int) -> Pair:
        """Return the exact pair of a sampled randomised response, otherwise a table."""
        return _exact(self) or TabulatedPair.below(self, count)

    @property
    def leads(self) -> bool:
        """Return False for an addition, whose swapped pair is a removal."""
        return self.direction is not Direction.ADDITION

    @property
    def corners(self) -> Reals | None:
        """Return the base's losses transformed by the theorem, if they are few."""
        return _corners(self)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by the theorem, from the base's profile."""
        through = {
            Direction.REMOVAL: removal_profile,
            Direction.ADDITION: addition_profile,
            Direction.REPLACEMENT: replacement_profile,
        }[self.direction]
        return through(lambda x: deltas(self.base, x), self.sampling_rate, epsilon)

    @property
    def end(self) -> float:
        """Return the loss beyond which the base's profile is below 1e-115 or constant.

        It is the base's loss transformed by the theorem.
        """
        rate = float(self.sampling_rate)
        if self.direction is Direction.ADDITION:
            return -log_unsampled(self.sampling_rate) * (1 + 1e-12)
        base = min(epsilon(self.base, _TINY).upper, max(max_loss(self.base), 0.0))
        if math.isinf(base):
            base = min(max(max_loss(self.base), 0.0), 60.0)
        grown = math.log1p(rate * math.expm1(base)) if base < 600 else base + math.log(rate)
        return max(grown * (1 + 1e-12), 1e-300)

    @property
    def rest(self) -> float:
        """Return the sampling rate times the base's infinite mass, rounded down; 0 for addition."""
        if self.direction is Direction.ADDITION:
            return 0.0
        return float(self.sampling_rate) * infinite_mass(self.base.below()).lower * (1 - 1e-12)

    def tail(self, s: Reals, end: float) -> tuple[float, Reals]:
        """Bound what losses beyond an end add: no loss of an addition, the base's by Chernoff.

        It is infinite if the base has infinite losses.
        """
        if self.direction is Direction.ADDITION:
            return max(end, self.end), np.full(s.shape, -math.inf)
        return end, self._log_tail(s, end)

    def order_beyond(self, s: float, table: Pair) -> float:
        """Return the order of Chernoff's bound that leaves least beyond a table's end."""
        c, bounds = self._tails(np.array([s]), max(table.max_loss, 0.0))
        return float(c[0, np.argmin(bounds[0])])

    def _log_tail(self, s: Reals, end: float) -> Reals:
        """Bound the log of the tail integral beyond T = e^end.

        It is s(s+1) q times the integral of t^{s-1} H_a(base) over t > T, over T^s.
        """
        if infinite_mass(self.base.above()).upper > 0:
            return np.full(s.shape, math.inf)
        least = np.asarray(self._tails(s, end)[1].min(axis=1))
        return least + np.log(s) + np.log1p(s) + math.log(self.sampling_rate)

    def _tails(self, s: Reals, end: float) -> tuple[Reals, Reals]:
        """Return orders c beyond each s, and logs of Chernoff's bounds of H_a(base), over c - s."""
        log_rate = math.log(self.sampling_rate)
        if end < 1.0:  # 1 - (1 - q) e^-end would lose the digits of a small q
            argument = math.log1p(math.expm1(end) / float(self.sampling_rate))
        else:
            kept = math.log1p(-float(1 - self.sampling_rate) * math.exp(-end))
            argument = end + kept - log_rate
        ahead = (1.0 + s)[:, None] * _AHEAD
        c = s[:, None] + ahead
        cgf = total_cgf(self.base.above(), c.ravel() + 0j)
        high = (cgf.value.real + cgf.radius).reshape(c.shape)
        bound = chernoff(c, high, argument) + _ROUNDING * c * (1.0 + argument)
        return c, np.asarray(bound - np.log(ahead))


def _exact(pair: SubsampledPair) -> SampledResponsePair | None:
    """Return the finite pair of one randomised response on a Poisson sample, else None."""
    if pair.direction is Direction.REPLACEMENT or len(pair.base.factors) != 1:
        return None
    base = pair.base.factors[0]
    response = base.pair
    if base.count != 1 or not isinstance(response, RandomizedResponsePair):
        return None
    if response.infinite or not _MILD <= response.epsilon <= _LARGE:
        return None
    return SampledResponsePair(
        response=response,
        sampling_rate=pair.sampling_rate,
        removal=pair.direction is Direction.REMOVAL,
    )


@lru_cache(maxsize=256)
def _corners(pair: SubsampledPair) -> Reals | None:
    """Return the losses of a sample above 0, from those of its base."""
    rate, addition = float(pair.sampling_rate), pair.direction is Direction.ADDITION
    base = min(epsilon(pair.base, _TINY).upper, max_loss(pair.base))
    loss = base_corners(pair.base, base) if math.isfinite(base) and base < _LARGE else None
    if loss is None:
        return None
    return -np.log1p(rate * np.expm1(-loss)) if addition else np.log1p(rate * np.expm1(loss))


def tabulated(pair: Pair) -> Pair:
    """Return the pair itself, or a subsampled Gaussian as a pair answered from a table."""
    if not isinstance(pair, SubsampledGaussianPair):
        return pair
    return SubsampledPair(
        base=Product.of(GaussianPair(mu_squared=pair.mu_squared)),
        sampling_rate=pair.sampling_rate,
        direction=Direction.REMOVAL if pair.removal else Direction.ADDITION,
    )


def untabulated(product: Product) -> Product:
    """Return the product, Gaussians on fixed-size samples with their own K where losses spread out.

    Heuristic: the atom at a loss of 0 has to vanish among all releases.
    """
    if not any(isinstance(one.pair, SubsampledPair) for one in product.factors):
        return product
    found = [Factor(_by_rule(one.pair, one.count), one.count) for one in product.factors]
    return product if tuple(found) == product.factors else Product.merge(found)


def _by_rule(pair: Pair, count: int) -> Pair:
    """Return the pair whose K is a quadrature, or the pair itself."""
    if not isinstance(pair, SubsampledPair) or pair.direction is not Direction.REPLACEMENT:
        return pair
    gaussian = pair.base.summed().factors
    if len(gaussian) != 1 or not isinstance(gaussian[0].pair, GaussianPair):
        return pair
    square = gaussian[0].count * gaussian[0].pair.mu_squared
    fixed = FixedSampleGaussianPair(mu_squared=square, sampling_rate=pair.sampling_rate)
    atom = float(1 - pair.sampling_rate) * math.erf(math.sqrt(square / 8))
    return fixed if square <= _LEAST_NOISE and count * math.log(atom) < _GONE else pair


# Decimal digits of masses and losses before they are rounded to floats. Error bounds depend on it:
# P/Q may be as close to 1 as the least rate times the least epsilon, 1e-109, and 1 - rate to 0.
_DIGITS = 250


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SampledResponsePair(CommonSupport, AtomicPair):
    """((1-q) Q + q P, Q) for removal, (P, (1-q) P + q Q) otherwise, of a randomised response.

    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11; of finitely many outcomes so sampled
        nothing has to be bounded (proofs/theory/sampled.md, section 9).
    Rounds: masses and losses are computed with 250 digits and rounded to the nearest float.

    Attributes:
        response: of a finite loss, no mass outside.
        sampling_rate: exact, in (0, 1).
        removal: the direction.
    """

    response: RandomizedResponsePair
    sampling_rate: Fraction
    removal: bool

    @property
    def atoms(self) -> Atoms:
        """Return the atoms, computed once and cached."""
        return _outcomes(self)[0]

    def swapped(self) -> SampledResponsePair:
        """Return the pair of the other direction, as the response is its own swap."""
        return replace(self, removal=not self.removal)

    @property
    def max_loss(self) -> float:
        """Return the largest loss, rounded up."""
        return float(self.atoms.loss.max()) * (1 + 1e-15)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return int(self.atoms.loss.size)

    def lattice(self, c: float) -> Lattice | None:
        """Return the lattice of two losses, or None for three, which are not tried."""
        atoms, span = _outcomes(self)
        if atoms.loss.size != 2:
            return None
        return Lattice(float(atoms.loss[1]), span, atoms.adjacency(np.array([1.0, 0.0]), c))

    def exponentials(self) -> Exponentials:
        """Return the masses times e^{-l/2} at the losses."""
        atoms = self.atoms
        return Exponentials(atoms.loss, np.exp(atoms.log_p - 0.5 * atoms.loss)[:, None])


@lru_cache(maxsize=256)
def _outcomes(pair: SampledResponsePair) -> tuple[Atoms, float]:
    """Return the atoms and the difference of the first two losses."""
    with localcontext(Context(prec=_DIGITS)):
        grown = as_decimal(pair.response.epsilon).exp()
        total = grown + pair.response.categories - 1
        kept = [grown / total, 1 / total, (pair.response.categories - 2) / total]
        lost = [kept[1], kept[0], kept[2]]
        rate = as_decimal(pair.sampling_rate)
        if pair.removal:
            p, q = [(1 - rate) * b + rate * a for a, b in zip(kept, lost, strict=True)], lost
        else:
            p, q = kept, [(1 - rate) * a + rate * b for a, b in zip(kept, lost, strict=True)]
        outcomes = [(a, b) for a, b in zip(p, q, strict=True) if a]
        losses = [(a / b).ln() for a, b in outcomes]
        log_p = np.array([float(a.ln()) for a, _ in outcomes])
        atoms = Atoms(log_p, np.array([float(loss) for loss in losses]), 0.0, 0.0)
        return atoms, float(losses[0] - losses[1])
