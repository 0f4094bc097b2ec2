"""Prove a bound by a finite sum: a formula for the profile, or a folded sum over a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Reals, rounded_short
from dpproof.accountant.certificates.contour import Subject, quadratures
from dpproof.accountant.certificates.serialize import fact_step
from dpproof.accountant.engine.contour import alias_step, real_bounds
from dpproof.accountant.engine.profile import closed_form, deltas, infinite_mass, max_loss
from dpproof.accountant.engine.saddle_point import Saddle, total_cgf
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.pairs.cut_gaussian import FlooredGaussianPair, FoldedGaussianPair
from dpproof.accountant.pairs.finite import AtomicPair, FinitePair, LatticePair
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.laplace import (
    DiscreteLaplacePair,
    LaplacePair,
    LogisticShift,
    RandomizedResponsePair,
)
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Step, show_rational

_MANY = 900.0  # Losses of a pair beyond which another proof is used. Heuristic.
# Log of a delta that 512 bits separate from what is left out. Heuristic: the checker decides.
_RESOLVED = -320.0
# Bits with which the checker counts the losses on a lattice. Heuristic here.
_BITS = limits.PRECISIONS[0] + 8
_SHARE_OF_VALUES = limits.MAX_WORK // 4  # Share of the checker's work. Heuristic.
_CLOSED = (
    DiscreteGaussianPair
    | DiscreteLaplacePair
    | FinitePair
    | FlooredGaussianPair
    | FoldedGaussianPair
    | GaussianPair
    | LaplacePair
    | LogisticShift
    | RandomizedResponsePair
    | SubsampledGaussianPair
    | OppositeGaussiansPair
    | CountedGaussiansPair
)


@final
@dataclass(frozen=True, slots=True)
class ClosedForm:
    """A proof by the formula for the profile."""

    product: Product

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the upper end of the profile."""
        with np.errstate(divide="ignore"):
            logs = np.log(deltas(self.product, epsilon)[1])
        return np.asarray(np.logaddexp(logs, _RESOLVED) if _is_whole(self.product) else logs)

    def work(self, points: int) -> int:
        """Return the checker's work for finite sums or formulas."""
        return max(_sum_work(self.product), limits.VALUE) * points

    def fact(self, points: Points) -> Step:
        """Return the step, which needs no witness."""
        return fact_step("closed", self.product, points, {})


def has_closed_profile(product: Product, *, values: int = 1) -> bool:
    """Return whether the checker has a formula that is short enough for so many values."""
    single = closed_form(product)
    if isinstance(single, SubsampledPair):
        return has_closed_profile(single.base, values=values)
    if isinstance(single, DiscreteLaplacePair | DiscreteGaussianPair):
        return _terms(single) < _MANY
    if not product.factors or isinstance(single, _CLOSED):
        return True
    return _cells(product) > 0 or 0 < _sum_work(product) * values <= _SHARE_OF_VALUES


def _is_whole(product: Product) -> bool:
    """Return whether the checker leaves out far losses of a discrete Gaussian."""
    return any(
        isinstance(factor.pair, DiscreteGaussianPair)
        or (isinstance(factor.pair, SubsampledPair) and _is_whole(factor.pair.base))
        for factor in product.factors
    )


def _terms(pair: DiscreteLaplacePair | DiscreteGaussianPair) -> float:
    """Return how many losses the checker sums."""
    if isinstance(pair, DiscreteLaplacePair):
        return float(pair.shift)
    return 32.0 * math.sqrt(pair.sigma_squared)


def _cells(product: Product) -> int:
    """Return how many losses on one lattice the checker sums, 0 if too many or on none."""
    common, total = _common(product), 1
    for factor in product.factors:
        lattice, reach = _lattice(factor.pair), _reach(factor.pair)
        if common is None or lattice is None or reach is None:
            return 0
        total += factor.count * reach * int(lattice[1] / common[1])
    return total if total <= limits.MAX_CELLS else 0


def _reach(pair: Pair) -> int | None:
    """Return how many spans of its lattice one pair's losses extend over, None if not summed."""
    match pair:
        case RandomizedResponsePair():
            return 1 if pair.categories == 2 else 2
        case DiscreteLaplacePair():
            return pair.shift
        case DiscreteGaussianPair():
            return 2 * (math.isqrt(int(2 * pair.sigma_squared * _BITS)) + 1)
        case _:
            return None


