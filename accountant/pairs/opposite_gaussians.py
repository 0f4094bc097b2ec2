"""Opposite Gaussian mixtures: a Poisson-sampled Gaussian sum under replace-one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.arrays import distinct
from dpproof.accountant.arithmetic.elementary import (
    TAYLOR_RADIUS,
    exp_minus_linear,
    exponential_sums,
    log1p_enclosure,
    log_of_sum,
    summation_ulps,
)
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
    joined,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.domain import required_rate, required_square
from dpproof.accountant.pairs.exact import ExactPair
from dpproof.accountant.pairs.opposite_profile import opposite_profile
from dpproof.accountant.pairs.opposite_quadrature import (
    OppositeRule,
    choose_opposite_rule,
    log_size,
)
from dpproof.accountant.pairs.opposite_smoothness import OppositeCells
from dpproof.accountant.pairs.pair import Smoothness
from dpproof.accountant.pairs.subsampling_formulas import log_unsampled
from dpproof.accountant.pairs.symmetry import CommonSupport, Reflected

# Log of a term beyond which M - 1 is no smaller than M, so that a plain sum is as good. Heuristic.
_LARGE = -4.0
_SPREAD = 80.0  # Difference of logs of M above which arguments do not share a rule. Heuristic.
# Nodes times arguments at once, most of which are products of matrices. Heuristic.
_BLOCK = 1 << 23
# Loss without subsampling up to which its exponential is used. Error bounds depend on it.
_FAR_LOSS = 300.0
_UNREACHABLE = 1 << 40  # The work of a value that cannot be computed. Heuristic.
# How many times as large one argument of a group may be as another. Heuristic.
_ALIKE = 4.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OppositeGaussiansPair(Reflected, CommonSupport, ExactPair):
    """The mixture (1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q N(-mu,1).

    With A(z) = 1-q + q e^{mu z - mu^2/2}, B(z) = A(-z) and z standard normal, the loss log A/B
    is odd and increases, and M(s) = E[A^{1+s} B^{-s}] = M(-1-s). The pair is its own swap.

    Source: proofs/theory/replace_one.md.
    Rounds: KL(P|Q) = E[(A - B) loss] / 2 =: D by symmetry, a sum of positive terms, and
        M - 1 = E[A (e^{s loss} - 1 - s loss)] + s D, an integral of terms of the size of the
        answer. Both are taken by one trapezoid rule (pairs/opposite_quadrature.py).

    Attributes:
        mu_squared: exact, above 0; mu is a record's contribution over sigma.
        sampling_rate: exact, in (0, 1).
    """

    mu_squared: Fraction
    sampling_rate: Fraction

    def __post_init__(self) -> None:
        """Refuse parameters that are not representable as floats."""
        required_square(mu_squared=self.mu_squared)
        required_rate(sampling_rate=self.sampling_rate)

    @property
    def zcdp_bound(self) -> float:
        """Return (2 mu)^2 / 2: the coin may be revealed, and E is below its largest value."""
        return 2.0 * float(self.mu_squared) * (1 + 1e-15)

    @property
    def gdp_bound(self) -> float:
        """Return 2 mu: to forget the coin is post-processing."""
        return 2.0 * math.sqrt(self.mu_squared) * (1 + 1e-15)

    def work(self, s: complex) -> int:
        """Return the number of nodes of the quadrature."""
        try:
            return _mixtures(self).rule(np.array([s])).z.size
        except NotCertified:
            return _UNREACHABLE

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K, the log of an expectation, by the trapezoid rule.

        At most 2^23 terms are evaluated at once.
        """
        mixtures = _mixtures(self)
        if s.size > 1 and mixtures.spread_out(s):
            return self._halved(s)
        rule = mixtures.rule(s)
        if s.size > 1 and s.size * rule.z.size > _BLOCK:
            return self._halved(s)
        return mixtures.at(rule).cgf(s)

    def _halved(self, s: Complexes) -> Enclosure:
        """Enclose K for each half of the arguments by itself."""
        return joined([self.cgf(half) for half in np.array_split(s, 2)])

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by the closed form of pairs/opposite_profile.py."""
        return opposite_profile(math.sqrt(self.mu_squared), self.sampling_rate, epsilon)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted loss density."""
        return Smoothness(0.0, *self._cells(c).layers(moment.upper))

    def envelope(self, c: float, moment: Bound) -> tuple[Reals, Reals]:
        """Return heights and rates that bound the moduli on a shifted line."""
        return self._cells(c).envelope(moment.lower)

    def _cells(self, c: float) -> OppositeCells:
        """Return the cells of z for a tilt by c."""
        return OppositeCells.of(math.sqrt(self.mu_squared), self.sampling_rate, c)


@final
@dataclass(frozen=True, slots=True)
class _Mixtures:
    """The parameters of the mixtures as floats, each within a few units in the last place."""

    mu: float
    q: float
    unsampled: float
    log_unsampled: float

    def rule(self, s: Complexes) -> OppositeRule:
        """Return the trapezoid rule that serves every s."""
        return choose_opposite_rule(self.mu, math.log(self.q), self.log_unsampled, s)

    def spread_out(self, s: Complexes) -> bool:
        """Return whether M at the largest and the smallest Re s differ by too many digits."""
        ends = (float(s.real.min()), float(s.real.max()))
        low, high = (log_size(self.mu, math.log(self.q), c) for c in ends)
        return high - low > _SPREAD

    def at(self, rule: OppositeRule) -> _Nodes:
        """Return losses and weights at the nodes.

        With l = mu |z| - mu^2/2, |loss| = log(1 + q e^l (1 - e^{-2 mu |z|}) / B(|z|)) where l is
        at most 300 and log A - log B beyond: within u (16 c + 8 mu (|z| + mu)) of itself.
        """
        x, mu, q = np.abs(rule.z), self.mu, self.q
        loss = mu * x - 0.5 * mu * mu
        near = loss <= _FAR_LOSS
        likely = q * np.exp(np.minimum(loss, _FAR_LOSS))
        other = self.unsampled + q * np.exp(-mu * x - 0.5 * mu * mu)
        above = np.where(near, np.log(self.unsampled + likely), math.log(q) + loss)
        above += np.where(near, 0.0, np.log1p(self.unsampled / likely))
        ratio = likely * -np.expm1(-2.0 * mu * x) / other
        size = np.where(near, np.log1p(ratio), above - np.log(other))
        log_share = np.where(rule.z >= 0, above, np.log(other))
        scale = math.log(rule.step) - 0.5 * math.log(2 * math.pi)
        density = np.exp(scale - 0.5 * (x - mu) ** 2) * -np.expm1(-2.0 * mu * x)
        return _Nodes(
            growth=np.where(rule.z >= 0, size, -size),
            log_weights=scale - 0.5 * x * x + log_share,
            divergence=0.5 * q * density * size,
            slip=16.0 * ELEMENTARY_ULPS + 8.0 * mu * (x + mu),
            blur=x * x + 8.0 * (1.0 + np.abs(log_share) + mu * (x + mu) + abs(scale)),
            drift=4.0 * (x + mu) ** 2 + 32.0 * ELEMENTARY_ULPS,
            log_truncation=rule.log_truncation,
        )


@final
@dataclass(frozen=True, slots=True)
class _Nodes:
    """The values at the nodes that the sums need, each of shape (n,).

    Attributes:
        growth: the loss, within ``slip`` u of itself.
        log_weights: log of step * phi * A, within ``blur`` u.
        divergence: the terms of D, at or above 0, within (``slip`` + ``drift``) u of themselves.
        slip: a relative error in u.
        blur: an absolute error in u.
        drift: a relative error in u.
        log_truncation: that of the rule.
    """

    growth: Reals
    log_weights: Reals
    divergence: Reals
    slip: Reals
    blur: Reals
    drift: Reals
    log_truncation: float

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K by second-order terms, or by the plain sum if M is not close to 1."""
        grown = np.abs(self.growth)
        tilt = np.maximum(s.real.max() * self.growth, s.real.min() * self.growth)
        second = np.minimum(2.0 * np.log(np.abs(s).max() * grown + 1e-300), 0.0)
        if (self.log_weights + second + tilt).max() > _LARGE:
            return self._plain(s)
        return self._small(s)

    def _plain(self, s: Complexes) -> Enclosure:
        """Enclose K as the log of the sum of w e^{s loss}."""
        same = 16.0 * ELEMENTARY_ULPS + 2.0 * summation_ulps(self.growth.size)
        steady = same + 8.0 * np.abs(self.log_weights) + self.blur
        moving = np.abs(self.growth) * (8.0 + self.slip)
        total, sums, peak = exponential_sums(
            s, self.growth, self.log_weights, np.stack([steady, moving], axis=-1)
        )
        error = UNIT_ROUNDOFF * (sums[..., 0] + np.abs(s) * sums[..., 1])
        with np.errstate(over="ignore"):  # then M is known to be unknown
            return log_of_sum(total, error + np.exp(self.log_truncation - peak), peak)

    def _small(self, s: Complexes) -> Enclosure:
        """Enclose K as log1p of the sum of w (e^{s loss} - 1 - s loss) and of s D.

        Arguments of about the same size are taken together, so that one bound of what their terms
        err by suits them all.
        """
        size = np.abs(s)
        kind = np.floor(np.log(size) / math.log(_ALIKE)).astype(int)
        excess, error = np.empty(s.shape, dtype=complex), np.empty(s.shape)
        for one in range(int(kind.min()), int(kind.max()) + 1):
            some = kind == one
            if some.any():
                excess[some], error[some] = self._second_order(s[some])
        excess += s * self.divergence.sum()
        flat = self.divergence @ (self.slip + self.drift + 2.0 * summation_ulps(self.growth.size))
        error += size * flat
        return log1p_enclosure(excess, UNIT_ROUNDOFF * error + math.exp(self.log_truncation))

    def _second_order(self, s: Complexes) -> tuple[Complexes, Reals]:
        """Sum w (e^v - 1 - v), v = s loss, for arguments of similar size; return its error in u.

        Where |v| <= 3 for all of them, by ``exp_minus_linear``: a term errs by at most
        |v|^2 w e^{max(Re v, 0)} times 13 c + 88 + 14 |log w| + blur + slip, as the derivative of
        e^v - 1 - v is at most |v| e^{max(Re v, 0)}. Elsewhere e^v, 1 and v are summed apart, each
        to within 16 c + 64 + 2 ``summation_ulps`` + 8 |log w| + blur of itself; e^v errs by 8 |v| +
        slip |v| besides, and v by slip |v|.
        """
        size, grown, logs = np.abs(s), np.abs(self.growth), np.abs(self.log_weights)
        apart = float(size.max()) * grown > TAYLOR_RADIUS
        near, weights = ~apart, np.exp(self.log_weights[apart])
        total = exp_minus_linear(s, self.growth[near], self.log_weights[near])
        tilts = distinct(s.real)
        exponent = np.maximum(np.multiply.outer(tilts, self.growth), 0.0) + self.log_weights
        close = 13.0 * ELEMENTARY_ULPS + 88.0 + 14.0 * logs + self.blur + self.slip
        whole = 16.0 * ELEMENTARY_ULPS + 64.0 + 8.0 * logs + self.blur
        whole += 2.0 * summation_ulps(self.growth.size)
        columns = [
            np.where(apart, 2.0 * whole, 0.0),
            np.where(apart, grown * (whole + 8.0 + 2.0 * self.slip), 0.0),
            np.where(apart, 0.0, close * grown * grown),
        ]
        sums = (np.exp(exponent) @ np.column_stack(columns))[np.searchsorted(tilts, s.real)]
        error = sums[:, 0] + size * (sums[:, 1] + size * sums[:, 2])
        if apart.any():
            loss, log_weights = self.growth[apart], self.log_weights[apart]
            powers, cut, peak = exponential_sums(s, loss, log_weights, np.zeros((loss.size, 1)))
            total += np.exp(peak) * powers - (weights.sum() + s * (weights * loss).sum())
            error += np.exp(peak) * cut[..., 0] / UNIT_ROUNDOFF
        return total, error


@lru_cache(maxsize=256)
def _mixtures(pair: OppositeGaussiansPair) -> _Mixtures:
    """Return the parameters, each rounded once."""
    rate = float(pair.sampling_rate)
    unsampled = 1 - pair.sampling_rate
    return _Mixtures(
        math.sqrt(pair.mu_squared), rate, float(unsampled), log_unsampled(pair.sampling_rate)
    )
