"""Trapezoid rules for expectations of powers of Gaussian mixtures' density ratios.

The notation is that of pairs/gaussian_mixtures.py. With step h on a line Im z = b, either b = 0 or,
where Im alpha is large, b > 0 (Im alpha >= 0 is assumed): there |(1+u)^{i Im alpha}| =
e^{-Im alpha arg(1+u)} <= 1 as arg(1+u) is in [0, mu b]. A rule errs by at most
2 N / (e^{2 pi a/h} - 1), N the L1 norm on the edges of the strip |Im z - b| < a (Trefethen &
Weideman, SIAM Review 56 (2014), Theorem 5.1), where with theta = mu |Im z| < pi:
|phi(z)| = phi(Re z) e^{(Im z)^2/2}, |arg(1+u)| <= theta, and |1+u| is between cos(theta/2) and 1
times its real value; and by what is left of its nodes and right of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np

from dpproof.accountant.arithmetic.elementary import log_sum
from dpproof.accountant.arithmetic.enclosure import Complexes, Numbers, Reals, rounded_short
from dpproof.accountant.errors import TOO_LITTLE_NOISE, NotCertified

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
    """Trapezoid rules on the lines Im z = shift for E[f(z)], z standard normal.

    Attributes:
        z: shape (p, n), real parts of the nodes, exactly spaced.
        shift: shape (p,), imaginary part of all nodes.
        log_weights: shape (p, n), log of step * phi(z + i shift), real when no shift is not 0.
        log_truncation: shape (p,), log of a bound of what the rule leaves out of the expectation
            of (1+u)^alpha - 1 - alpha u.
        log_plain: the same for (1+u)^alpha.
    """

    z: Reals
    shift: Reals
    log_weights: Numbers
    log_truncation: Reals
    log_plain: Reals

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
class _Powers:
    """The exponents that a rule serves: ends of Re alpha, largest |alpha| and Im alpha >= 0."""

    low: float
    high: float
    size: float
    turn: float


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """The rule of one mixture: nodes at integer multiples of ``step`` between the ends."""

    step: float
    shift: float
    left: float
    right: float
    log_truncation: float
    log_plain: float


def choose_rule(mixtures: Mixtures, alpha: Complexes) -> TrapezoidRules:
    """Choose lines, steps and ranges so that truncation is far below rounding.

    Raises:
        NotCertified: too many nodes are needed.
    """
    real = alpha.real
    ends = float(real.min()), float(real.max())
    powers = _Powers(*ends, float(np.abs(alpha).max()), float(alpha.imag.max()))
    parameters = mixtures.mu.tolist(), mixtures.q.tolist(), mixtures.log_unsampled.tolist()
    if powers.high * max(parameters[0]) > _FARTHEST_PEAK:
        raise NotCertified(
            f"a subsampled Gaussian with noise multiplier {1 / max(parameters[0]):.3g} has too "
            f"little noise for this question (of order {powers.size:.3g}); {TOO_LITTLE_NOISE}"
        )
    lines = [_line(*each, powers) for each in zip(*parameters, strict=True)]
    needed = [(one.right - one.left) / one.step for one in lines]
    most = max(needed)
    if not most < _MAX_NODES:
        noise = 1 / parameters[0][needed.index(most)]
        raise NotCertified(
            f"a subsampled Gaussian with noise multiplier {noise:.3g} has too little noise for "
            f"this question (of order {powers.size:.3g}, integrated at {most:.3g} points, at most "
            f"{_MAX_NODES}); {TOO_LITTLE_NOISE}"
        )
    first = np.array([[math.floor(one.left / one.step)] for one in lines])
    z: Reals = np.array([[one.step] for one in lines]) * (first + np.arange(int(most) + 3.0))
    shift = np.array([one.shift for one in lines])
    return TrapezoidRules(
        z,
        shift,
        _log_weights(z, shift, mixtures.mu.dtype),
        np.array([one.log_truncation for one in lines]),
        np.array([one.log_plain for one in lines]),
    )


def _line(mu: float, q: float, log_unsampled: float, powers: _Powers) -> _Line:
    """Choose the strip whose bound allows the largest step.

    It lies about the real line or right above it.
    """
    log_q, order = math.log(q), max(-powers.low, 0.0)
    wanted = _DIGITS - 2.0 * log_q - log_size(mu, log_q, powers.low)
    norm = _log_norm(mu, q, log_unsampled, powers)
    best = step = strip = shift = bound = 0.0
    for scale, widest in _STRIPS:
        half = rounded_short(min(scale / mu, widest))
        for level in (0.0, half):
            edge = level + half
            if mu * edge > _WIDEST_TURN or level > _HIGHEST:
                continue
            log_edge = norm + 0.5 * edge * edge - order * math.log(math.cos(0.5 * mu * edge))
            log_edge += 0.0 if level else powers.turn * mu * half
            wide = 2 * math.pi * half / (log_edge + wanted)
            if wide * (1.0 if level else _REAL) > best:
                best = wide * (1.0 if level else _REAL)
                step, strip, shift, bound = rounded_short(wide), half, level, log_edge
    lift = 0.5 * shift * shift - order * math.log(math.cos(0.5 * mu * shift))
    left, lost, lost_plain = _left(q, log_unsampled, powers, lift, wanted)
    right, beyond = _right(mu, log_q, log_unsampled, powers, lift + wanted)
    between = math.log(4.0) + bound - 2 * math.pi * strip / step
    rest = log_sum(between, lift + beyond)
    return _Line(step, shift, left, right, log_sum(rest, lost), log_sum(rest, lost_plain))


def _left(
    q: float, log_unsampled: float, powers: _Powers, lift: float, wanted: float
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
    mu: float, log_q: float, log_unsampled: float, powers: _Powers, height: float
) -> tuple[float, float]:
    """Return where nodes may end, and the log of a bound of what is right of there.

    The factor e^{lift} is left out.

    For a loss above 0 and a the larger of Re alpha and 1, |f| phi is at most e^{lift} phi times
    F = (1-q+v)^a + 1 + 2 |alpha| v, v = q e^l on the real line (no larger power where all
    Re alpha <= 1). The slope of log(F phi) is at most a mu - z: from R > a mu on its
    integral is at most F(R) phi(R) / (R - a mu). As F is about (q e^l)^a or 1 + |alpha| q e^l,
    F phi should be small beyond the roots of two quadratics; where it is not, as v is small but
    a v is large, it is by the slope as much further right.
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


def _log_norm(mu: float, q: float, log_unsampled: float, powers: _Powers) -> float:
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
    """Return a lower bound of log M: (1-q+qx)^a >= (qx)^a.

    Heuristic: it is in no error bound.
    """
    return max(a * log_q + 0.5 * a * (a - 1.0) * mu * mu, 0.0) if a > 1.0 else 0.0


def _log_weights(z: Reals, shift: Reals, dtype: np.dtype[Any]) -> Numbers:
    """Return the log of step * phi(z + i shift), real if every shift is 0."""
    step = (z[:, 1:2] - z[:, :1]).astype(dtype)
    points = z.astype(dtype) + (1j * shift[:, None] if shift.any() else 0.0)
    return np.asarray(np.log(step / np.sqrt(8 * np.arctan(dtype.type(1)))) - 0.5 * points * points)
