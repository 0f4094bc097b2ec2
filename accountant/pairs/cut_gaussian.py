"""Gaussian pairs of which a part is not seen: cut at an interval, or folded at a floor.

Over very many steps at tiny rates the loss is next to Gaussian and far below every loss that is
likely in one step: the tilts that suit it make moments of the whole pair infinite to a float.
Without the outcomes beyond some end, which are next to never met, all of its moments are tame.

P has the loss G ~ N(mu^2/2, mu^2) with ``weight`` times its density above the floor f, and its
other mass at f. Q has density e^{-loss} there and its other mass off P, so the swapped pair has
infinite losses. With a = (f - mu^2/2)/mu, z = t mu - a and erfcx(u) = e^{u^2} erfc(u),

    M(t) = e^{tf} (atom + weight e^{-a^2/2} erfcx(-z/sqrt 2)/2)
         = e^{tf} (atom - weight e^{-a^2/2} erfcx(z/sqrt 2)/2) + weight e^{t(t+1) mu^2/2},

the first for Re z <= 0, the second for Re z > 0. M is entire, but K has branch points where M is 0.
Assumption: scipy.special.wofz is within 1e-13 of itself on the upper half-plane.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from dpproof.accountant.arithmetic import enclosure
from dpproof.accountant.arithmetic.elementary import log_of_sum
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Complexes, Enclosure, Reals
from dpproof.accountant.arithmetic.normal_distribution import log_odds_quantile, ndtr
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import EASIER, NotCertified, ParameterError
from dpproof.accountant.pairs.finite import nearest_mass
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.gaussian_mixtures import TrapezoidRules
from dpproof.accountant.pairs.pair import ExactPair, Pair, Smoothness, required_square
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import (
    SubsampledGaussianPair,
    mixture_of,
    small_moments,
)

# Shares of delta that are set aside, of typical and of all losses. Heuristic: they are bounded.
_SHARE, _LITTLE = 1e-12, 3e-3
_TAME = 3.0  # Standard deviations of all steps' loss that one step's may have. Heuristic.
NODES, RATIO = 20, 4.0  # Of the rule on a panel, and its ellipse. Error bounds depend on both.
_LEFT = -9.0  # Where the first panel begins. Error bounds depend on it.
PANEL = 0.75  # Mu times the longest panel. Heuristic.
# A mu, and minus the log of a delta, beyond which nothing is cut. Heuristic.
_LARGEST_MU, _TINY = 8.0, 600.0
# Radians by which a power turns on a panel, most panels, and most terms at once. Heuristic.
_TURN, _MOST, _BLOCK = 4.0, 4096, 1 << 20
# Largest u that is small on an ellipse, and largest rate. Soundness needs them below 1/2.
_SMALL, _LARGEST_RATE = 0.25, 0.25
_FAR = 1.0  # A K of one step that no question is about. Heuristic.
_RULE = np.polynomial.legendre.leggauss(NODES)
# Relative error of a term by its weight and node. Error bounds depend on it.
_DIGITS = 1e-13
_CELLS = 512  # Cells of layers. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CutGaussianPair(Pair):
    """The mixture (1-q) N(0,1) + q N(mu,1) and N(0,1), in some order, computed up to an end z = e.

    Statement: with P', Q' the parts of P and Q on {z <= e} in every one of n steps, and p the
        mass of {z > e} under P, H_t(P'|Q') <= H_t(P|Q) <= H_t(P'|Q') + 1 - (1 - p)^n.
    Proof: proofs/theory/rare.md, with what the rule for K leaves out. Only removals are cut: the
        losses of additions are tiny, and K is that of the whole pair. Where -1 <= Re s <= 0, K is
        enclosed with and without the outcomes beyond the end.
    """

    whole: SubsampledGaussianPair  # the pair
    end: float  # e
    outside: float  # an upper bound of p for removal
    counted: bool = True  # whether outcomes beyond the end count as an infinite loss, or not at all

    def swapped(self) -> CutGaussianPair:
        """Return the other direction, cut at the same end."""
        return CutGaussianPair(whole=self.whole.swapped(), end=self.end, outside=self.outside)

    def above(self, count: int) -> Pair:
        """Return the pair in which outcomes beyond the end are infinite losses."""
        return self

    def below(self, count: int) -> Pair:
        """Return the pair in which they are left out."""
        return replace(self, counted=False)

    @property
    def infinite_mass(self) -> float:
        """Return the mass beyond the end where it counts."""
        return self.outside if self.counted and self.whole.removal else 0.0

    @property
    def max_loss(self) -> float:
        """Return the loss at the end, rounded up, or that of the whole pair for addition."""
        if not self.whole.removal:
            return self.whole.max_loss
        return float(self._growth(np.array([self.end]))[0]) * (1 + 1e-9)

    def work(self, s: complex) -> int:
        """Return the number of nodes."""
        return self._rule(abs(s) + 1.0)[1].z.size

    def _growth(self, z: Reals) -> Reals:
        """Return log(1 + u) at some z, to nearly all digits."""
        return np.asarray(mixture_of(self.whole).log_ratio(z[None, :], np.zeros(1)).real[0])

    def _rule(self, top: float) -> tuple[Reals, TrapezoidRules]:
        """Return the ends of panels for powers up to some size, and Gauss's rule on them."""
        mu, q = math.sqrt(self.whole.mu_squared), float(self.whole.sampling_rate)
        edges = _edges(mu, q, self.end, 2.0 ** math.ceil(math.log2(top + 1.0)))
        return np.array(edges), gauss_panels(edges)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K by Gauss's rule on panels, as the log of 1 plus terms of second order."""
        mixture = mixture_of(self.whole)
        alpha = mixture.alpha(s)
        flipped = alpha.imag < 0
        alpha = np.where(flipped, alpha.conj(), alpha)
        edges, rule = self._rule(np.abs(alpha).max())
        if alpha.size > 1 and alpha.size * rule.z.size > _BLOCK:
            return enclosure.joined([self.cgf(part) for part in np.array_split(s, 2)])
        growth = mixture.log_ratio(rule.z, rule.shift)
        with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused
            missed = self._missed(alpha, edges, rule, growth[0].real)
        cgf = small_moments(mixture, alpha, replace(rule, log_truncation=np.log(missed)), growth)
        return Enclosure(np.where(flipped, cgf.value.conj(), cgf.value), cgf.radius)

    def _missed(self, alpha: Complexes, edges: Reals, rule: TrapezoidRules, growth: Reals) -> Reals:
        """Bound what the rule and the end leave out of M - 1, for the largest of some alpha."""
        mu, q = math.sqrt(self.whole.mu_squared), float(self.whole.sampling_rate)
        top, raised = np.abs(alpha).max(), max(alpha.real.max(), 0.0)
        lowered = -max(-alpha.real.min(), 0.0) * math.log1p(-q)
        length = np.diff(edges)
        reach = 0.5625 * length
        u = q * (1.0 + np.exp(mu * (edges[1:] + reach) - 0.5 * mu * mu))
        near = np.maximum(np.maximum(edges[:-1] - reach, -edges[1:] - reach), 0.0)
        gamma = -np.log1p(-np.minimum(u, _SMALL))
        second = 0.5 * (top * gamma) ** 2 * np.exp(top * gamma) + top * u * u
        turn = 0.9375 * length * mu * np.minimum(u / (1.0 - q), 1.0)
        power = np.exp(lowered + raised * np.log1p(u) + alpha.imag.max() * turn)
        inside = np.minimum(np.where(u < _SMALL, second, np.inf), power + 1.0 + top * u)
        inside *= np.exp(0.5 * (0.9375 * length) ** 2 - 0.5 * near * near) * length
        panels = inside.sum() * 4.0 * RATIO ** (1.0 - 2 * NODES) / (RATIO - 1.0)
        near_zero = 2.0 * (top * q) ** 2 * np.exp(2.0 * top * q) + top * q * q
        left = near_zero * float(ndtr(np.array(_LEFT)))
        beyond = ndtr(np.array([-self.end, mu - self.end]))
        u, size = np.abs(np.expm1(growth)), np.abs(growth)
        grown = np.exp(lowered + raised * np.maximum(growth, 0.0))
        size *= top
        terms = np.minimum(0.5 * size * size * grown, grown + 1.0 + size) + top * u * u
        moved = top * mu * (u + q) * np.exp(-growth) * (np.minimum(size, 2.0) * grown + u)
        digits = np.exp(rule.log_weights[0].real) @ (terms * (1.0 + np.abs(rule.z[0])) + moved)
        aside = 2.0 * beyond[0] + (2.0 + top) * q * beyond[1]
        total = panels + left + aside + _DIGITS * digits
        if not (q <= _LARGEST_RATE and math.isfinite(total)):
            raise NotCertified(f"a moment of order {top:.6g} is out of reach; {EASIER}")
        return np.array([total * (1 + 1e-6)])

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' up to where one step's loss is beyond all reach."""
        steered = Pair.steer(self, c)
        if not steered[0].max() < _FAR:
            raise NotCertified(f"a moment of order {c.max():.6g} is out of reach; {EASIER}")
        return steered

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted loss density up to the end."""
        z = np.linspace(_LEFT, self.end, _CELLS + 1)[None, :]
        growth = self._growth(z[0])[None, :]
        mixture, log_phi = mixture_of(self.whole), -0.5 * math.log(2 * math.pi) - 0.5 * z * z
        cells = mixture.power(c).reshape(1, 1), z, growth, log_phi
        masses, widths = mixture.layers(cells, np.array([moment.upper]))
        return Smoothness(0.0, masses[0], widths[0])