def _sum_work(product: Product) -> int:
    """Return the checker's work for one value of a finite sum, 0 if that is too long."""
    smooth = (f.count for f in product.factors if isinstance(f.pair, LaplacePair | LogisticShift))
    terms = _sums(product)
    return limits.residues_value(terms, sum(smooth)) if terms else 0


def _sums(product: Product) -> int:
    """Return how many exponentials M of a product has, 0 if too many or if M is no such sum."""
    return limits.atoms((_exponentials(factor.pair), factor.count) for factor in product.factors)


def _exponentials(pair: Pair) -> int:
    """Return how many exponentials M of one pair has, 0 if it is no finite sum."""
    match pair:
        case LaplacePair() | LogisticShift():
            return 2
        case RandomizedResponsePair():
            return min(pair.categories, 3)
        case FinitePair():
            return sum(1 for a, b in zip(pair.p, pair.q, strict=True) if a and b)
        case DiscreteLaplacePair():
            return pair.shift + 1
        case SubsampledPair() if pair.direction is not Direction.REPLACEMENT:
            removal = pair.direction is Direction.REMOVAL
            infinite = infinite_mass(pair.base.swapped() if removal else pair.base).upper > 0
            return _sums(pair.base) + infinite if has_few_losses(pair.base) else 0
        case _:
            return 0


def has_few_losses(product: Product) -> bool:
    """Return whether the checker lists the losses, so that a sample needs no table."""
    return _sums(product) > 0 and not _is_smooth(product)


def _is_smooth(product: Product) -> bool:
    """Return whether some pair has a density."""
    return any(isinstance(factor.pair, LaplacePair | LogisticShift) for factor in product.factors)


def largest_loss(product: Product) -> float:
    """Return the largest finite loss as the checker knows it, infinite where it knows none."""
    for factor in product.factors:
        pair = factor.pair
        if isinstance(pair, SubsampledPair):
            ends = math.isfinite(max_loss(pair.base)) or pair.direction is Direction.ADDITION
            if not ends or infinite_mass(pair.base).upper > 0.0:
                return math.inf
        counted = isinstance(pair, CountedGaussiansPair) and (
            pair.removal or pair.relation != "add-remove"
        )
        if counted or isinstance(pair, AllocatedGaussianPair):
            return math.inf
    return max_loss(product)


@final
@dataclass(frozen=True, slots=True)
class LargestLoss:
    """A proof that delta is the infinite mass from the largest loss on."""

    product: Product

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the infinite mass, and 0 before the largest loss."""
        with np.errstate(divide="ignore"):
            outside = np.log(infinite_mass(self.product).upper)
        return np.where(epsilon >= max(largest_loss(self.product), 0.0), outside, 0.0)

    def work(self, points: int) -> int:
        """Return the number of comparisons."""
        return points

    def fact(self, points: Points) -> Step:
        """Return the step, which needs no witness."""
        return fact_step("bounded", self.product, points, {})


_MOST_LOSSES = 768  # Most losses that are used as points.
_NEXT, _NEAREST = 2.0**-32, 2.0**-36  # Distances past a loss, relative to it and in nats.
_EQUAL = 1e-12  # Relative distance, in units of the largest loss, of losses that count as equal.


def losses(product: Product) -> Reals | None:
    """Approximate every finite loss, increasing; return None if the checker does not list them."""
    return _summed_losses(product) if has_few_losses(product) else None


def bends(product: Product) -> Reals | None:
    """Return points just past the losses, so that chords are the profile to nine digits."""
    points = losses(product)
    if points is None or points.size > _MOST_LOSSES:
        return None
    room = np.maximum(_NEXT * np.abs(points), _NEAREST)
    return np.asarray(points + np.where(points < 0.0, -room, room))


def _summed_losses(product: Product) -> Reals:
    """Return the sums of the pairs' losses, equal ones merged."""
    totals = np.zeros(1)
    for factor in product.factors:
        own = _losses_of(factor.pair)
        for _ in range(factor.count):
            sums = np.sort(np.add.outer(totals, own).ravel())
            apart = np.diff(sums) > _EQUAL * float(np.abs(sums).max())
            totals = sums[np.append(True, apart)]
    return totals


def _losses_of(pair: Pair) -> Reals:
    """Return the losses of one pair."""
    if isinstance(pair, SubsampledPair):
        rate, base = float(pair.sampling_rate), _summed_losses(pair.base)
        sign = -1.0 if pair.direction is Direction.ADDITION else 1.0
        infinite = pair.base.swapped() if sign > 0.0 else pair.base
        kept = [np.log1p(-rate)] if infinite_mass(infinite).upper > 0.0 else []
        return np.append(np.log1p(rate * np.expm1(sign * base)), kept) * sign
    if isinstance(pair, AtomicPair):
        return pair.atoms.loss
    raise AssertionError("a pair that lists its losses")


