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
from typing import TYPE_CHECKING, Any, final

import numpy as np

from accountant.errors import NotCertified
from accountant.numerics.enclosure import Complexes, Numbers, Reals

if TYPE_CHECKING:
    from accountant.pairs.gaussian_mixtures import GaussianMixtures

_MAX_NODES = 1 << 17
_RARE = 0.25  # a sampling rate up to which terms at the left are of second order
_DIGITS = 40.0  # log of q^2 over what a rule may leave out, far below 2**-53
# Half widths of strips, in units of 1/mu and absolutely: first about the real line, then about
# lines so far above it that the strip begins on it.
_LEVEL = 6
_STRIPS = np.array([[2.5], [2.0], [1.4], [1.2], [0.6], [0.2]] * 2)
_WIDEST = np.array([[8.0], [5.0], [4.0], [2.0], [1.5], [1.0]] * 2)
_HIGHEST = np.repeat([[math.inf], [2.0]], _LEVEL, axis=0)
_EDGES = np.repeat([[1.0], [2.0]], _LEVEL, axis=0)  # how far up they go, in half widths
_TURNS = np.repeat([[1.0], [0.0]], _LEVEL, axis=0)  # whether (1+u)^{i Im alpha} grows there
_PREFERENCES = np.repeat([[1.2], [1.0]], _LEVEL, axis=0)  # real sums take half the time


@final
@dataclass(frozen=True, slots=True)
class Rule:
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

    def to(self, dtype: np.dtype[Any]) -> Rule:
        """The same rule, its weights to some precision."""
        return replace(self, log_weights=_log_weights(self.z, self.shift, dtype))


def choose_rule(mixtures: GaussianMixtures, alpha: Complexes) -> Rule:
    """Choose lines, steps and ranges so that truncation is far below rounding.

    Raises:
        NotCertified: too many nodes are needed.
    """
    mu = mixtures.mu
    order, turn = max(-float(alpha.real.min()), 0.0), float(alpha.imag.max())
    norms = log_norm(mixtures, alpha)
    wanted = _DIGITS - 2.0 * np.log(mixtures.q) - mixtures.log_size(float(alpha.real.min()))
    half = np.minimum(_STRIPS / mu, _WIDEST)
    edge, angle = _EDGES * half, mu * half
    allowed = (_EDGES * angle <= 3.0) & (half <= _HIGHEST)
    bound = 0.5 * edge * edge + (turn * _TURNS) * angle + norms
    if order:
        bound -= order * np.log(np.cos(np.where(allowed, 0.5 * _EDGES * angle, 0.0)))
    steps = np.where(allowed, 2 * math.pi * half / (bound + wanted), 0.0)
    best, each = np.argmax(_PREFERENCES * steps, axis=0), np.arange(mu.size)
    step, strip, norm = (one[best, each] for one in (_short(steps), _short(half), bound))
    shift = np.where(best < _LEVEL, 0.0, strip)
    lift = 0.5 * shift * shift - order * np.log(np.cos(0.5 * mu * shift))
    left, *below = _left(mixtures, alpha, lift, wanted)
    right, beyond = _right(mixtures, alpha, lift, wanted)
    needed = (right - left) / step
    hardest = int(np.argmax(needed))
    if not needed[hardest] < _MAX_NODES:
        raise NotCertified(
            f"a subsampled Gaussian with noise multiplier {1 / mu[hardest]:.3g} at "
            f"order {np.abs(alpha).max():.3g} needs {needed[hardest]:.0f} quadrature nodes, "
            f"allowed are {_MAX_NODES}; use more noise"
        )
    z = step[:, None] * (np.floor(left / step)[:, None] + np.arange(int(needed[hardest]) + 3))
    log_weights = _log_weights(z, shift, mu.dtype)
    lost = np.logaddexp(math.log(4.0) + norm - 2 * math.pi * strip / step, beyond)
    return Rule(z, shift, log_weights, *(np.logaddexp(lost, one) for one in below))


def _left(
    mixtures: GaussianMixtures, alpha: Complexes, lift: Reals, wanted: Reals
) -> tuple[Reals, Reals, Reals]:
    """Where nodes may start, and logs of bounds of what is left of there, as a rule has them.

    With f = (1+u)^alpha - 1 - alpha u, where the loss is below 0: |u| <= 2q and Im u >= 0,
    so f = alpha (alpha - 1) times the integral of (u - t) (1+t)^{alpha-2} on the segment
    from 0 to u is at most 2 q^2 |alpha| (|alpha| + 1) times the largest |1+t|^{Re alpha - 2},
    1 - 2q <= |1+t| <= 1 + 2q. Where q > 1/4, |f| is at most |1+u|^{Re alpha} + 1 + 2 |alpha|.
    |1+u| is between (1-q) cos(mu b / 2) and 1, with the cosine in the lift.
    """
    size, low, high = float(np.abs(alpha).max()), alpha.real.min(), alpha.real.max()
    rare = np.minimum(mixtures.q, _RARE)
    grown = np.maximum((high - 2.0) * np.log1p(2 * rare), (low - 2.0) * np.log1p(-2 * rare))
    small = 2.0 * np.log(rare) + math.log(2.0 * size * (size + 1.0)) + grown
    power = min(low, 0.0) * mixtures.log_unsampled
    large = np.logaddexp(math.log(1.0 + 2.0 * size), power)
    height = np.where(mixtures.q <= _RARE, small, large)
    least = np.sqrt(2.0 * np.maximum(lift + height + wanted, 8.0))
    tail = lift - 0.5 * least * least + 1e-9
    return -least, tail + height, tail + power


