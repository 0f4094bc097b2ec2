"""Opposite Gaussian mixtures: a Poisson-sampled Gaussian sum under replace-one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic import elementary, enclosure, normal_distribution
from dpproof.accountant.arithmetic.elementary import exponential_sums, log_sum, summation_ulps
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Complexes, Enclosure, Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import TOO_LITTLE_NOISE, NotCertified
from dpproof.accountant.pairs import pair as pair_parts
from dpproof.accountant.pairs.gaussian_mixtures import log_unsampled
from dpproof.accountant.pairs.pair import CommonSupport, ExactPair, Reflected, Smoothness, layers

# The error of an elementary function. Soundness depends on it.
_ULP = enclosure.ELEMENTARY_ULPS * UNIT_ROUNDOFF
_HUGE = 1e140  # An epsilon beyond which delta is 0 in every digit. Error bounds depend on it.
_MILLS = math.sqrt(math.pi / 2)  # The factor between erfcx and the Mills ratio.


def opposite_profile(mu: float, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return rigorous lower and upper ends of the hockey-stick divergence.

    Rounds: outwards, by the sizes of the three parts times the roundings in each, and by what a
        threshold x that is off by d moves: at most d (1 + |x - mu| m(x - mu)) D in the first part,
        d (1 + 2 mu + |x - mu|) times the size of the other two, and d D in each of them.
    """
    size = np.minimum(np.abs(epsilon), _HUGE)
    x, away = _threshold(mu, sampling_rate, size)
    rate = float(sampling_rate)
    with np.errstate(under="ignore", over="ignore"):
        before, share = x - mu, np.exp(np.minimum(size - 2.0 * mu * x, 0.0))
        density = rate * np.exp(-0.5 * before * before) / math.sqrt(2 * math.pi)
        mills = _MILLS * normal_distribution.erfcx(np.maximum(before, 0.0) / math.sqrt(2))
        first = np.where(before >= 0, density * mills, rate * normal_distribution.ndtr(-before))
        unmoved = (1.0 - share) * _MILLS * normal_distribution.erfcx(x / math.sqrt(2))
        rest = density * (
            unmoved + share * _MILLS * normal_distribution.erfcx((x + mu) / math.sqrt(2))
        )
    value = first - rest
    rounded = 16.0 * _ULP * (8.0 + before * before + mu * (np.abs(before) + mu)) + 1e-300
    rounded = rounded + 16.0 * _ULP * (size + mu * x)  # the share's exponent
    moved = 2.0 * away * (1.0 + 2.0 * mu + np.abs(before))
    margin = (rounded + moved) * (first + rest) + 4.0 * away * density + 1e-320
    lower, upper = np.maximum(value - margin, 0.0), value + margin
    below = enclosure.from_swapped(lower, upper, -size)
    return np.where(epsilon < 0, below[0], lower), np.where(epsilon < 0, below[1], upper)


