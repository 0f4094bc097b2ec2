"""The worst case of a Gaussian on samples of a fixed size under replace-one, by Gauss's rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.elementary import (
    equal_step,
    exponential_sums,
    log1p_enclosure,
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
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.cut_gaussian import NODES, PANEL, RATIO, gauss_panels
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.gaussian_mixtures import (
    GaussianMixtures,
    TrapezoidRules,
    replacement_profile,
)
from dpproof.accountant.pairs.pair import (
    CommonSupport,
    ExactPair,
    Reflected,
    Smoothness,
    required_rate,
    required_square,
)
from dpproof.accountant.pairs.subsampled_gaussian import UNREACHABLE

_NATS = 46.0  # Minus the log of what a panel, or the last end, may leave out. Heuristic.
_SHORTER = 0.7 ** np.arange(24)  # Lengths of panels that are tried. Heuristic.
_LARGEST = 600.0  # Log of the largest integrand. Heuristic.
_FARTHEST = 100.0  # Largest node. Error bounds depend on it.
_CELLS = 384  # Cells of layers. Heuristic.
_BLOCK = 1 << 15  # Terms evaluated at once, one by one. Heuristic.
# Relative error of a term by its weight and node. Error bounds depend on it.
_DIGITS = 1e-13


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSampleGaussianPair(Reflected, CommonSupport, ExactPair):
    """The symmetric pair with the profile q delta(log(1 + (e^eps - 1)/q)), delta the Gaussian's.

    Statement: with l = mu z - mu^2/2, g = log(1 + q (e^l - 1)) and z standard normal,
        M(s) = 1 + E[(e^{(s+1) g} - 1) (1 - e^{-s g}); z > mu/2].
    Proof: proofs/theory/fixed_sample_gaussian.md, with what the rule for it leaves out.

    Attributes:
        mu_squared: of the Gaussian, exact.
        sampling_rate: share of the records in a sample, exact, in (0, 1).
    """

    mu_squared: Fraction
    sampling_rate: Fraction

    def __post_init__(self) -> None:
        """Refuse parameters that floats do not represent."""
        required_square(mu_squared=self.mu_squared)
        required_rate(sampling_rate=self.sampling_rate)

    @property
    def _mixture(self) -> GaussianMixtures:
        """Return the mixture whose losses above 0 are g."""
        return GaussianMixtures.of([self.mu_squared], [self.sampling_rate], removal=True)

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K by Gauss's rule on panels, as a sum of products without cancellation."""
        mixture = self._mixture
        rule, growth, missed = self._rule(mixture, s)
        if s.size > 1 and s.size * growth.size > _BLOCK:
            if equal_step(s) is not None:
                return self._on_line(mixture, s, (rule, growth, missed))
            return joined([self.cgf(part) for part in np.array_split(s, 2)])
        weights = rule.log_weights[0].real
        raised = np.multiply.outer(s + 1.0, growth)
        near = np.abs(raised) < 1.0
        with np.errstate(over="ignore", invalid="ignore"):  # such a moment is of no use
            first = np.exp(raised + weights) - np.exp(weights)
            first = np.where(near, np.expm1(np.where(near, raised, 0.0)) * np.exp(weights), first)
            excess = -(first * np.expm1(np.multiply.outer(-s, growth))).sum(axis=1)
            error = missed + self._rounded(mixture, s, rule, growth)
            return log1p_enclosure(excess, error)

    def cgf_along(self, points: Reals, line: Complexes) -> Enclosure:
        """Enclose K at each point alone, as large powers blur others, and on the line."""
        each = [self.cgf(np.array([one + 0j])) for one in points.tolist()]
        return joined([*each, self.cgf(line)])

    def _on_line(
        self, mixture: GaussianMixtures, s: Complexes, known: tuple[TrapezoidRules, Reals, float]
    ) -> Enclosure:
        """Enclose K on a long line by sums of e^{(s+1) g} and e^{-s g}, which share work."""
        rule, growth, missed = known
        log_weights, ulps = rule.log_weights[0].real, _DIGITS / UNIT_ROUNDOFF
        steady = 8.0 * np.abs(log_weights) + 16 * ELEMENTARY_ULPS
        steady += 2 * summation_ulps(growth.size) + ulps * (0.5 + 0.5 * rule.z[0])
        moving = 8.0 * growth + ulps * self._moved(mixture, rule.z[0], growth)
        columns = np.column_stack([steady, moving])
        flat = np.exp(log_weights), np.exp(growth + log_weights)
        excess = np.zeros(s.shape, dtype=complex) - (flat[0] + flat[1]).sum()
        error = np.full(s.shape, float((flat[0] @ steady) + flat[1] @ (steady + moving)))
        for power in (s + 1.0, -s.conj()):
            total, sums, peak = exponential_sums(power, growth, log_weights, columns)
            total = total if power.real[0] > 0.0 else total.conj()
            excess += np.exp(peak) * total
            error += np.exp(peak) * (sums[:, 0] + np.abs(power) * sums[:, 1])
        return log1p_enclosure(excess, UNIT_ROUNDOFF * error + missed)

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' by a coarse trapezoid rule."""
        mixture = self._mixture
        mu = float(mixture.mu[0])
        z, step = np.linspace(0.5 * mu, (float(c[-1]) + 1.0) * mu + 9.0, _CELLS, retstep=True)
        growth = mixture.log_ratio(z[None], np.zeros(1))[0].real
        mass = np.log(step / math.sqrt(2 * math.pi)) - 0.5 * z * z
        ahead, behind = np.multiply.outer(c + 1.0, growth), np.multiply.outer(-c, growth)
        first = np.expm1(np.minimum(ahead, 1.0)) * np.exp(mass)
        first = np.where(ahead < 1.0, first, np.exp(ahead + mass) - np.exp(mass))
        total = 1.0 - (first * np.expm1(behind)).sum(axis=1)
        up, down = np.exp(ahead + mass), np.exp(behind + mass)
        slope, square = ((up - down) @ growth) / total, ((up + down) @ (growth * growth)) / total
        return np.log(total), slope, square - slope * slope

    def _rule(self, mixture: GaussianMixtures, s: Complexes) -> tuple[TrapezoidRules, Reals, float]:
        """Return Gauss's rule for some s, g at its nodes, and what it leaves out of M - 1."""
        ends, missed = self._panels(mixture, s)
        rule = gauss_panels(ends)
        return rule, mixture.log_ratio(rule.z, rule.shift)[0].real, missed

    def _panels(self, mixture: GaussianMixtures, s: Complexes) -> tuple[tuple[float, ...], float]:
        """Return the ends of panels from mu / 2 on, and a bound of what is left out of M - 1.

        Beyond the last end, from a mu on with a the largest Re s + 1 or 1, (1 + u)^a phi falls
        with a slope of its log at most a mu - z.
        """
        mu, a = float(mixture.mu[0]), max(float(s.real.max()) + 1.0, 1.0)

        def height(z: Reals) -> Reals:
            growth = mixture.log_ratio(z[None], np.zeros(1))[0].real
            return np.asarray(a * growth * (1 + 1e-9) - 0.5 * z * z)

        log_least = max(float(height(np.linspace(0.5 * mu, a * mu, _CELLS)).max()), 0.0) - _NATS
        ends, lost = [0.5 * mu], 0.0
        while ends[-1] < _FARTHEST and log_least < _LARGEST:
            at, length = ends[-1], min(PANEL / mu, 1.0) * _SHORTER
            if at > a * mu + 1.0:
                log_tail = float(height(np.array([at]))[0])
                if log_tail < log_least:
                    return tuple(ends), (lost + 4.0 * math.exp(log_tail)) * (1 + 1e-6)
            with np.errstate(over="ignore", invalid="ignore"):  # such a panel is too long
                bounds = self._missed(mixture, s, at, length)
            best = int(np.argmax(bounds < math.exp(log_least)))
            if not bounds[best] < math.exp(log_least):
                break
            lost += float(bounds[best])
            ends.append(at + float(length[best]))
        raise NotCertified(
            f"a moment of order {a:.6g} of a Gaussian on a sample is out of reach; {EASIER}"
        )

    def _missed(self, mixture: GaussianMixtures, s: Complexes, left: float, length: Reals) -> Reals:
        """Bound what Gauss's rule on panels of some lengths leaves out, for the largest of s."""
        mu, q, rest = float(mixture.mu[0]), float(mixture.q[0]), float(mixture.unsampled[0])
        lowest, highest, ahead = float(s.real.min()), float(s.real.max()), 0.5625 * length
        least, most = (
            q * np.exp(mu * z - 0.5 * mu * mu) for z in (left - ahead, left + length + ahead)
        )
        theta = 0.9375 * length * mu
        low, high = np.log(rest + least * np.cos(theta)), np.log(rest + most)
        turn = theta * np.minimum(most / rest, 1.0)
        reach, spun = np.maximum(high, -low) + turn, float(np.abs(s.imag).max()) * turn
        up = np.maximum((1.0 + highest) * high, 0.0) + spun
        down = np.maximum(np.maximum(-highest * low, -lowest * high), 0.0) + spun
        near = left - np.minimum(ahead, left)
        scale = math.log(4.0 * RATIO ** (1.0 - 2 * NODES) / (RATIO - 1.0))
        peak = 0.5 * (0.9375 * length) ** 2 - 0.5 * near * near + np.log(length) + scale
        small = np.log(np.abs(s + 1.0).max() * np.abs(s).max() * reach * reach) + up + down
        plain = np.exp(up + peak) + np.exp(down + peak) + np.exp(high + peak) + np.exp(peak)
        return np.asarray(np.minimum(np.exp(small + peak), plain) * (1 + 1e-9))

    def _moved(self, mixture: GaussianMixtures, z: Reals, growth: Reals) -> Reals:
        """Return by how much g may be off, in units of the digits of a node."""
        mu = float(mixture.mu[0])
        likely = np.exp(math.log(mixture.q[0]) + mu * z - 0.5 * mu * mu - growth)
        return np.asarray(0.1 * growth + likely * mu * (0.3 + 0.01 * (z + mu)))

    def _rounded(
        self, mixture: GaussianMixtures, s: Complexes, rule: TrapezoidRules, growth: Reals
    ) -> Reals:
        """Bound the rounding of the sum for each s, by either bound of both factors."""
        z, weights = rule.z[0], rule.log_weights[0].real
        moved, off = self._moved(mixture, z, growth), 0.5 + 0.5 * z
        up = np.exp((1.0 + s.real.max()) * growth + weights)
        down = np.exp(np.maximum(-s.real.min(), 0.0) * growth)
        near = (up * down * growth * (2.0 * moved + off * growth)).sum()
        flat = up + np.exp(weights)
        first, second = (up * moved * (down + 1.0)).sum(), (down * moved * flat).sum()
        rest = (flat * (down + 1.0) * off).sum()
        a, b = np.abs(s + 1.0), np.abs(s)
        return np.asarray(_DIGITS * np.minimum(a * b * near, a * first + b * second + rest))

    def work(self, s: complex) -> int:
        """Return the number of nodes."""
        try:
            return NODES * (len(self._panels(self._mixture, np.array([s]))[0]) - 1)
        except NotCertified:
            return UNREACHABLE

    @property
    def gaussian_tail(self) -> float:
        """Return the Gaussian's mu^2: no rate is small where delta is small enough."""
        return float(self.mu_squared)

    @property
    def zcdp_bound(self) -> float:
        """Return the Gaussian's rho, as mixing only helps."""
        return 0.5 * float(self.mu_squared) * (1 + 1e-15)

    @property
    def gdp_bound(self) -> float:
        """Return the Gaussian's mu: forgetting the sample is post-processing."""
        return math.sqrt(self.mu_squared) * (1 + 1e-15)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by its formula."""
        mu = math.sqrt(self.mu_squared)
        return replacement_profile(lambda x: gaussian_profile(mu, x), self.sampling_rate, epsilon)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted loss density on either side of 0."""
        mixture = self._mixture
        mu = float(mixture.mu[0])
        z = np.linspace(0.5 * mu, (c + 1.0) * mu + 9.0, _CELLS + 1)[None]
        real = mixture.log_ratio(z, np.zeros(1)).real
        log_phi = -0.5 * math.log(2 * math.pi) - 0.5 * z * z
        upper = np.array([moment.upper])
        sides = [
            mixture.layers((np.array([[power]]), z, real, log_phi), upper)
            for power in (c + 1.0, -c)
        ]
        masses, widths = (np.concatenate([side[at][0] for side in sides]) for at in (0, 1))
        return Smoothness(0.0, masses, widths)
