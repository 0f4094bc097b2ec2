"""Compute K of many Gaussian mixtures over a Gaussian at once, one mixture in each row.

With t = e^eps and H_t the hockey-stick divergence (Zhu, Dong & Wang, arXiv:2106.08567,
Theorem 11; both lines are one regrouping of the integrand):

    removal:  H_t((1-q)Q + qP | Q) = q H_a(P|Q),  a = 1 + (t-1)/q   for t > 1 - q, else 1 - t;
    addition: H_t(P | (1-q)P + qQ) = r H_{qt/r}(P|Q), r = 1 - t(1-q) for r > 0, else 0.

Arguments are rounded both ways, so the brackets stay rigorous: H decreases. q is exact, as 1 - q
is not to be had from a float next to 1.

The pairs of one and of many subsampled Gaussians share this file. W = (1-q) N(0,1) + q N(mu,1),
u(z) = q (e^l - 1), l = mu z - mu^2/2, z standard normal; M = E[(1+u)^alpha], with alpha = s + 1 for
the pair (W, N(0,1)) and alpha = -s for (N(0,1), W).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, final

import numpy as np

from dpproof.accountant.arithmetic import elementary, enclosure
from dpproof.accountant.arithmetic.elementary import exponential_sums, log1p_complex, log_sum
from dpproof.accountant.arithmetic.enclosure import ELEMENTARY_ULPS, Complexes, Numbers, Reals
from dpproof.accountant.errors import EASIER, TOO_LITTLE_NOISE, NotCertified
from dpproof.accountant.pairs.pair import layers

Profile = Callable[[Reals], tuple[Reals, Reals]]
# Epsilon from which t - 1 + q is as accurate as (t - 1) / q. Heuristic: both errors are bounded.
_LARGE = 1.0
# Epsilon from which t (1 - q) exceeds 1, as 1 - q is above e^-600. Soundness depends on it.
_FAR_FORMULA = 600.0
# The error of a few elementary functions. Soundness depends on it.
_ULP = 4 * ELEMENTARY_ULPS * enclosure.UNIT_ROUNDOFF


def log_unsampled(sampling_rate: Fraction) -> float:
    """Return log(1 - q), within 8 u of itself."""
    if sampling_rate > Fraction(1, 2):
        return math.log(1 - sampling_rate)
    return math.log1p(-float(sampling_rate))


def _outward(base: Profile, argument: Reals, slack: Reals) -> tuple[Reals, Reals]:
    """Return ends valid for every argument within the slack, by one call as they share work."""
    ends = base(np.concatenate([argument + slack, argument - slack]))
    return ends[0][: argument.size], ends[1][argument.size :]


def _share_up(share: float | Reals, upper: Reals) -> Reals:
    """Return a share of delta, rounded up: 0 only if delta is, however small the share."""
    return np.where(upper == 0, 0.0, np.nextafter(share * upper * (1 + _ULP), np.inf))


def removal_profile(base: Profile, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return lower and upper ends for the pair ((1-q)Q + qP, Q)."""
    rate, log_rate = float(sampling_rate), math.log(sampling_rate)
    near, far = np.minimum(epsilon, _LARGE), np.maximum(epsilon, _LARGE)
    ratio = np.expm1(near) / rate
    inside = ratio > -1.0
    ratio = np.where(inside, ratio, 0.0)
    large = far + np.log1p(-float(1 - sampling_rate) * np.exp(-far)) - log_rate
    argument = np.where(epsilon > _LARGE, large, np.log1p(ratio))
    with np.errstate(over="ignore"):  # at the largest epsilons; what is infinite is cut below
        slack = _ULP * (
            np.abs(argument)
            + (np.abs(ratio) + np.exp(near) / rate * np.abs(near)) / (1.0 + ratio)
            + np.where(epsilon > _LARGE, far + abs(log_rate), 0.0)
        )
    slack = np.minimum(slack, 1e3)
    lower, upper = _outward(base, argument, slack)
    outside = -np.expm1(near)
    return (
        np.where(inside, rate * lower, outside) * (1 - _ULP),
        np.where(inside, _share_up(rate, upper), outside * (1 + _ULP)),
    )