def _threshold(mu: float, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return the root x for epsilon >= 0, and a bound of its error."""
    odds = math.log((1 - sampling_rate) / sampling_rate)
    half = 0.5 * epsilon
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_sinh = half + np.log(-np.expm1(-epsilon)) - math.log(2.0)
        argument = odds + 0.5 * mu * mu + log_sinh
        inside = np.arcsinh(np.exp(np.minimum(argument, 0.0)))
        decayed = np.exp(-2.0 * np.maximum(argument, 0.0))
        beyond = np.maximum(argument, 0.0) + np.log1p(np.sqrt(1.0 + decayed))
        threshold = np.where(argument > 0, beyond, inside)
        blur = np.where(epsilon > 0, abs(odds) + mu * mu + half + np.abs(log_sinh) + 8.0, 0.0)
    off = 8.0 * _ULP * (epsilon + threshold * (1.0 + np.where(argument > 0, 0.0, blur)))
    off = off + 8.0 * _ULP * np.where(argument > 0, blur, 0.0)
    x = (half + threshold) / mu
    return x, off / mu + 8.0 * _ULP * x


_MAX_NODES = 1 << 17  # Most nodes of a rule, to bound memory. Exceeding it raises.
# Log of (q mu)^2 over what a rule may leave out, far below 2**-53. Heuristic: what it leaves out is
# bounded.
_DIGITS = 40.0
# Half widths of strips that are tried, in units of 1/mu and absolutely. Soundness needs the first
# below pi only.
_STRIPS = ((2.5, 8.0), (2.0, 5.0), (1.4, 4.0), (1.2, 2.0), (0.6, 1.5), (0.2, 1.0))
_FURTHER = 1.02  # Factor by which an end of the nodes is moved until little is beyond. Heuristic.
_ROUNDING = 1e-9  # Far above the rounding of the logs of bounds. Soundness depends on it.


@final
@dataclass(frozen=True, slots=True)
class OppositeRule:
    """Nodes at integer multiples of a step."""

    z: Reals  # shape (n,), the nodes, exactly spaced
    step: float  # their distance, of 20 significant bits
    log_truncation: float  # log of a bound of what the rule misses of E[f + g]


@final
@dataclass(frozen=True, slots=True)
class _Mixture:
    """The mixture A and the arguments s that a rule serves: largest c, |y| and |s|."""

    mu: float
    log_q: float
    log_unsampled: float
    tilt: float
    turn: float
    size: float

    def log_ratios(self, x: float) -> tuple[float, float]:
        """Return log A and log B at x."""
        drift = self.log_q - 0.5 * self.mu * self.mu
        above = log_sum(self.log_unsampled, drift + self.mu * x)
        return above, log_sum(self.log_unsampled, drift - self.mu * x)

    def log_norm(self) -> float:
        """Return the log of N."""
        c, square = self.tilt, self.mu * self.mu
        bare = -c * self.log_unsampled + log_sum(0.0, self.log_q + 0.5 * c * (c + 1.0) * square)
        revealed = log_sum(self.log_unsampled, self.log_q + 2.0 * square * c * (c + 1.0))
        return min(bare, revealed)

    def log_edge(self, half: float) -> float:
        """Bound the log of the norm on the edges of a strip."""
        angle = self.mu * half
        secant = -math.log(math.cos(0.5 * angle))
        width = 2.0 * (secant + angle - self.log_unsampled + self.mu)
        width += 2.0 * self.mu * self.mu * math.exp(self.log_q)
        power = self.log_norm() + self.tilt * secant + 2.0 * angle * self.turn
        linear = math.log1p(2.0 * self.size * width)
        return 0.5 * half * half + log_sum(power, linear) + _ROUNDING

    def log_left(self, x: float) -> float:
        """Bound the log of the integral of phi |f + g| left of -x, for x > mu + 1.

        Mirrored, B^{1+c} A^{-c} <= 1 if c >= 0 and x >= mu/2, else it is at most A; loss is at
        most mu x + Lambda; and the slope of log(phi A (2 + 2 |s| loss)) is at most mu + 1 - x.
        """
        return self._linear(x) - math.log(x - self.mu - 1.0) + _ROUNDING

    def log_right(self, x: float) -> float:
        """Bound the log of that integral right of x, for x above the slope there.

        To the bound on the left A^{1+c} B^{-c} adds a term with its own slope.
        """
        above, below = self.log_ratios(x)
        power = (1.0 + self.tilt) * above - self.tilt * below - 0.5 * x * x
        return log_sum(self.log_left(x), power - math.log(x - self.slope(x))) + _ROUNDING

    def slope(self, x: float) -> float:
        """Bound from above the slope of log(A^{1+c} B^{-c}) from x >= 0 on."""
        share = math.exp(self.log_q - 0.5 * self.mu * self.mu - self.mu * x - self.log_ratios(x)[1])
        return self.mu * (1.0 + self.tilt * (1.0 + share))

    def _linear(self, x: float) -> float:
        """Return the log of phi A (2 + 2 |s| loss), up to the factor of phi that is below 1."""
        loss = self.mu * x - self.log_unsampled
        return self.log_ratios(x)[0] + math.log(2.0 + 2.0 * self.size * loss) - 0.5 * x * x


def choose_opposite_rule(
    mu: float, log_q: float, log_unsampled: float, s: Complexes
) -> OppositeRule:
    """Choose step and ends so that truncation is far below rounding; refuse too many nodes."""
    one = _Mixture(
        mu,
        log_q,
        log_unsampled,
        max(float(s.real.max()), 0.0),
        float(np.abs(s.imag).max()),
        float(np.abs(s).max()),
    )
    wanted = _DIGITS - 2.0 * (log_q + min(math.log(mu), 0.0))
    wanted -= log_size(mu, log_q, float(s.real.min()))
    step = half = edge = 0.0
    for scale, widest in _STRIPS:
        strip = enclosure.rounded_short(min(scale / mu, widest))
        log_edge = one.log_edge(strip)
        wide = enclosure.rounded_short(2 * math.pi * strip / max(log_edge + wanted, 1.0))
        if wide > step:
            step, half, edge = wide, strip, log_edge
    left = one.mu + 1.0 + math.sqrt(2.0 * max(wanted, 8.0))
    while one.log_left(left) > -wanted:
        left *= _FURTHER
    right = max(left, one.mu * (1.0 + 2.0 * one.tilt) + 1.0)
    while right <= one.slope(right) or one.log_right(right) > -wanted:
        right *= _FURTHER
    count = (left + right) / step + 3.0
    if not count < _MAX_NODES:
        raise NotCertified(
            f"a Poisson-sampled Gaussian sum with noise multiplier {1 / mu:.3g} has too little "
            f"noise for this question (of order {one.size:.3g}, integrated at {count:.3g} points, "
            f"at most {_MAX_NODES}); {TOO_LITTLE_NOISE}"
        )
    first, last = -math.ceil(left / step), math.ceil(right / step)
    between = math.log(4.0) + edge - 2 * math.pi * half / step
    beyond = log_sum(one.log_left(left), one.log_right(right))
    z: Reals = step * np.arange(float(first), last + 1.0)
    return OppositeRule(z, step, log_sum(between, beyond) + _ROUNDING)


def log_size(mu: float, log_q: float, c: float) -> float:
    """Return E[(q e^{mu z - mu^2/2})^{1+c}] in logs, below log M, or 0 if that is more.

    Heuristic: it chooses how much a rule may leave out, and is in no error bound.
    """
    return max((1.0 + c) * (log_q + 0.5 * c * mu * mu), 0.0) if c > 0 else 0.0


_LARGEST = 600.0  # A log whose exponential is representable as a float.
# A difference so large, relative to its ends, has 9 correct digits. Soundness depends on it.
_DISTINCT = 1e-5
# Standard deviations between the mean of the tilted law and the last cell. Soundness depends on its
# use in ``envelope``.
_BEYOND = 9.0
_PEAK = -0.5 * math.log(2 * math.pi)  # The log of phi(0).


@final
@dataclass(frozen=True, slots=True)
class OppositeCells:
    """Adjacent cells of z, with the parameters that give the bounds on them."""

    c: float  # the tilt, above 0
    mu: float  # of the mixtures
    log_q: float  # log of the sampling rate
    log_unsampled: float  # log(1 - q)
    z: Reals  # shape (n + 1,), the ends

    @staticmethod
    def of(mu: float, sampling_rate: Fraction, c: float) -> OppositeCells:
        """Cut [-mu - 9, mu (1 + 2 c) + 9] into cells."""
        right = mu * (1.0 + 2.0 * c) + _BEYOND
        left = mu + _BEYOND
        count = int(min(max(8.0 * (left + right), 128), 2048))
        z = ((left + right) / count) * np.arange(count + 1.0) - left
        return OppositeCells(c, mu, math.log(sampling_rate), log_unsampled(sampling_rate), z)

    def layers(self, log_moment: float) -> tuple[Reals, Reals]:
        """Return layers of the density, from an upper bound of K(c).

        On a cell the density is at least the smallest phi times A^{1+c} B^{-c} at the left, over
        the first part of the slope at the right and the second at the left. A cell counts as empty
        if its length has too few correct digits.
        """
        above, below = self._log_mixture(self.z), self._log_mixture(-self.z)
        log_phi = _PEAK - 0.5 * self.z**2
        power = (1.0 + self.c) * above - self.c * below
        drift = self.log_q - 0.5 * self.mu**2
        rising = drift + self.mu * self.z - above
        falling = drift - self.mu * self.z - below
        log_slope = math.log(self.mu) + np.logaddexp(rising[1:], falling[:-1])
        low = np.minimum(log_phi[:-1], log_phi[1:]) + power[:-1] - log_slope
        loss = above - below
        width = np.diff(loss)
        distinct = width > _DISTINCT * np.maximum(np.abs(above), np.abs(below))[1:]
        distinct &= width > _DISTINCT * np.maximum(np.abs(above), np.abs(below))[:-1]
        heights = np.where(distinct, np.exp(np.minimum(low - log_moment, _LARGEST)), 0.0)
        return layers(heights, np.maximum(width, 0.0))

    def envelope(self, log_moment: float) -> tuple[Reals, Reals]:
        """Return heights and rates of the same law, from a lower bound of K(c).

        M on the line Im z = b is at most e^{b^2/2} E[|A|^{1+c} |B|^{-c} e^{-y (arg A - arg B)}];
        with mu b <= pi/2 both |A| and arg A increase in z, |B| and -arg B decrease. |A| is at
        most its real value. What lies outside the cells is added without decay, by the slope of
        the integrand's log: on the left |A|^{1+c} |B|^{-c} grows and is at most its value at the
        end, on the right the slope is at most mu (1 + 2 c) - z <= -9.
        """
        shift = min(1.4 / self.mu, 1.0)
        along, across = self._on_the_line(self.z, shift)
        behind, aside = self._on_the_line(-self.z, shift)
        log_below = 0.5 * np.log(behind**2 + aside**2)
        power = (1.0 + self.c) * self._log_mixture(self.z) - self.c * log_below
        turned, unturned = np.arctan2(across, along), np.arctan2(aside, behind)
        log_phi = _PEAK - 0.5 * self.z**2
        highest = np.where(
            self.z[:-1] * self.z[1:] < 0, _PEAK, np.maximum(log_phi[:-1], log_phi[1:])
        )
        lift = 0.5 * shift * shift - log_moment
        inside = lift + highest + power[1:] + np.log(np.diff(self.z))
        ends = log_phi[0] + power[0], log_phi[-1] + power[-1]
        last = lift + float(np.logaddexp(*ends)) - math.log(_BEYOND)
        rates = np.append((turned[:-1] + unturned[1:]) * (1 - 1e-9), 0.0)
        rates[:-1][inside > _LARGEST] = 0.0  # and then nothing is gained, with any height
        heights = np.exp(np.minimum(np.append(inside, last), _LARGEST))
        return heights * (1 + 1e-9), rates

    def _log_mixture(self, z: Reals) -> Reals:
        """Return log A."""
        likely = self.log_q + self.mu * z - 0.5 * self.mu**2
        return np.asarray(np.logaddexp(self.log_unsampled, likely))

    def _on_the_line(self, z: Reals, shift: float) -> tuple[Reals, Reals]:
        """Return real and imaginary part of A(z + i shift), cut off if they are huge."""
        log_ratio = np.minimum(self.log_q + self.mu * z - 0.5 * self.mu**2, _LARGEST / 2)
        ratio, turn = np.exp(log_ratio), self.mu * shift
        return math.exp(self.log_unsampled) + ratio * math.cos(turn), ratio * math.sin(turn)


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
    """

    mu_squared: Fraction  # exact, above 0; mu is a record's contribution over sigma
    sampling_rate: Fraction  # exact, in (0, 1)

    def __post_init__(self) -> None:
        """Refuse parameters that are not representable as floats."""
        pair_parts.required_square(mu_squared=self.mu_squared)
        pair_parts.required_rate(sampling_rate=self.sampling_rate)

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
        """Enclose K by the trapezoid rule, with at most 2^23 terms at once."""
        mixtures = _mixtures(self)
        if s.size > 1 and mixtures.spread_out(s):
            return self._halved(s)
        rule = mixtures.rule(s)
        if s.size > 1 and s.size * rule.z.size > _BLOCK:
            return self._halved(s)
        return mixtures.at(rule).cgf(s)

    def _halved(self, s: Complexes) -> Enclosure:
        """Enclose K for each half of the arguments by itself."""
        return enclosure.joined([self.cgf(half) for half in np.array_split(s, 2)])

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
            slip=16.0 * enclosure.ELEMENTARY_ULPS + 8.0 * mu * (x + mu),
            blur=x * x + 8.0 * (1.0 + np.abs(log_share) + mu * (x + mu) + abs(scale)),
            drift=4.0 * (x + mu) ** 2 + 32.0 * enclosure.ELEMENTARY_ULPS,
            log_truncation=rule.log_truncation,
        )