def _right(
    mixtures: GaussianMixtures, alpha: Complexes, lift: Reals, wanted: Reals
) -> tuple[Reals, Reals]:
    """Where nodes may end, and log of a bound of what is right of there.

    For a loss above 0 and a the larger of Re alpha and 1, |f| phi is at most e^{lift} phi times
    F = (1+v)^a + 1 + 2 |alpha| v, v = q e^l on the real line (no larger power where all
    Re alpha <= 1). The slope of log(F phi) is at most a mu - z: from R > a mu on its
    integral is at most F(R) phi(R) / (R - a mu). As F is about (q e^l)^a or 1 + |alpha| q e^l,
    F phi should be small beyond the roots of two quadratics.
    """
    size, a = float(np.abs(alpha).max()), max(float(alpha.real.max()), 1.0)
    mu, log_q, height = mixtures.mu, np.log(mixtures.q), lift + wanted
    flat = height + np.maximum(math.log(size) + log_q, 0.0)
    raised = height + a * (log_q - 0.5 * mu * mu)
    roots = (
        mu + np.sqrt(2.0 * np.maximum(flat, 0.0)),
        a * mu + np.sqrt(np.maximum(2.0 * raised + (a * mu) ** 2, 1.0)),
    )
    right = np.maximum(*roots)
    grown = np.logaddexp(0.0, log_q + mu * right - 0.5 * mu * mu)
    power = np.logaddexp(a * grown, math.log1p(2.0 * size) + grown)
    return right, lift + power - 0.5 * right * right - np.log(right - a * mu) + 1e-9


def log_norm(mixtures: GaussianMixtures, alpha: Complexes) -> Reals:
    """Upper bounds of log(E|1+u|^a + 1 + 2 |alpha| q), a real.

    For a < 0, |1+u|^a <= (1-q)^a. For a >= 1 the expectation is summed over cells in z, on
    which 1 + u is largest at the right and phi at the end nearer 0; beyond the cells, and where
    that is enough, (1-q+qx)^a <= 1-q+qx^a (convexity), whose last term is a normal density
    centred at a mu, scaled by q e^{a(a-1)mu^2/2}. For 0 <= a < 1, (1-q+qx)^a <= 1+qx.
    """
    a = float(alpha.real.max())
    lowered = min(float(alpha.real.min()), 0.0) * mixtures.log_unsampled
    linear = np.log(2.0 + 2.0 * mixtures.q * (1.0 + float(np.abs(alpha).max())))
    base = np.logaddexp(linear, lowered)
    if a <= 1.0:
        return np.asarray(base)
    raised = np.log(mixtures.q) + 0.5 * a * (a - 1.0) * mixtures.mu * mixtures.mu
    tail = np.logaddexp(base, raised)
    if (raised < 4.0).all():
        return np.asarray(tail)
    end = a * mixtures.mu + np.sqrt(2.0 * (np.maximum(raised, 0.0) + 9.0))
    count = int(min(max(float((end * (1.0 + 0.5 * a * mixtures.mu)).max()), 64), 4096))
    z = end[:, None] * np.linspace(0.0, 1.0, count)
    growth = mixtures.log_ratio(z, np.zeros(end.shape)).real
    cells = a * growth[:, 1:] - 0.5 * z[:, :-1] ** 2 + np.log(z[:, 1:2])
    summed = np.logaddexp.reduce(cells, axis=1) + 1e-6
    return np.asarray(np.where(raised < 4.0, tail, np.logaddexp(base, summed)))


def _short(values: Reals) -> Reals:
    """Keep 20 significant bits, rounded down, so that small multiples and sums are exact."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.floor(mantissa * (1 << 20)), exponent - 20))


def _log_weights(z: Reals, shift: Reals, dtype: np.dtype[Any]) -> Numbers:
    """Log of step * phi(z + i shift), real when no shift is not 0."""
    step = (z[:, 1:2] - z[:, :1]).astype(dtype)
    points = z.astype(dtype) + (1j * shift[:, None] if shift.any() else 0.0)
    return np.asarray(np.log(step / np.sqrt(8 * np.arctan(dtype.type(1)))) - 0.5 * points * points)
