"""The Poisson-subsampled Gaussian pair, in either direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from accountant.bound import Bound
from accountant.errors import NotCertified
from accountant.numerics.elementary import (
    exp_minus_linear,
    log1p_complex,
    log1p_enclosure,
    log1p_minus_linear,
    log_of_sum,
    summing,
    turned_sums,
)
from accountant.numerics.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Numbers,
    Reals,
)
from accountant.numerics.smoothness import layers
from accountant.pairs.gaussian import gaussian_profile
from accountant.pairs.pair import Exponentials, Lattice, Pair, Smoothness
from accountant.pairs.subsampled_profile import (
    addition_profile,
    log_unsampled,
    removal_profile,
)

_LARGE = -4.0  # log of a term beyond which M - 1 is no smaller than M: a plain sum is as good
_MAX_NODES = 1 << 17
_UNREACHABLE = 1 << 40
_BLOCK = 1 << 20  # terms evaluated at once
_SPREAD = 80.0
_OFTEN = 0.5  # a sampling rate above which 1 + u is computed from 1 - q
_LEFT = -math.log(2.0)


@final
@dataclass(frozen=True, slots=True)
class _Rule:
    """A trapezoid rule on the line Im z = shift for E[f(z)], z standard normal.

    Attributes:
        z: shape (n,), real parts of the nodes.
        shift: imaginary part of all nodes.
        log_weights: shape (n,), log of step * phi(z + i shift), real when shift is 0.
        log_truncation: log of a bound of what the rule leaves out.
    """

    z: Reals
    shift: float
    log_weights: Numbers
    log_truncation: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledGaussianPair(Pair):
    """Mixture W = (1-q) N(0,1) + q N(mu,1) against N(0,1).

    ``removal`` is the pair (W, N(0,1)); otherwise (N(0,1), W). With u(z) = q (e^l - 1),
    l = mu z - mu^2/2 and z standard normal,

        M(s) = E[(1 + u)^alpha],   alpha = s + 1 for removal, -s for addition.

    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11, with the Gaussian's own pair; the
        formula is a change of measure.
    Rounds: as E[u] = 0, M - 1 = E[(1+u)^alpha - 1 - alpha u], an integral of terms of the
        size of the answer. It is taken on a line Im z = b, either b = 0 or, where Im alpha
        is large, b > 0 (conjugating alpha so that Im alpha >= 0): there
        |(1+u)^{i Im alpha}| = e^{-Im alpha arg(1+u)} <= 1 as arg(1+u) is in [0, mu b]. The
        trapezoid rule with step h errs by at most 2 N / (e^{2 pi a/h} - 1), N the L1 norm on
        the edges of the strip |Im z - b| < a (Trefethen & Weideman, SIAM Review 56 (2014),
        Theorem 5.1), where with theta = mu |Im z| < pi: |phi(z)| = phi(Re z) e^{(Im z)^2/2},
        |arg(1+u)| <= theta, and |1+u| is between cos(theta/2) and 1 times its real value.

    Attributes:
        mu_squared: exact, above 0.
        sampling_rate: exact, in (0, 1).
        removal: the direction.
    """

    mu_squared: Fraction
    sampling_rate: Fraction
    removal: bool

    def swapped(self) -> Pair:
        """The other direction."""
        return SubsampledGaussianPair(
            mu_squared=self.mu_squared,
            sampling_rate=self.sampling_rate,
            removal=not self.removal,
        )

    @property
    def infinite_mass(self) -> float:
        """None: both have full support."""
        return 0.0

    @property
    def max_loss(self) -> float:
        """Unbounded for removal, -log(1 - q) for addition."""
        if self.removal:
            return math.inf
        return -log_unsampled(self.sampling_rate) * (1 + 1e-15)

    def cgf(self, s: Complexes) -> Enclosure:
        """Log of the expectation by the trapezoid rule."""
        alpha = s + 1.0 if self.removal else -s
        flipped = alpha.imag < 0
        alpha = np.where(flipped, alpha.conj(), alpha)
        sizes = [self._log_size(float(end)) for end in (alpha.real.max(), alpha.real.min())]
        wide = sizes[0] - sizes[1] > _SPREAD  # one rule would have to serve very different sizes
        rule = self._rule(alpha[:1] if wide else alpha)
        if alpha.size > 1 and (wide or alpha.size * rule.z.size > _BLOCK):
            parts = [self.cgf(part) for part in np.array_split(s, 2)]
            return Enclosure(
                np.concatenate([part.value for part in parts]),
                np.concatenate([part.radius for part in parts]),
            )
        growth = self._log_ratio(rule)
        tilt = alpha.real.max() * growth.real, alpha.real.min() * growth.real
        size = 2 * np.log(np.abs(alpha).max() * np.abs(growth) + 1e-300)
        peak = float((rule.log_weights.real + np.minimum(size, 0.0) + np.maximum(*tilt)).max())
        found = (self._large if peak > _LARGE else self._small)(alpha, rule, growth)
        return Enclosure(np.where(flipped, found.value.conj(), found.value), found.radius)

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """By a coarse trapezoid rule on the real axis, E[u] = 0 subtracted."""
        mu = math.sqrt(self.mu_squared)
        alpha, sign = (c + 1.0, 1.0) if self.removal else (-c, -1.0)
        left, right = -9.0 - mu, mu * max(float(alpha[-1]), 1.0) + 9.0
        nodes = int((right - left) / min(0.4, 1.0 / mu)) + 2
        if nodes * c.size > _MAX_NODES:
            raise NotCertified(f"a subsampled Gaussian at order {alpha[-1]:.3g} is out of reach")
        z, step = np.linspace(left, right, nodes, retstep=True)
        log_mass = math.log(step / math.sqrt(2 * math.pi)) - 0.5 * z * z
        growth = self._log_ratio(_Rule(z, 0.0, z, 0.0)).real
        exponent = np.multiply.outer(alpha, growth)
        peak = np.maximum((exponent + log_mass).max(axis=1), 0.0)
        weight = np.exp(exponent + log_mass - peak[:, None])
        total = weight.sum(axis=1)
        near = (peak == 0.0) & (total <= 2.0)
        mass = np.exp(log_mass)
        drift = np.where(near, mass @ np.expm1(np.minimum(growth, 600.0)), 0.0)
        rise = np.where(exponent < 1.0, np.expm1(np.minimum(exponent, 1.0)) * mass, weight - mass)
        excess = np.where(near, rise.sum(axis=1) - alpha * drift, 0.0)
        value = np.where(near, np.log1p(excess), peak + np.log(total))
        slope = (weight @ growth - drift) / total
        square = weight @ (growth * growth) / total
        return value, sign * slope, square - slope * slope

    def _log_ratio(self, rule: _Rule) -> Numbers:
        """log(1 + u) at the nodes, without overflow where e^l is huge.

        Where q is above 1/2 and e^l below, 1 + u = (1 - q) + q e^l is a sum of two numbers next
        to one side of the complex plane, below 3/4: its log errs by at most 36 c u times itself.
        """
        mu, q = math.sqrt(self.mu_squared), float(self.sampling_rate)
        loss = _line(mu * rule.z - 0.5 * mu * mu, mu * rule.shift)
        near = loss.real < 30.0
        far = (
            math.log(q) + loss + log1p_complex((1.0 - q) / q * np.exp(-np.where(near, 30.0, loss)))
        )
        found = np.where(near, log1p_complex(q * np.expm1(np.where(near, loss, 0.0))), far)
        if q <= _OFTEN:
            return found
        left = loss.real < _LEFT
        kept = float(1 - self.sampling_rate) + q * np.exp(np.where(left, loss, _LEFT))
        return np.where(left, np.log(kept), found)

    @property
    def _harder(self) -> float:
        """How many times more log(1 + u) and log(1 + u) - u may err than at small rates."""
        return 9.0 if self.sampling_rate > _OFTEN else 1.0

    def _small(self, alpha: Complexes, rule: _Rule, growth: Numbers) -> Enclosure:
        """Return log1p of the sum of second-order terms.

        With g = log(1+u) a term is w (e^{alpha g} - 1 - alpha g + alpha (g - u)). An error
        d in u (from rounding l) moves it by |alpha ((1+u)^{alpha-1} - 1)| d / |1+u|, at most
        2 |alpha| min(|alpha g|, 1) max(e^{Re alpha Re g}, 1) d / |1+u|, as Im alpha Im g >= 0.
        Where |alpha g| >= 1 the rounding of a term is linear in |alpha g|, not quadratic.
        """
        mu, q = math.sqrt(self.mu_squared), float(self.sampling_rate)
        weights = np.exp(rule.log_weights)
        z = np.minimum(rule.z, 600.0 / mu + 0.5 * mu)  # its weight is 0 beyond
        loss = _line(mu * z - 0.5 * mu * mu, mu * rule.shift)
        shifted = q * np.expm1(loss)
        curvature = log1p_minus_linear(shifted)
        if q > _OFTEN:
            curvature = np.where(loss.real < _LEFT, growth - shifted, curvature)
        second = exp_minus_linear(alpha, growth, rule.log_weights)
        excess = second + alpha * complex((curvature * weights).sum())

        grown, blur = np.abs(growth), np.abs(rule.log_weights)
        moved = q * np.exp(loss.real - growth.real) * (mu * np.abs(z) + mu * mu)
        moved = 6.0 * moved + 8.0 * self._harder * ELEMENTARY_ULPS * grown
        size = np.abs(alpha)
        far = size.min() * grown >= 1.0
        constant = np.where(far, 4.0 * ELEMENTARY_ULPS + 64 + 2.0 * blur, 0.0)
        linear = np.where(far, 8.0 * grown + moved, 0.0)
        square = np.where(
            far, 0.0, grown * ((13 * ELEMENTARY_ULPS + 88 + 14.0 * blur) * grown + moved)
        )
        tilts = np.unique(alpha.real)
        exponent = np.maximum(tilts[:, None] * growth.real, 0.0) + rule.log_weights.real
        sums = np.exp(exponent) @ np.column_stack([constant, linear, square])
        sums = sums[np.searchsorted(tilts, alpha.real)]
        flat = np.abs(weights * curvature) @ (self._harder * (36 * ELEMENTARY_ULPS + 64) + blur)
        spread = sums[:, 0] + size * (sums[:, 1] + float(flat) + size * sums[:, 2])
        return log1p_enclosure(excess, UNIT_ROUNDOFF * spread + math.exp(rule.log_truncation))

    def _large(self, alpha: Complexes, rule: _Rule, growth: Numbers) -> Enclosure:
        """Log of the sum by its largest term, for arguments where M itself is large."""
        mu = math.sqrt(self.mu_squared)
        steady = 8.0 * np.abs(rule.log_weights) + 16 * ELEMENTARY_ULPS + 2 * summing(rule.z.size)
        moving = 8.0 * np.abs(growth) + 4.0 * ELEMENTARY_ULPS * (mu * np.abs(rule.z) + mu * mu)
        moving += 4.0 * self._harder * ELEMENTARY_ULPS * np.abs(growth)
        columns = np.column_stack([steady, moving])
        total, sums, peak = turned_sums(alpha, growth, rule.log_weights, columns)
        error = UNIT_ROUNDOFF * (sums[:, 0] + np.abs(alpha) * sums[:, 1])
        with np.errstate(over="ignore"):  # then the node is known to be unknown
            return log_of_sum(total, error + np.exp(rule.log_truncation - peak), peak)

    def _rule(self, alpha: Complexes) -> _Rule:
        """Choose line, step and range so that the truncation is far below the rounding."""
        mu, q = math.sqrt(self.mu_squared), float(self.sampling_rate)
        order = max(-float(alpha.real.min()), 0.0)
        turn = float(alpha.imag.max())
        log_norm, log_tail = self._log_moment_bounds(alpha)
        wanted = 44.0 - 2.0 * math.log(q) - self._log_size(float(alpha.real.min()))
        step, norm, strip, shift = 0.0, 0.0, 0.0, 0.0
        for theta, reach in (
            (2.5, 8.0),
            (2.0, 5.0),
            (1.4, 4.0),
            (1.2, 2.0),
            (0.6, 1.5),
            (0.2, 1.0),
        ):
            half = min(theta / mu, reach)
            for line in (0.0, half):
                edge, turned = line + half, 0.0 if line else turn * mu * half
                if mu * edge > 3.0 or (line and half > 2.0):
                    continue
                bound = 0.5 * edge * edge + turned + log_norm
                bound -= order * math.log(math.cos(0.5 * mu * edge))
                if (candidate := 2 * math.pi * half / (bound + wanted)) > 1.2 * step:
                    step, norm, strip, shift = candidate, bound, half, line
        lift = 0.5 * shift * shift - order * math.log(math.cos(0.5 * mu * shift))
        lift += math.log(16.0 + 16.0 * np.abs(alpha).max())
        reaches = [
            math.sqrt(2 * (lift + one + wanted + 8.0)) + step for one in (log_norm, log_tail)
        ]
        left, right = -reaches[0] - mu, mu * max(float(alpha.real.max()), 1.0) + reaches[1]
        nodes = int((right - left) / step) + 2
        if nodes > _MAX_NODES:
            raise NotCertified(
                f"a subsampled Gaussian with noise multiplier {1 / mu:.3g} at order "
                f"{np.abs(alpha).max():.3g} needs {nodes} quadrature nodes, allowed are "
                f"{_MAX_NODES}; use more noise"
            )
        z = left + step * np.arange(nodes)
        points = _line(z, shift)
        log_weights = math.log(step / math.sqrt(2 * math.pi)) - 0.5 * points * points
        lost = [math.log(4.0) + norm - 2 * math.pi * strip / step]
        lost += [
            lift + one - 0.5 * (reach - step) ** 2
            for one, reach in zip((log_norm, log_tail), reaches, strict=True)
        ]
        return _Rule(z, shift, log_weights, float(np.logaddexp.reduce(lost)))

    def _log_moment_bounds(self, alpha: Complexes) -> tuple[float, float]:
        """Upper bounds of log(E|1+u|^a + 1 + 2 |alpha| q), a real, and of its tail's factor.

        For a < 0, |1+u|^a <= (1-q)^a. For a >= 1 the expectation is summed over cells in z, on
        which 1 + u is largest at the right and phi at the end nearer 0; beyond the cells and
        for the tail's factor, (1-q+qx)^a <= 1-q+qx^a (convexity), whose last term is a normal
        density centred at a mu, scaled by q e^{a(a-1)mu^2/2}. For 0 <= a < 1, (1-q+qx)^a <= 1+qx.
        """
        mu, q = math.sqrt(self.mu_squared), float(self.sampling_rate)
        a = float(alpha.real.max())
        lowered = min(float(alpha.real.min()), 0.0) * log_unsampled(self.sampling_rate)
        linear = math.log(2.0 + 2.0 * q * (1.0 + float(np.abs(alpha).max())))
        base = float(np.logaddexp(linear, lowered))
        if a <= 1.0:
            return base, base
        raised = math.log(q) + 0.5 * a * (a - 1.0) * mu * mu
        tail = float(np.logaddexp(base, raised))
        if raised < 4.0:
            return tail, tail
        reach = math.sqrt(2.0 * (raised + 9.0))
        count = int(min(max((a * mu + reach) * (2.0 + a * mu), 64), 4096))
        z = np.linspace(0.0, a * mu + reach, count)
        growth = self._log_ratio(_Rule(z, 0.0, z, 0.0)).real
        cells = a * growth[1:] - 0.5 * z[:-1] ** 2 + math.log(z[1])
        summed = float(np.logaddexp.reduce(cells)) + 1e-6
        return float(np.logaddexp(base, summed)), tail

    def _log_size(self, a: float) -> float:
        """Lower bound of log M: (1-q+qx)^a >= (qx)^a. It steers, and is in no error bound."""
        mu2, q = float(self.mu_squared), float(self.sampling_rate)
        return max(a * math.log(q) + 0.5 * a * (a - 1.0) * mu2, 0.0) if a > 1 else 0.0

    @property
    def zcdp_bound(self) -> float:
        """That of the Gaussian: Rényi divergence is quasi-convex, so mixing only helps."""
        return 0.5 * float(self.mu_squared) * (1 + 1e-15)

    def work(self, s: complex) -> int:
        """Nodes of the quadrature."""
        alpha = s + 1.0 if self.removal else -s
        alpha = alpha.conjugate() if alpha.imag < 0 else alpha
        try:
            return self._rule(np.array([alpha])).z.size
        except NotCertified:
            return _UNREACHABLE

    @property
    def gdp_bound(self) -> float:
        """That of the Gaussian: forgetting the sample is post-processing."""
        return math.sqrt(self.mu_squared) * (1 + 1e-15)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """The Gaussian's profile at a shifted epsilon (pairs/subsampled_profile.py)."""
        mu = math.sqrt(self.mu_squared)
        through = removal_profile if self.removal else addition_profile
        return through(lambda x: gaussian_profile(mu, x), self.sampling_rate, epsilon)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Layers of the tilted loss density, and an envelope from a shifted contour.

        Layers: on a cell in z the density in nats is at least the smallest phi times the
        smallest power of 1 + u (monotone in z), over the largest slope
        dL/dz = mu q e^l / (1 + u), which increases in z. Envelope: M on the line Im z = b is
        at most e^{b^2/2} E[|1+u|^{Re alpha} e^{-y arg(1+u)}]; with mu b <= pi/2 both |1+u|
        and arg(1+u) increase in z, and |1+u| is at most its real value. What lies outside
        the cells, 9 standard deviations out, is added without decay.
        """
        alpha = c + 1.0 if self.removal else -c
        mu, q = math.sqrt(self.mu_squared), float(self.sampling_rate)
        right = mu * max(alpha, 1.0) + 9.0
        z = np.linspace(-9.0, right, 1 + int(min(max(8 * (right + 9.0), 128), 2048)))
        real = self._log_ratio(_Rule(z, 0.0, z, 0.0)).real
        log_phi = -0.5 * z * z - 0.5 * math.log(2 * math.pi)
        log_slope = math.log(mu * q) + mu * z - 0.5 * mu * mu - real
        power = np.minimum(alpha * real[:-1], alpha * real[1:])
        low = np.minimum(log_phi[:-1], log_phi[1:]) + power - moment.upper - log_slope[1:]
        masses, widths = layers(np.exp(low), np.diff(real))
        shift = min(1.4 / mu, 1.0)
        turned = self._log_ratio(_Rule(z, shift, z, 0.0))
        power = alpha * (real[1:] if self.removal else turned.real[:-1])
        across = (z[:-1] < 0) & (z[1:] > 0)
        high = np.where(across, -0.5 * math.log(2 * math.pi), np.maximum(log_phi[:-1], log_phi[1:]))
        heights = np.exp(0.5 * shift * shift + high + power - moment.lower) * np.diff(z)
        outside = 0.5 * shift * shift + self._log_moment_bounds(np.array([alpha + 0j]))[1]
        heights = np.append(heights, 2.0 * math.exp(min(outside - 40.5 - moment.lower, 600.0)))
        rates = np.append(turned.imag[:-1] * (1 - 1e-9), 0.0)
        return Smoothness(0.0, masses, widths, heights * (1 + 1e-9), rates)

    def lattice(self, c: float) -> Lattice | None:
        """None: the loss has a density."""
        return None

    def exponentials(self) -> Exponentials | None:
        """None is known."""
        return None

    def above(self, count: int) -> Pair:
        """Itself: K is exact."""
        return self

    def below(self, count: int) -> Pair:
        """Itself: K is exact."""
        return self


def _line(real: Reals, imaginary: float) -> Numbers:
    """Points on a horizontal line, real when the line is the real axis."""
    return real + 1j * imaginary if imaginary else real