@lru_cache(maxsize=64)
def _edges(mu: float, q: float, end: float, top: float) -> tuple[float, ...]:
    """Return the ends of panels on which powers of 1 + u up to some size turn little."""
    edges = [end]
    while edges[-1] > _LEFT:
        likely = q * math.exp(mu * edges[-1] - 0.5 * mu * mu)
        length = min(PANEL / mu, 1.0, _TURN * (1.0 + likely) / (top * mu * likely))
        edges.append(max(edges[-1] - length, _LEFT))
        if len(edges) > _MOST:
            raise NotCertified(f"a moment of order {top:.6g} is out of reach; {EASIER}")
    return tuple(edges[::-1])


@lru_cache(maxsize=16)
def gauss_panels(edges: tuple[float, ...]) -> TrapezoidRules:
    """Return Gauss's rule on every panel; what it leaves out depends on the moment."""
    left, half = np.array(edges[:-1])[:, None], 0.5 * np.diff(edges)[:, None]
    z = (left + half * (1.0 + _RULE[0])).reshape(1, -1)
    weights = np.log(half * _RULE[1] / math.sqrt(2 * math.pi)).reshape(1, -1)
    unknown = np.array([math.inf])
    return TrapezoidRules(z, np.zeros(1), weights - 0.5 * z * z, unknown, unknown)