@final
@dataclass(frozen=True, slots=True)
class _Nodes:
    """The values at the nodes that the sums need, each of shape (n,)."""

    growth: Reals  # the loss, within ``slip`` u of itself
    log_weights: Reals  # log of step * phi * A, within ``blur`` u
    # the terms of D, at or above 0, within (``slip`` + ``drift``) u of themselves
    divergence: Reals
    slip: Reals  # a relative error in u
    blur: Reals  # an absolute error in u
    drift: Reals  # a relative error in u
    log_truncation: float  # that of the rule

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
        same = 16.0 * enclosure.ELEMENTARY_ULPS + 2.0 * summation_ulps(self.growth.size)
        steady = same + 8.0 * np.abs(self.log_weights) + self.blur
        moving = np.abs(self.growth) * (8.0 + self.slip)
        total, sums, peak = exponential_sums(
            s, self.growth, self.log_weights, np.stack([steady, moving], axis=-1)
        )
        error = UNIT_ROUNDOFF * (sums[..., 0] + np.abs(s) * sums[..., 1])
        with np.errstate(over="ignore"):  # then M is known to be unknown
            return elementary.log_of_sum(total, error + np.exp(self.log_truncation - peak), peak)

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
        return elementary.log1p_enclosure(
            excess, UNIT_ROUNDOFF * error + math.exp(self.log_truncation)
        )

    def _second_order(self, s: Complexes) -> tuple[Complexes, Reals]:
        """Sum w (e^v - 1 - v), v = s loss, for arguments of similar size; return its error in u.

        Where |v| <= 3 for all of them, by ``exp_minus_linear``: a term errs by at most
        |v|^2 w e^{max(Re v, 0)} times 13 c + 88 + 14 |log w| + blur + slip, as the derivative of
        e^v - 1 - v is at most |v| e^{max(Re v, 0)}. Elsewhere e^v, 1 and v are summed apart, each
        to within 16 c + 64 + 2 ``summation_ulps`` + 8 |log w| + blur of itself; e^v errs by 8 |v| +
        slip |v| besides, and v by slip |v|.
        """
        size, grown, logs = np.abs(s), np.abs(self.growth), np.abs(self.log_weights)
        apart = float(size.max()) * grown > elementary.TAYLOR_RADIUS
        near, weights = ~apart, np.exp(self.log_weights[apart])
        total = elementary.exp_minus_linear(s, self.growth[near], self.log_weights[near])
        tilts = enclosure.distinct(s.real)
        exponent = np.maximum(np.multiply.outer(tilts, self.growth), 0.0) + self.log_weights
        close = 13.0 * enclosure.ELEMENTARY_ULPS + 88.0 + 14.0 * logs + self.blur + self.slip
        whole = 16.0 * enclosure.ELEMENTARY_ULPS + 64.0 + 8.0 * logs + self.blur
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
