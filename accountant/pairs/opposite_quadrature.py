"""Trapezoid rules on the real line for expectations under two opposite Gaussian mixtures.

The notation is that of pairs/opposite_gaussians.py: A = 1-q + q e^{mu z - mu^2/2}, B(z) = A(-z),
loss = log A/B, and z is standard normal. A rule of step h serves the two integrands

    f(z) = A (e^{s loss} - 1 - s loss),    g(z) = s (A - B) loss / 2

together, for every s = c + iy of an array with c > -1: no pair is asked for K elsewhere. Let
theta = mu a < pi and Lambda = -log(1-q). In the strip |Im z| < a both |A| and |B| are between
cos(theta/2) and 1 times their values at Re z (two
numbers at an angle of at most theta), their arguments are at most theta, and |phi(z)| is
phi(Re z) e^{(Im z)^2/2}. Hence on its edges the L1 norm of phi f + phi g is at most e^{a^2/2} times

    N sec(theta/2)^max(c,0) e^{2 theta |y|} + 1 + 2 |s| W,
    W = 2 Lambda + 2 mu (1 + q mu) + 2 log sec(theta/2) + 2 theta,

as |log A| and |log B| are at most Lambda + mu |Re z| there, apart from the secant and the
argument. N is the largest E[A^{1+c} B^{-c}], at most 1 if -1 <= c <= 0 (Hölder), else at most
(1-q)^{-c} E[A^{1+c}] and, as the coin may be revealed, 1-q + q e^{2 mu^2 c (c+1)}.
A rule errs by at most 2 / (e^{2 pi a/h} - 1) times that norm (Trefethen & Weideman, SIAM Review 56
(2014), Theorem 5.1), and by what is left of its nodes and right of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.elementary import log_sum
from dpproof.accountant.arithmetic.enclosure import Complexes, Reals, rounded_short
from dpproof.accountant.errors import TOO_LITTLE_NOISE, NotCertified

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
    """Nodes at integer multiples of a step.

    Attributes:
        z: shape (n,), the nodes, exactly spaced.
        step: their distance, of 20 significant bits.
        log_truncation: log of a bound of what the rule misses of E[f + g].
    """

    z: Reals
    step: float
    log_truncation: float


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
    """Choose the step and the ends so that truncation is far below rounding.

    Raises:
        NotCertified: too many nodes are needed.
    """
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
        strip = rounded_short(min(scale / mu, widest))
        log_edge = one.log_edge(strip)
        wide = rounded_short(2 * math.pi * strip / max(log_edge + wanted, 1.0))
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