def cut(
    product: Product, delta: float | None = None, epsilon: float = 0.0, *, rare: bool = False
) -> Product:
    """Return a product with large losses set aside, if rarely subsampled Gaussians are all of it.

    It is the product itself otherwise, and unless ``rare`` losses are asked about also if one step
    may lose more than a few standard deviations of the loss of all, or steps of several noises do.
    Asked is epsilon at a delta, or delta at an epsilon; without a delta that of the epsilon is
    estimated. Heuristic: the choice is between two valid brackets.
    """
    pairs = [one.pair for one in product.factors if isinstance(one.pair, SubsampledGaussianPair)]
    if not pairs or len(pairs) < len(product.factors) or (len(pairs) > 1 and not rare):
        return product
    mu = [math.sqrt(pair.mu_squared) for pair in pairs]
    log_q = [math.log(pair.sampling_rate) for pair in pairs]
    if not (epsilon >= 0.0 and max(mu) < _LARGEST_MU and max(log_q) <= math.log(_LARGEST_RATE)):
        return product
    counts = [factor.count for factor in product.factors]
    rows = zip(counts, mu, log_q, strict=True)
    logs = [0.5 * math.log(count * math.expm1(one * one)) + log for count, one, log in rows]
    spread, last = math.hypot(*(math.exp(one) for one in logs)), [math.inf] * len(mu)
    if delta is None:
        delta, last = _largest_alone(np.array(counts, dtype=float), mu, log_q, (epsilon, spread))
    if not delta > math.exp(-_TINY):
        return product
    share = math.log(_LITTLE if rare else _SHARE) + math.log(min(delta, 1.0))
    log_odds = math.log(sum(counts)) - share
    parts, most = [], math.log(min(_TAME * spread, 0.3 * _SMALL))
    near = math.sqrt(log_odds)  # no end is nearer
    losses = (log + one * near - 0.5 * one * one for one, log in zip(mu, log_q, strict=True))
    if not rare and max(losses) > most:
        return product
    for factor, pair, one, log, beyond in zip(product.factors, pairs, mu, log_q, last, strict=True):
        end = max(log_odds_quantile(log_odds), one + log_odds_quantile(max(log_odds + log, 1.0)))
        if rare:
            end = max(min(end, beyond), one)
        elif log + one * end - 0.5 * one * one > most:
            return product
        tails = ndtr(np.array([-end, one - end]))
        outside = float(tails[0] + math.exp(log) * tails[1]) * (1 + 1e-9)
        parts.append(Factor(CutGaussianPair(whole=pair, end=end, outside=outside), factor.count))
    return Product(tuple(parts))