def addition_profile(base: Profile, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return lower and upper ends for the pair (P, (1-q)P + qQ)."""
    rate, other = float(sampling_rate), float(1 - sampling_rate)
    near = np.minimum(epsilon, _FAR_FORMULA)  # rest is below 0 from there, as 1 - q is above e^-600
    grown = other * np.expm1(near)
    rest = rate - grown
    blur = _ULP * (rate + np.abs(grown) + other * np.exp(near) * np.abs(near))
    inside = rest > blur
    safe = np.where(inside, rest, 1.0)
    argument = math.log(rate) + epsilon - np.log(safe)
    with np.errstate(over="ignore"):  # as above
        slack = _ULP * (np.abs(epsilon) + abs(math.log(rate)) + np.abs(argument)) + 2 * blur / safe
    slack = np.minimum(slack, 1e3)
    lower, upper = _outward(base, argument, slack)
    most = np.clip(rest + blur, 0.0, 1.0)
    return (
        np.where(inside, np.maximum(rest - blur, 0.0) * lower, 0.0),
        np.where(inside, _share_up(most, upper), most),
    )


def replacement_profile(
    base: Profile, sampling_rate: Fraction, epsilon: Reals
) -> tuple[Reals, Reals]:
    """Return lower and upper ends under replace-one, for samples of a fixed size.

    Statement: let every pair of neighbouring samples of the fixed size have profile at most
        delta. Then datasets that differ in one record, sampled without replacement with
        inclusion probability q, have profile q delta(log(1 + (t-1)/q)) for t >= 1 and
        1 - t + t times that at 1/t for t < 1.
    Source: Balle, Barthe & Gaboardi (arXiv:1807.01647), Theorem 10 for t >= 1. Proof: let M_0,
        M_1, M_1' be the output laws given that the record is not sampled, or is and is x or
        x'. Swapping x for a uniformly chosen unsampled record couples M_1 to M_0 through
        neighbours, so each of H_a(M_1|M_0), H_a(M_1|M_1') is at most delta. With
        t = 1 + q(a-1), advanced joint convexity (ibid., Theorem 2) gives
        H_t((1-q)M_0 + qM_1 | (1-q)M_0 + qM_1') <= q delta(log a). For t < 1 swap the roles:
        H_t(A|B) = 1 - t + t H_{1/t}(B|A), and replace-one is symmetric.
    """
    size = np.abs(epsilon)
    lower, upper = removal_profile(base, sampling_rate, size)
    below = enclosure.from_swapped(lower, upper, -size)
    return np.where(epsilon < 0, below[0], lower), np.where(epsilon < 0, below[1], upper)


_MAX_NODES = 1 << 17  # Most nodes of a rule, to bound memory. Exceeding it raises.
# Sampling rate up to which terms at the left are of second order. Error bounds depend on it: 1 - 2q
# > 0.
_RARE = 0.25
_LITTLE = 4.0  # Log of what a norm may lose without cells. Heuristic: both bounds hold.
# Log of q^2 over what a rule may leave out, far below 2**-53. Heuristic: what it leaves out is
# bounded.
_DIGITS = 40.0
# Half widths of strips that are tried, in units of 1/mu and absolutely. Soundness needs the first
# below pi only.
_STRIPS = ((2.5, 8.0), (2.0, 5.0), (1.4, 4.0), (1.2, 2.0), (0.6, 1.5), (0.2, 1.0))
# Largest a mu: nodes reach that far in steps of about 1, so more of it takes too many. Beyond 2^53
# floats do not tell what is right of there.
_FARTHEST_PEAK = 1e10
# Highest line above the real one (heuristic), and largest mu |Im z|, which soundness needs below
# pi.
_HIGHEST, _WIDEST_TURN = 2.0, 3.0
# Factor by which another rule's step has to be longer to be preferred to a real rule. Heuristic.
_REAL = 1.2


@final
@dataclass(frozen=True, slots=True)
class TrapezoidRules:
    """Trapezoid rules on the lines Im z = shift for E[f(z)], z standard normal."""

    z: Reals  # shape (p, n), real parts of the nodes, exactly spaced
    shift: Reals  # shape (p,), imaginary part of all nodes
    # shape (p, n), log of step * phi(z + i shift), real when no shift is not 0
    log_weights: Numbers
    # shape (p,), log of a bound of what the rule leaves out of the expectation of (1+u)^alpha - 1 -
    # alpha u
    log_truncation: Reals
    log_plain: Reals  # the same for (1+u)^alpha

    def to(self, dtype: np.dtype[Any]) -> TrapezoidRules:
        """Return the same rule with its weights in some precision."""
        return replace(self, log_weights=_log_weights(self.z, self.shift, dtype))


class Mixtures(Protocol):
    """The parameters of p Gaussian mixtures that quadrature needs: arrays of shape (p,)."""

    @property
    def mu(self) -> Reals:
        """Return the distances of the means, above 0."""

    @property
    def q(self) -> Reals:
        """Return the sampling rates, in (0, 1]."""

    @property
    def log_unsampled(self) -> Reals:
        """Return the logs of 1 - q."""


@final
@dataclass(frozen=True, slots=True)
class Powers:
    """The exponents that a rule serves: ends of Re alpha, largest |alpha| and Im alpha >= 0."""

    low: float
    high: float
    size: float
    turn: float


@final
@dataclass(frozen=True, slots=True)
class Line:
    """The rule of one mixture: nodes at integer multiples of ``step`` between the ends."""

    step: float
    shift: float
    left: float
    right: float
    log_truncation: float
    log_plain: float

    @property
    def size(self) -> float:
        """Return the number of nodes, at most 3 less than what a rule has."""
        return (self.right - self.left) / self.step


def choose_rule(mixtures: Mixtures, alpha: Complexes) -> TrapezoidRules:
    """Choose lines, steps, ranges so that truncation is far below rounding; refuse many nodes."""
    real = alpha.real
    ends = float(real.min()), float(real.max())
    powers = Powers(*ends, float(np.abs(alpha).max()), float(alpha.imag.max()))
    lines = choose_lines(mixtures, itertools.repeat(powers, mixtures.mu.size))
    needed = [one.size for one in lines]
    most = max(needed)
    if not most < _MAX_NODES:
        noise = 1 / float(mixtures.mu[needed.index(most)])
        raise NotCertified(
            f"a subsampled Gaussian with noise multiplier {noise:.3g} has too little noise for "
            f"this question (of order {powers.size:.3g}, integrated at {most:.3g} points, at most "
            f"{_MAX_NODES}); {TOO_LITTLE_NOISE}"
        )
    return rules_on(lines, mixtures.mu.dtype)


def choose_lines(mixtures: Mixtures, powers: Iterable[Powers]) -> list[Line]:
    """Choose each mixture's line, step and range for its own powers.

    It raises NotCertified for a range so far out that floats do not tell what is right of there.
    """
    parameters = mixtures.mu.tolist(), mixtures.q.tolist(), mixtures.log_unsampled.tolist()
    lines = []
    for mu, q, log_rest, some in zip(*parameters, powers, strict=True):
        if some.high * mu > _FARTHEST_PEAK:
            raise NotCertified(
                f"a subsampled Gaussian with noise multiplier {1 / mu:.3g} has too little noise "
                f"for this question (of order {some.size:.3g}); {TOO_LITTLE_NOISE}"
            )
        lines.append(_line(mu, q, log_rest, some))
    return lines


def rules_on(lines: Sequence[Line], dtype: np.dtype[Any]) -> TrapezoidRules:
    """Return the rules on some lines, all with as many nodes as the longest needs."""
    most = max(one.size for one in lines)
    first = np.array([[math.floor(one.left / one.step)] for one in lines])
    z: Reals = np.array([[one.step] for one in lines]) * (first + np.arange(int(most) + 3.0))
    shift = np.array([one.shift for one in lines])
    return TrapezoidRules(
        z,
        shift,
        _log_weights(z, shift, dtype),
        np.array([one.log_truncation for one in lines]),
        np.array([one.log_plain for one in lines]),
    )


@lru_cache(maxsize=1 << 14)  # of the moments at one point, which several questions share
def _line(mu: float, q: float, log_unsampled: float, powers: Powers) -> Line:
    """Choose the strip, about the real line or right above it, that allows the largest step."""
    log_q, order = math.log(q), max(-powers.low, 0.0)
    wanted = _DIGITS - 2.0 * log_q - log_size(mu, log_q, powers.low)
    norm = _log_norm(mu, q, log_unsampled, powers)
    best = step = strip = shift = bound = 0.0
    for scale, widest in _STRIPS:
        half = enclosure.rounded_short(min(scale / mu, widest))
        if _REAL * 2 * math.pi * half / (norm + wanted) <= best:
            break  # half falls, and no bound is below the norm
        for level in (0.0, half):
            edge = level + half
            if mu * edge > _WIDEST_TURN or level > _HIGHEST:
                continue
            log_edge = norm + 0.5 * edge * edge - order * math.log(math.cos(0.5 * mu * edge))
            log_edge += 0.0 if level else powers.turn * mu * half
            wide = 2 * math.pi * half / (log_edge + wanted)
            if wide * (1.0 if level else _REAL) > best:
                best = wide * (1.0 if level else _REAL)
                step, strip, shift, bound = enclosure.rounded_short(wide), half, level, log_edge
    lift = 0.5 * shift * shift - order * math.log(math.cos(0.5 * mu * shift))
    left, lost, lost_plain = _left(q, log_unsampled, powers, lift, wanted)
    right, beyond = _right(mu, log_q, log_unsampled, powers, lift + wanted)
    between = math.log(4.0) + bound - 2 * math.pi * strip / step
    rest = log_sum(between, lift + beyond)
    return Line(step, shift, left, right, log_sum(rest, lost), log_sum(rest, lost_plain))


def _left(
    q: float, log_unsampled: float, powers: Powers, lift: float, wanted: float
) -> tuple[float, float, float]:
    """Return where nodes may start, and logs of bounds of both truncations left of there.

    With f = (1+u)^alpha - 1 - alpha u, where the loss is below 0: |u| <= 2q and Im u >= 0,
    so f = alpha (alpha - 1) times the integral of (u - t) (1+t)^{alpha-2} on the segment
    from 0 to u is at most 2 q^2 |alpha| (|alpha| + 1) times the largest |1+t|^{Re alpha - 2},
    1 - 2q <= |1+t| <= 1 + 2q. Where q > 1/4, |f| is at most |1+u|^{Re alpha} + 1 + 2 |alpha|.
    |1+u| is between (1-q) cos(mu b / 2) and 1, with the cosine in the lift.
    """
    power = min(powers.low, 0.0) * log_unsampled
    if q <= _RARE:
        grown = (powers.high - 2.0) * math.log1p(2 * q), (powers.low - 2.0) * math.log1p(-2 * q)
        height = math.log(2.0 * q * q * powers.size * (powers.size + 1.0)) + max(grown)
    else:
        height = log_sum(math.log(1.0 + 2.0 * powers.size), power)
    square = 2.0 * max(lift + height + wanted, 8.0)
    tail = lift - 0.5 * square + 1e-9
    return -math.sqrt(square), tail + height, tail + power


def _right(
    mu: float, log_q: float, log_unsampled: float, powers: Powers, height: float
) -> tuple[float, float]:
    """Return where nodes may end, and the log of a bound of what is right of there.

    The factor e^{lift} is left out. For a loss above 0 and a the larger of Re alpha and 1, |f| phi
    is at most e^{lift} phi times F = (1-q+v)^a + 1 + 2 |alpha| v, v = q e^l on the real line (no
    larger power where all Re alpha <= 1). The slope of log(F phi) is at most a mu - z: from R > a
    mu on its integral is at most F(R) phi(R) / (R - a mu). As F is about (q e^l)^a or 1 + |alpha| q
    e^l, F phi should be small beyond the roots of two quadratics; where it is not, as v is small
    but a v is large, it is by the slope as much further right.
    """
    a = max(powers.high, 1.0)
    flat = max(height + max(math.log(powers.size) + log_q, 0.0), 0.0)
    raised = 2.0 * (height + a * (log_q - 0.5 * mu * mu)) + (a * mu) ** 2

    def beyond(right: float) -> float:
        log_v = log_q + mu * right - 0.5 * mu * mu
        linear = math.log1p(2.0 * powers.size) + log_sum(0.0, log_v)
        power = log_sum(a * log_sum(log_unsampled, log_v), linear)
        return power - 0.5 * right * right - math.log(right - a * mu) + 1e-9

    right = max(mu + math.sqrt(2.0 * flat), a * mu + math.sqrt(max(raised, 1.0)))
    right += max(beyond(right) + height, 0.0) / (right - a * mu)
    return right, beyond(right)


def _log_norm(mu: float, q: float, log_unsampled: float, powers: Powers) -> float:
    """Bound from above log(E|1+u|^a + 1 + 2 |alpha| q), a real.

    For a < 0, |1+u|^a <= (1-q)^a. For a >= 1 the expectation is summed over cells in z, on
    which 1 + u is largest at the right and phi at the end nearer 0; beyond the cells, and where
    that is enough, (1-q+qx)^a <= 1-q+qx^a (convexity), whose last term is a normal density
    centred at a mu, scaled by q e^{a(a-1)mu^2/2}. For 0 <= a < 1, (1-q+qx)^a <= 1+qx.
    """
    a, log_q = powers.high, math.log(q)
    linear = math.log(2.0 + 2.0 * q * (1.0 + powers.size))
    base = log_sum(linear, min(powers.low, 0.0) * log_unsampled)
    if a <= 1.0:
        return base
    raised = log_q + 0.5 * a * (a - 1.0) * mu * mu
    if raised < _LITTLE:
        return log_sum(base, raised)
    end = a * mu + math.sqrt(2.0 * (raised + 9.0))
    count = int(min(max(end * (1.0 + 0.5 * a * mu), 64.0), 4096.0))
    z = (end / count) * np.arange(count + 1.0)
    growth = np.logaddexp(log_unsampled, log_q - 0.5 * mu * mu + mu * z[1:])
    cells = a * growth - 0.5 * z[:-1] ** 2
    peak = float(cells.max())
    summed = peak + math.log(float(np.exp(cells - peak).sum()) * end / count)
    return log_sum(base, summed + 1e-6)


def log_size(mu: float, log_q: float, a: float) -> float:
    """Return a lower bound of log M: (1-q+qx)^a >= (qx)^a. Heuristic: it is in no error bound."""
    return max(a * log_q + 0.5 * a * (a - 1.0) * mu * mu, 0.0) if a > 1.0 else 0.0


def _log_weights(z: Reals, shift: Reals, dtype: np.dtype[Any]) -> Numbers:
    """Return the log of step * phi(z + i shift), real if every shift is 0."""
    step = (z[:, 1:2] - z[:, :1]).astype(dtype)
    points = z.astype(dtype) + (1j * shift[:, None] if shift.any() else 0.0)
    return np.asarray(np.log(step / np.sqrt(8 * np.arctan(dtype.type(1)))) - 0.5 * points * points)


_SPREAD = 80.0  # Difference of logs of M above which arguments do not share a rule. Heuristic.
_OFTEN = 0.5  # Sampling rate above which 1 + u is computed from 1 - q. Error bounds depend on it.
_LEFT = -math.log(2.0)  # Losses below it have e^l < 1/2. Error bounds depend on it.
# Log of u from which 1 + u is computed as log q + l plus a correction. Error bounds depend on it.
_FAR = 30.0
_LIKELY = 0.7  # Log of q e^l from which u is not small. Error bounds depend on it.
_LARGEST_LOSS = 600.0  # A log whose exponential is representable as a float.
# A loss whose exponential has a square representable as a float. Larger losses count as this one,
# which is sound.
_MIDDLE_LOSS = 300.0
_PARTS = 3  # Doubles whose sum has more digits than any float. Error bounds depend on it.
_PEAK = -0.5 * math.log(2 * math.pi)  # The log of phi(0).
# A difference so large, relative to its ends, has 9 correct digits. Soundness depends on it.
_DISTINCT = 1e-5
_DOUBLE = np.dtype(np.float64)
# Re alpha, shape (p, 1) or (1, 1); ends in z, log(1 + u) and log phi there
Cells = tuple[Reals, Reals, Reals, Reals]


@final
@dataclass(frozen=True, slots=True)
class GaussianMixtures:
    """Gaussian mixtures of the same direction, one in each row."""

    mu: Reals  # shape (p,), above 0
    q: Reals  # shape (p,), in (0, 1]
    unsampled: Reals  # shape (p,), 1 - q rounded once
    log_unsampled: Reals  # shape (p,), log(1 - q)
    removal: bool  # whether the mixtures come first

    @staticmethod
    def of(
        mu_squared: Sequence[Fraction],
        sampling_rates: Sequence[Fraction],
        *,
        removal: bool,
        dtype: np.dtype[Any] = _DOUBLE,
    ) -> GaussianMixtures:
        """Build the mixtures from exact parameters, each rounded once to some precision."""
        return GaussianMixtures(
            np.sqrt(_rounded(mu_squared, dtype)),
            _rounded(sampling_rates, dtype),
            _rounded([1 - one for one in sampling_rates], dtype),
            np.array([log_unsampled(one) for one in sampling_rates]),
            removal,
        )

    def alpha(self, s: Complexes) -> Complexes:
        """Return the exponent of 1 + u in the mixtures' direction."""
        return s + 1.0 if self.removal else -s

    def power(self, c: Reals | float) -> Reals:
        """Return the exponent at real arguments."""
        return np.asarray(c + 1.0 if self.removal else -c)

    def loss(self, z: Reals, shift: Reals) -> Numbers:
        """Return the loss of the Gaussian without subsampling at the nodes, shape (p, n)."""
        mu = self.mu[:, None]
        real = mu * z - 0.5 * mu * mu
        return real + 1j * mu * shift[:, None] if shift.any() else real

    def log_ratio(self, z: Reals, shift: Reals) -> Numbers:
        """Return log(1 + u) at the nodes, shape (p, n), without overflow if e^l is huge.

        Where q is above 1/2 and e^l below, 1 + u = (1 - q) + q e^l is a sum of two numbers next
        to one side of the complex plane, below 3/4: its log errs by at most 36 c u times itself.
        """
        q, log_q, loss = self.q[:, None], np.log(self.q)[:, None], self.loss(z, shift)
        limit = np.minimum(_FAR - log_q, _LARGEST_LOSS)
        near, left = loss.real < limit, (loss.real < _LEFT) & (q > _OFTEN)
        logs = log1p_complex(q * np.expm1(np.where(near & ~left, loss, 0.0)))
        if not near.all():
            rest = self.unsampled[:, None] / q * np.exp(-np.where(near, limit, loss))
            logs = np.where(near, logs, log_q + loss + log1p_complex(rest))
        if not left.any():
            return logs
        kept = self.unsampled[:, None] + q * np.exp(np.where(left, loss, _LEFT))
        return np.where(left, np.log(kept), logs)

    @property
    def harder(self) -> Reals:
        """Return by what factor log(1 + u) and log(1 + u) - u err more than at small rates."""
        return np.where(self.q > _OFTEN, 9.0, 1.0)

    def slip(self, rule: TrapezoidRules, growth: Numbers) -> Reals:
        """Bound the error of log(1 + u) at the nodes, in u, from rounding l and by itself.

        Rounding l moves it by |q e^l / (1 + u)| times the error of l.
        """
        mu, z = self.mu[:, None], np.abs(rule.z)
        loss = self.loss(rule.z, np.zeros(self.mu.shape))
        ratio = np.exp(np.log(self.q)[:, None] + loss.real - growth.real)
        own = 8.0 * ELEMENTARY_ULPS * self.harder[:, None] * np.abs(growth)
        return np.asarray(6.0 * ratio * (mu * (z + rule.shift[:, None]) + mu * mu) + own)

    def curvature(self, rule: TrapezoidRules, growth: Numbers) -> tuple[Numbers, Reals]:
        """Return w (log(1 + u) - u) at the nodes, shape (p, n), and how many u it errs by.

        The errors are relative to the size of each. Where q e^l is large, w u is e^{log w + log q
        + l} - q w, so that neither e^l is out of range nor w lost; |u| is at most 9 |g - u| there.
        """
        q, log_weights, loss = self.q[:, None], rule.log_weights, self.loss(rule.z, rule.shift)
        weights, log_likely = np.exp(log_weights), np.log(q) + loss
        large = log_likely.real > _LIKELY
        left = (loss.real < _LEFT) & (q > _OFTEN)
        shifted = q * np.expm1(np.where(large, 0.0, loss))
        bend = elementary.log1p_minus_linear(np.where(left, 0.0, shifted))
        bend = np.where(left, growth - shifted, bend)
        weighted = weights * growth - (np.exp(log_weights + log_likely) - q * weights)
        blur = np.abs(log_weights)
        mu, z = self.mu[:, None], np.abs(rule.z)
        digits = self.harder[:, None] * (36 * ELEMENTARY_ULPS + 64) + 10.0 * blur
        more = 9.0 * (blur + np.abs(log_likely) + np.abs(loss) + 16.0) + 18.0 * mu * (z + mu)
        return np.where(large, weighted, weights * bend), digits + np.where(large, more, 0.0)

    def plain(self, alpha: Complexes, rule: TrapezoidRules, growth: Numbers) -> enclosure.Enclosure:
        """Enclose log M, shape (p, n), by the sum itself: digits are lost where M is near 1."""
        steady = 8.0 * np.abs(rule.log_weights) + 16 * ELEMENTARY_ULPS
        steady += 2 * elementary.summation_ulps(rule.z.shape[1])
        moving = 8.0 * np.abs(growth) + self.slip(rule, growth)
        columns = np.stack([steady, moving], axis=-1)
        total, sums, peak = exponential_sums(alpha, growth, rule.log_weights, columns)
        error = enclosure.UNIT_ROUNDOFF * (sums[..., 0] + np.abs(alpha) * sums[..., 1])
        with np.errstate(over="ignore"):  # then the node is known to be unknown
            error = error + np.exp(rule.log_plain[:, None] - peak)
            return elementary.log_of_sum(total, error, peak)

    def spread_out(self, alpha: Complexes) -> bool:
        """Return whether one rule would have to serve values of very different sizes. Heuristic."""
        low, high = float(alpha.real.min()), float(alpha.real.max())
        return any(
            log_size(mu, math.log(q), high) - log_size(mu, math.log(q), low) > _SPREAD
            for mu, q in zip(self.mu.tolist(), self.q.tolist(), strict=True)
        )

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' at increasing c, each (p, n), by a coarse rule.

        Heuristic: used only to place contours. E[u] = 0 is subtracted. The c are those of every
        mixture, shape (n,), or each one's own, shape (p, n).
        """
        alpha, sign = np.atleast_2d(self.power(c)), 1.0 if self.removal else -1.0
        left, right = -9.0 - self.mu, self.mu * np.maximum(alpha[:, -1], 1.0) + 9.0
        nodes = int(((right - left) / np.minimum(0.4, 1.0 / self.mu)).max()) + 2
        if nodes * alpha.shape[1] > _MAX_NODES:
            raise NotCertified(
                f"a Gaussian with noise multiplier {1 / float(self.mu.max()):.3g} on a sample has "
                f"a moment of order {alpha.max():.3g} that takes more than {_MAX_NODES} terms; "
                f"{EASIER}"
            )
        step = (right - left) / (nodes - 1)
        z = left[:, None] + step[:, None] * np.arange(nodes)
        log_mass = np.log(step / math.sqrt(2 * math.pi))[:, None] - 0.5 * z * z
        growth = self.log_ratio(z, np.zeros(step.shape)).real
        exponent = alpha[..., None] * growth[:, None, :]
        peak = np.maximum((exponent + log_mass[:, None, :]).max(axis=2), 0.0)
        weight = np.exp(exponent + log_mass[:, None, :] - peak[..., None])
        total = weight.sum(axis=2)
        near = (peak == 0.0) & (total <= 2.0)
        mass = np.exp(log_mass)
        ahead = (mass * np.expm1(np.minimum(growth, _LARGEST_LOSS))).sum(axis=1)
        drift = np.where(near, ahead[:, None], 0.0)
        flat = mass[:, None, :]
        rise = np.where(exponent < 1.0, np.expm1(np.minimum(exponent, 1.0)) * flat, weight - flat)
        excess = np.where(near, rise.sum(axis=2) - alpha * drift, 0.0)
        value = np.where(near, np.log1p(excess), peak + np.log(total))
        slope = ((weight @ growth[..., None])[..., 0] - drift) / total
        square = (weight @ (growth * growth)[..., None])[..., 0] / total
        return value, sign * slope, square - slope * slope

    def layers(self, cells: Cells, upper: Reals) -> tuple[Reals, Reals]:
        """Return layers of the density of each loss tilted by c, from upper bounds of K(c).

        It returns masses and widths, each (p, n). On a cell in z the density in nats is at least
        the smallest phi times the smallest power of 1 + u (monotone in z), over the largest slope
        dL/dz = mu q e^l / (1 + u), which increases in z. A cell counts as empty if its length has
        too few correct digits.
        """
        alpha, z, real, log_phi = cells
        mu = self.mu[:, None]
        log_slope = np.log(mu * self.q[:, None]) + mu * z - 0.5 * mu * mu - real
        power = np.minimum(alpha * real[:, :-1], alpha * real[:, 1:])
        low = np.minimum(log_phi[:, :-1], log_phi[:, 1:]) + power - log_slope[:, 1:]
        width = real[:, 1:] - real[:, :-1]
        distinct = width > _DISTINCT * np.maximum(np.abs(real[:, :-1]), np.abs(real[:, 1:]))
        heights = np.where(distinct, np.exp(np.minimum(low - upper[:, None], _LARGEST_LOSS)), 0.0)
        return layers(heights, width)

    def envelope(self, cells: Cells, lower: Reals) -> tuple[Reals, Reals]:
        """Bound the tilted laws' characteristic functions, from lower bounds of K(c).

        It returns heights and rates, each (p, n). M on the line Im z = b is at most e^{b^2/2}
        E[|1+u|^{Re alpha} e^{-y arg(1+u)}]; with mu b <= pi/2 both |1+u| and arg(1+u) increase in
        z, and |1+u| is at most its real value and at least 1 - q. A loss above 300 is replaced by
        300, which gives no smaller bound. What lies outside the cells, 9 standard deviations out,
        is added without decay: on the left at most phi(9) / 9 times that of |1+u| from 1 - q to 1,
        on the right the slope of the integrand's log is at most a mu - z <= -9, a = max(Re alpha,
        1).
        """
        alpha, z, real, log_phi = cells
        mu, shift = self.mu[:, None], np.minimum(1.4 / self.mu, 1.0)
        ratio = np.exp(np.log(self.q)[:, None] + np.minimum(mu * z - 0.5 * mu * mu, _MIDDLE_LOSS))
        turn = mu * shift[:, None]
        along, across = self.unsampled[:, None] + ratio * np.cos(turn), ratio * np.sin(turn)
        size = real if self.removal else 0.5 * np.log(along * along + across * across)
        power = alpha * (size[:, 1:] if self.removal else size[:, :-1])
        highest = np.where(
            z[:, :-1] * z[:, 1:] < 0, _PEAK, np.maximum(log_phi[:, :-1], log_phi[:, 1:])
        )
        lift = 0.5 * shift * shift - lower
        ends = (
            log_phi[:, 0] + np.minimum(alpha[:, 0], 0.0) * self.log_unsampled,
            log_phi[:, -1] + alpha[:, 0] * size[:, -1],
        )
        last = lift + np.logaddexp(*ends) - math.log(9.0)
        inside = lift[:, None] + highest + power + np.log(z[:, 1:2] - z[:, :1])
        rates = np.arctan2(across, along) * (1 - 1e-9)
        rates[:, -1] = 0.0
        rates[:, :-1][inside > _LARGEST_LOSS] = 0.0  # and then nothing is gained, with any height
        heights = np.exp(np.minimum(np.column_stack([inside, last]), _LARGEST_LOSS))
        return heights * (1 + 1e-9), rates

    def cells(self, c: Reals | float) -> Cells:
        """Return the cells in z for a tilt by c, with log(1 + u) and log phi at their ends.

        The tilt is one for all, or each mixture's own, shape (p,).
        """
        alpha = self.power(c).reshape(-1, 1)
        right = self.mu * np.maximum(alpha[:, 0], 1.0) + 9.0
        count = int(min(max(8 * (float(right.max()) + 9.0), 128), 2048))
        z = ((right + 9.0) / count)[:, None] * np.arange(count + 1.0) - 9.0
        real = self.log_ratio(z, np.zeros(right.shape)).real
        return alpha, z, real, _PEAK - 0.5 * z * z


def _rounded(values: Sequence[Fraction], dtype: np.dtype[Any]) -> Reals:
    """Return floats of some precision, each within a unit in the last place.

    Longer ones are sums of doubles, as numerators and denominators may exceed every float.
    """
    parts = [[float(one) for one in values]]
    if dtype == _DOUBLE:
        return np.array(parts[0])
    rest = list(values)
    while len(parts) < _PARTS:
        rest = [one - Fraction(near) for one, near in zip(rest, parts[-1], strict=True)]
        parts.append([float(one) for one in rest])
    return np.asarray(np.array(parts[::-1], dtype=dtype).sum(axis=0))
