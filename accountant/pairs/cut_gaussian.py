"""A rarely subsampled Gaussian whose largest losses are set aside.

Over very many steps at tiny rates the loss is next to Gaussian and far below every loss that is
likely in one step: the tilts that suit it make moments of the whole pair infinite to a float.
Without the outcomes beyond some end, which are next to never met, all of its moments are tame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Reals, joined
from dpproof.accountant.arithmetic.normal_distribution import log_odds_quantile, ndtr
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.gaussian_mixtures import TrapezoidRules
from dpproof.accountant.pairs.pair import Pair, Smoothness
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import (
    SubsampledGaussianPair,
    mixture_of,
    small_moments,
)

# Shares of delta that are set aside, of typical and of all losses. Heuristic: they are bounded.
_SHARE, _LITTLE = 1e-12, 3e-3
_TAME = 3.0  # Standard deviations of all steps' loss that one step's may have. Heuristic.
_NODES, _RATIO = 20, 4.0  # Of the rule on a panel, and its ellipse. Error bounds depend on both.
_LEFT = -9.0  # Where the first panel begins. Error bounds depend on it.
_PANEL = 0.75  # Mu times the longest panel. Heuristic.
# A mu, and minus the log of a delta, beyond which nothing is cut. Heuristic.
_LARGEST_MU, _TINY = 8.0, 600.0
# Radians by which a power turns on a panel, most panels, and most terms at once. Heuristic.
_TURN, _MOST, _BLOCK = 4.0, 4096, 1 << 20
# Largest u that is small on an ellipse, and largest rate. Soundness needs them below 1/2.
_SMALL, _LARGEST_RATE = 0.25, 0.25
_FAR = 1.0  # A K of one step that no question is about. Heuristic.
_RULE = np.polynomial.legendre.leggauss(_NODES)
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

    Attributes:
        whole: the pair.
        end: e.
        outside: an upper bound of p for removal.
        counted: whether outcomes beyond the end count as an infinite loss, or not at all.
    """

    whole: SubsampledGaussianPair
    end: float
    outside: float
    counted: bool = True

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
        return np.array(edges), _panels(edges)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K by Gauss's rule on panels, as the log of 1 plus terms of second order."""
        mixture = mixture_of(self.whole)
        alpha = mixture.alpha(s)
        flipped = alpha.imag < 0
        alpha = np.where(flipped, alpha.conj(), alpha)
        edges, rule = self._rule(np.abs(alpha).max())
        if alpha.size > 1 and alpha.size * rule.z.size > _BLOCK:
            return joined([self.cgf(part) for part in np.array_split(s, 2)])
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
        panels = inside.sum() * 4.0 * _RATIO ** (1.0 - 2 * _NODES) / (_RATIO - 1.0)
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
        length = min(_PANEL / mu, 1.0, _TURN * (1.0 + likely) / (top * mu * likely))
        edges.append(max(edges[-1] - length, _LEFT))
        if len(edges) > _MOST:
            raise NotCertified(f"a moment of order {top:.6g} is out of reach; {EASIER}")
    return tuple(edges[::-1])


@lru_cache(maxsize=16)
def _panels(edges: tuple[float, ...]) -> TrapezoidRules:
    """Return Gauss's rule on every panel; what it leaves out depends on the moment."""
    left, half = np.array(edges[:-1])[:, None], 0.5 * np.diff(edges)[:, None]
    z = (left + half * (1.0 + _RULE[0])).reshape(1, -1)
    weights = np.log(half * _RULE[1] / math.sqrt(2 * math.pi)).reshape(1, -1)
    unknown = np.array([math.inf])
    return TrapezoidRules(z, np.zeros(1), weights - 0.5 * z * z, unknown, unknown)


def cut(
    product: Product, delta: float | None = None, epsilon: float = 0.0, *, rare: bool = False
) -> Product:
    """Return a product with large losses set aside, if one rarely subsampled Gaussian is all of it.

    It is the product itself otherwise, and if one step may lose more than a few standard deviations
    of the loss of all, unless rare losses are asked about.
    Heuristic: the choice is between two valid brackets.

    Args:
        product: what is asked about.
        delta: at which epsilon is asked for; None estimates that of an epsilon.
        epsilon: at which delta is asked for.
        rare: whether steps may lose more than typical ones.
    """
    pair, count = (product.factors[0].pair, product.factors[0].count) if product.factors else (0, 0)
    if not isinstance(pair, SubsampledGaussianPair) or len(product.factors) > 1:
        return product
    mu, log_q = math.sqrt(pair.mu_squared), math.log(pair.sampling_rate)
    if not (epsilon >= 0.0 and mu < _LARGEST_MU and pair.sampling_rate <= _LARGEST_RATE):
        return product
    spread = math.exp(0.5 * (math.log(count) + math.log(math.expm1(mu * mu))) + log_q)
    last = math.inf
    if delta is None:
        loss = np.linspace(0.0, min(epsilon, 600.0), 65)
        with np.errstate(over="ignore"):  # what is beyond floats is beyond all deltas
            z = (np.log1p(np.expm1(loss) * math.exp(-log_q)) + 0.5 * mu * mu) / mu
            one = np.minimum(count * (ndtr(-z) + math.exp(log_q) * ndtr(mu - z)), 1.0)
            rest = (epsilon - loss) / spread  # what the typical losses of the others come to
            sizes = one * np.exp(-0.5 * rest * rest) / (1.0 + rest) ** 2
        delta, last = float(sizes.max()) * min(spread, 1.0), float(z[-1])
    if not delta > math.exp(-_TINY):
        return product
    log_odds = math.log(count) - math.log(_LITTLE if rare else _SHARE) - math.log(min(delta, 1.0))
    end = max(log_odds_quantile(log_odds), mu + log_odds_quantile(max(log_odds + log_q, 1.0)))
    if rare:
        end = max(min(end, last), mu)
    elif log_q + mu * end - 0.5 * mu * mu > math.log(min(_TAME * spread, 0.3 * _SMALL)):
        return product
    tails = ndtr(np.array([-end, mu - end]))
    outside = float(tails[0] + math.exp(log_q) * tails[1]) * (1 + 1e-9)
    return Product.of(CutGaussianPair(whole=pair, end=end, outside=outside)).times(count)