def _largest_alone(
    counts: Reals, mu: Sequence[float], log_q: Sequence[float], at: tuple[float, float]
) -> tuple[float, list[float]]:
    """Estimate delta from one step's loss and normal ones of the others; return where it is alone.

    Heuristic. The second is where one step of each noise, which has a count, a mu and a log q, has
    a loss of epsilon; ``at`` is epsilon, and the standard deviation of the typical losses of all.
    """
    (epsilon, spread), rate = at, np.exp(np.array(log_q))
    loss = np.linspace(0.0, min(epsilon, 600.0), 65)[:, None]
    with np.errstate(over="ignore"):  # what is beyond floats is beyond all deltas
        z = (np.log1p(np.expm1(loss) / rate) + 0.5 * np.square(mu)) / mu
        one = np.minimum((counts * (ndtr(-z) + rate * ndtr(mu - z))).sum(axis=1), 1.0)
        rest = (epsilon - loss[:, 0]) / spread  # what the typical losses of the others come to
        sizes = one * np.exp(-0.5 * rest * rest) / (1.0 + rest) ** 2
    return float(sizes.max()) * min(spread, 1.0), z[-1].tolist()


_FADDEEVA = 1.1e-13  # The assumption above, with room for its use. Error bounds depend on it.
_FLOOR_DIGITS = (
    80  # Of the infinite mass, beyond those lost to cancellation. Soundness depends on it.
)
_FAR_FLOOR = 40  # Standard deviations at which a tail is below 1e-300. Soundness depends on it.
_NOT_ALL = 1 - Decimal(2) ** -60  # The infinite mass is never 1. Soundness depends on it.
_WIDTHS = np.linspace(0.02, 6.0, 150)  # Half-widths of layers, standard deviations. Heuristic.