_SHARE = limits.MAX_WORK // 4  # Share of the checker's work. Heuristic.

# Relative margin for the roundings of the sum here. Heuristic: the checker decides.
_MARGIN = 1e-10


@final
@dataclass(frozen=True, slots=True)
class FoldedSum:
    """A proof by the sum over one period."""

    subject: Subject  # all pairs on the lattice
    c: float  # abscissa
    offset: Fraction  # one loss of the product, exactly
    span: Fraction  # exactly
    s: Complexes  # shape (half + 1,), the nodes with imaginary part at or above 0
    cgf: Complexes  # shape (half + 1,), upper ends of K in modulus

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the sum, with a margin for its own roundings."""
        h, offset = float(self.span), float(self.offset)
        above = offset + h * (np.floor((epsilon - offset) / h) + 1.0)
        shift = self.cgf[0].real - self.c * above
        first = -1.0 / np.expm1(-self.s * h)
        second = -1.0 / np.expm1(-(self.s + 1.0) * h)
        kernel = first - np.exp(epsilon - above)[:, None] * second
        phase = self.cgf - np.multiply.outer(above, self.s)
        terms = (kernel * np.exp(phase - shift[:, None])).real
        total = (2.0 * terms.sum(axis=1) - terms[:, 0]) / (2 * self.s.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            finite = np.log(np.maximum(total, 0.0) + _MARGIN * np.abs(terms).mean(axis=1)) + shift
            outside = np.log(infinite_mass(self.subject.used).upper)
            return np.asarray(np.logaddexp(finite, outside) + _MARGIN)

    def work(self, points: int) -> int:
        """Return the checker's work for M at the nodes and two sums over them for each point."""
        half = self.s.size - 1
        return self.subject.work(half) + 2 * limits.line_work(half, points)

    def fact(self, points: Points) -> Step:
        """Return the step with the abscissa, the span and half the number of nodes."""
        return fact_step(
            "lattice",
            self.subject.named,
            points,
            {
                "c": show_rational(Fraction(self.c)),
                "span": show_rational(self.span),
                "nodes": self.s.size - 1,
                "factors": quadratures(self.subject, self.c),
            },
        )


def folded_sum(subject: Subject, saddle: Saddle, among: int = 1) -> FoldedSum | None:
    """Return the sum that suits a saddle, in 1/among of its work; None without a lattice."""
    product = subject.used
    common = _common(product)
    if common is None:
        return None
    offset, span = common
    c = rounded_short(saddle.c)
    on_axis = real_bounds(product, saddle)
    period = 2 * math.pi / alias_step(saddle, on_axis)
    half = max(math.ceil(period / float(span)) // 2, 1)
    if half > limits.MAX_NODES or subject.work(half) > _SHARE // among:
        return None
    turn = 2 * math.pi / ((2 * half + 1) * float(span))
    s = c + 1j * turn * np.arange(half + 1)
    return FoldedSum(subject, c, offset, span, s, total_cgf(product, s).value)


def _common(product: Product) -> tuple[Fraction, Fraction] | None:
    """Return offset and span of the product, or None."""
    offset, span = Fraction(0), Fraction(0)
    for factor in product.factors:
        lattice = _lattice(factor.pair)
        if lattice is None:
            return None
        offset += factor.count * lattice[0]
        span = Fraction(
            math.gcd(
                span.numerator * lattice[1].denominator, lattice[1].numerator * span.denominator
            ),
            span.denominator * lattice[1].denominator,
        )
    return offset, span


def _lattice(pair: Pair) -> tuple[Fraction, Fraction] | None:
    """Return offset and span of one pair, or None unless they are rational."""
    match pair:
        case RandomizedResponsePair():
            return -pair.epsilon, pair.epsilon * (2 if pair.categories == 2 else 1)
        case LatticePair() if pair.index.size <= limits.DIRECT:
            return Fraction(0), Fraction(pair.span)
        case DiscreteLaplacePair():
            return -pair.shift / pair.scale, 2 / pair.scale
        case DiscreteGaussianPair():
            span = pair.shift / pair.sigma_squared
            return pair.shift * span / 2, span
        case _:
            return None
