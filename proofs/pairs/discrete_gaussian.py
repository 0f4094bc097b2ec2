"""The discrete Gaussian pair: two discrete Gaussians at an integer distance."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from flint import acb, arb, ctx

from dpproof.proofs.core.arithmetic import ball, exact
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.limits import MAX_REACH
from dpproof.proofs.pairs.pair import Formula, Moments, Reflected, no_profile, no_witness


@frozen
class DiscreteGaussianPair(Reflected):
    """P(x) ~ e^{-(x - m)^2 / (2 v)} over Q(x) ~ e^{-x^2 / (2 v)}, v = sigma^2, m = shift.

    The loss at x = m + j is (2 m j + m^2)/(2 v), so
    M(s) = e^{s m^2/(2v)} sum_j e^{-j^2/(2v)} e^{s m j / v} / sum_j e^{-j^2/(2v)}, two values of the
    Jacobi theta function of nome e^{-1/(2v)}.
    """

    sigma_squared: Fraction
    shift: int

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return offset and span of (2 m j + m^2)/(2 v), j an integer."""
        span = self.shift / self.sigma_squared
        return self.shift * span / 2, span

    def moments(self, witness: object) -> Moments:
        """Return M by theta functions: theta_3(z, tau) = sum_j e^{pi i tau j^2 + 2 pi i z j}."""
        no_witness(witness)
        pi = arb.pi()
        tau = acb(0, 1 / (2 * pi * ball(self.sigma_squared)))
        span = ball(self.shift / self.sigma_squared)
        lift = ball(self.shift**2 / (2 * self.sigma_squared))
        bottom = acb.modular_theta(acb(0), tau)[2]

        def moment(s: acb) -> acb:
            z = s * span / acb(0, 2 * pi)
            return (s * lift).exp() * acb.modular_theta(z, tau)[2] / bottom

        return Formula(moment)

    def profile(self, epsilon: arb) -> arb:
        """Return the sum of (1 - e^{eps - l})_+ over the losses under P, the mass far out included.

        P(|j| > J) <= 2 e^{-J^2/(2v)} (Canonne, Kamath & Steinke, arXiv:2004.00010, Corollary 17).
        """
        terms, far = _terms(self, ctx.prec)
        t = epsilon.exp()
        gaps = (mass * (1 - t * ratio).nonnegative_part() for mass, ratio in terms)
        return sum(gaps, far * arb(0.5, 0.5))

    def describe(self) -> str:
        """Name variance and shift."""
        variance = exact(self.sigma_squared)
        return f"discrete Gaussians of sigma^2 = {variance} shifted by {self.shift}"


def reach(pair: DiscreteGaussianPair, precision: int) -> int:
    """Return a distance from the mean beyond which masses are below 2^-precision."""
    return isqrt(int(2 * pair.sigma_squared * (precision + 8))) + 1


@lru_cache(maxsize=8)
def _terms(pair: DiscreteGaussianPair, precision: int) -> tuple[list[tuple[arb, arb]], arb]:
    """Return masses under P with e^{-l}, up to the reach, and at least the mass beyond it.

    Losses below 0, j < -shift/2, never count.
    """
    variance = pair.sigma_squared
    last = reach(pair, precision)
    if last > MAX_REACH:
        raise no_profile("a discrete Gaussian pair of so large a variance")
    tau = acb(0, 1 / (2 * arb.pi() * ball(variance)))
    whole = acb.modular_theta(acb(0), tau)[2].real
    terms = []
    for j in range(-min(pair.shift // 2, last), last + 1):
        loss = pair.shift * (2 * j + pair.shift) / (2 * variance)
        terms.append((ball(-j * j / (2 * variance)).exp() / whole, ball(-loss).exp()))
    return terms, 2 * ball(-last * last / (2 * variance)).exp()