class GaussianAboveFloor(ExactPair, ABC):
    """A pair with the loss of a Gaussian pair above a floor, in either order."""

    __slots__ = ()

    mu_squared: Fraction
    reverse: bool
    weight: ClassVar[int]  # what multiplies the Gaussian\'s density above the floor

    @property
    @abstractmethod
    def lowest(self) -> Fraction:
        """Return the floor f, at or above 0."""

    @property
    @final
    def _atom(self) -> float:
        """Return the mass at the floor, Phi(a) for weight 1 and 0 for weight 2."""
        return float(_masses(self.mu_squared, self.lowest, 1)[0]) if self.weight == 1 else 0.0

    @final
    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K; that of the swapped pair is K(-1 - s)."""
        from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

        t = -1.0 - s if self.reverse else np.asarray(s, dtype=complex)
        mu, floor = math.sqrt(self.mu_squared), float(self.lowest)
        a = floor / mu - 0.5 * mu
        z = t * mu - a
        right = z.real > 0
        turned = np.where(right, z, -z) / math.sqrt(2.0)
        tail = 0.5 * self.weight * math.exp(-0.5 * a * a) * special.wofz(1j * turned)
        low, high = t * floor, 0.5 * float(self.mu_squared) * (t * (t + 1.0))
        peak = np.where(right, np.maximum(low.real, high.real), low.real)
        with np.errstate(under="ignore"):
            first = np.exp(low - peak)
            second = np.where(right, self.weight * np.exp(np.where(right, high - peak, 0.0)), 0.0)
        total = first * (self._atom + np.where(right, -tail, tail)) + second
        blur = (64.0 * enclosure.ELEMENTARY_ULPS + 64.0) * UNIT_ROUNDOFF
        moved = (np.abs(t) + 1.0) * (floor + np.abs(t) * mu * mu + mu * mu + np.abs(a) * mu)
        slip = 16.0 * UNIT_ROUNDOFF * (1.0 + moved + a * a)
        size = np.abs(first) * (self._atom + np.abs(tail)) + np.abs(second)
        error = np.abs(first) * np.abs(tail) * _FADDEEVA + size * (blur + slip)
        return log_of_sum(total, error, peak)

    @property
    @final
    def infinite_mass(self) -> float:
        """Return Q's mass off P's support for the swapped pair, 0 for the pair itself."""
        if not self.reverse:
            return 0.0
        return nearest_mass(_masses(self.mu_squared, self.lowest, self.weight)[1])

    @property
    @final
    def max_loss(self) -> float:
        """Return infinity; for the swapped pair minus the floor, rounded up."""
        return -float(self.lowest) * (1 - 4e-16) if self.reverse else math.inf

    @property
    @final
    def zcdp_bound(self) -> float:
        """Return f + 0.8 mu + mu^2/2, rounded up.

        The loss is at most f + mu |N| + mu^2/2, and log 2 Phi(x) <= x sqrt(2/pi); the finite losses
        of the swapped pair are at most 0.
        """
        mu = math.sqrt(self.mu_squared)
        return (float(self.lowest) + 0.8 * mu + 0.5 * mu * mu) * (1 + 1e-14)

    @final
    @final
    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile.

        It is weight delta_mu(eps) from the floor on, and 1 - e^{eps - f} (1 - weight delta_mu(f))
        below; of the swapped pair 1 - e^eps + e^eps times that at -eps.
        """
        at = -epsilon if self.reverse else epsilon
        floor = float(self.lowest)
        above = gaussian_profile(math.sqrt(self.mu_squared), np.maximum(at, floor))
        rest = np.minimum(at - floor, 0.0)
        slack = 32 * enclosure.ELEMENTARY_ULPS * UNIT_ROUNDOFF * (1.0 + np.abs(at) + floor)
        ends = []
        for end, sign in zip(above, (-1.0, 1.0), strict=True):
            rest_mass = np.exp(rest) * self.weight * end
            value = np.where(at >= floor, self.weight * end, -np.expm1(rest) + rest_mass)
            if self.reverse:
                value = -np.expm1(epsilon) + np.exp(epsilon) * value
            size = np.exp(np.maximum(epsilon, 0.0)) if self.reverse else 1.0
            moved = np.where((at >= floor) & (not self.reverse), np.abs(value), size)
            ends.append(np.maximum(value + sign * slack * moved, 0.0))
        return ends[0], ends[1]

    @final
    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted density, a Gaussian's above the floor.

        Between the heights at two distances from its mean it contains a uniform law on what is
        above the floor of the smaller interval.
        """
        mu, floor = math.sqrt(self.mu_squared), float(self.lowest)
        t = -1.0 - c if self.reverse else c
        centre = mu * mu * (0.5 + t)
        start = max(0.0, (floor - centre) / mu)
        widths = start + _WIDTHS
        low = np.maximum(floor, centre - widths * mu)
        spans = centre + widths * mu - low
        # log of weight e^{t l} n(l; mu^2/2, mu^2) at the mean of the tilted law
        top = 0.5 * mu * mu * t * (t + 1.0) - moment.upper + math.log(self.weight)
        with np.errstate(under="ignore", over="ignore"):
            heights = np.exp(np.minimum(top - 0.5 * widths**2, 600.0))
        heights /= mu * math.sqrt(2 * math.pi)
        drops = heights - np.append(heights[1:], 0.0)
        masses = np.maximum(drops, 0.0) * np.maximum(spans, 0.0) * (1 - 1e-9)
        kept = (spans > 0) & (masses > 0)
        return Smoothness(masses=masses[kept], widths=spans[kept] * (1 - 1e-12))


@lru_cache(maxsize=256)
def _masses(mu_squared: Fraction, floor: Fraction, weight: int) -> tuple[Decimal, Decimal]:
    """Return Phi(a), a = (f - mu^2/2)/mu, and Q's mass off P's support, with many digits.

    That is Phi(a + mu) - e^-f Phi(a) for weight 1 and 2 Phi(a + mu) - 1 for weight 2, of the order
    of mu if mu is small: as many digits cancel as mu has zeros.
    """
    rough = (float(floor) + 0.5 * float(mu_squared)) / math.sqrt(mu_squared)
    zeros = max(-int(math.log10(mu_squared)), 0)
    digits = _FLOOR_DIGITS + int(min(rough, _FAR_FLOOR) ** 2) + zeros
    with localcontext(Context(prec=digits)):
        mu = (Decimal(mu_squared.numerator) / mu_squared.denominator).sqrt()
        f = Decimal(floor.numerator) / floor.denominator
        a = f / mu - mu / 2
        below, shifted = _normal(a, digits), _normal(a + mu, digits)
        mass = shifted - (-f).exp() * below if weight == 1 else 2 * shifted - 1
        return below, min(mass, _NOT_ALL)


def _normal(x: Decimal, digits: int) -> Decimal:
    """Return Phi(x) by its series 1/2 + phi(x) (x + x^3/3 + x^5/15 + ...), at most 40 away."""
    if abs(x) > _FAR_FLOOR:
        return Decimal(int(x > 0))
    term = total = x
    k = 1
    while term and abs(term) > abs(total) * Decimal(10) ** -digits:
        k += 2
        term = term * x * x / k
        total += term
    return Decimal("0.5") + (-x * x / 2).exp() * total / (2 * _pi(digits)).sqrt()


def _pi(digits: int) -> Decimal:
    """Return pi by Machin's formula, 16 arctan(1/5) - 4 arctan(1/239)."""
    total = Decimal(0)
    for factor, base in ((16, 5), (-4, 239)):
        power = Decimal(factor) / base
        k = 0
        while abs(power) > Decimal(10) ** (-digits - 5):
            total += power / (2 * k + 1) * (-1) ** k
            power /= base * base
            k += 1
    return total


_HIGHEST = 600  # Largest floor, nats: e to it is a float. Error bounds depend on it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FlooredGaussianPair(GaussianAboveFloor):
    """The loss max(G, floor), G ~ N(mu^2/2, mu^2) under P; Q's other mass lies off P.

    Source: proofs/theory/logistic.md, Theorem 2: the minimum of perturbed logistic losses.
    """

    mu_squared: Fraction  # exact, above 0
    floor: Fraction  # exact, at or above 0, nats
    reverse: bool = False  # whether P and Q are exchanged
    weight: ClassVar[int] = 1  # above the floor the density is the Gaussian\'s

    def __post_init__(self) -> None:
        """Refuse parameters whose powers are not representable as floats."""
        required_square(mu_squared=self.mu_squared)
        if not 0 <= self.floor <= _HIGHEST:
            raise ParameterError("floor", self.floor, f"from 0 to {_HIGHEST}")

    @property
    def lowest(self) -> Fraction:
        """Return the floor."""
        return self.floor

    def swapped(self) -> FlooredGaussianPair:
        """Return the pair in the other order."""
        return replace(self, reverse=not self.reverse)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedGaussianPair(GaussianAboveFloor):
    """The loss mu |N| + mu^2/2, N standard normal under P; Q's other mass lies off P.

    Source: proofs/theory/separators.md, Theorem 3: Gaussian noise whose shift's signs depend on the
        output.
    """

    mu_squared: Fraction  # exact, above 0
    reverse: bool = False  # whether P and Q are exchanged
    weight: ClassVar[int] = 2  # both signs of N have the same loss

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        required_square(mu_squared=self.mu_squared)

    @property
    def lowest(self) -> Fraction:
        """Return mu^2/2, the loss at N = 0."""
        return self.mu_squared / 2

    def swapped(self) -> FoldedGaussianPair:
        """Return the pair in the other order."""
        return replace(self, reverse=not self.reverse)
