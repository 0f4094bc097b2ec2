"""The Poisson-subsampled Gaussian pair; proofs in proofs/theory/subsampled_gaussian.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb

from dpproof.proofs.balls.arithmetic import ball, exact, normal_tail
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.pairs.gaussian import gaussian_profile
from dpproof.proofs.pairs.pair import CommonSupport, Moments, Pair, unbounded
from dpproof.proofs.pairs.quadrature import Integrand, Line, read_quadrature


@final
@dataclass(frozen=True, slots=True)
class SubsampledGaussianPair(CommonSupport):
    """W = (1-q) N(0,1) + q N(mu,1) against N(0,1): (W, N) for removal, else (N, W).

    With u(z) = q (e^{mu z - mu^2/2} - 1) and Z standard normal, M(s) = E[(1 + u(Z))^alpha],
    alpha = s + 1 for removal and -s for addition.
    """

    mu_squared: Fraction
    sampling_rate: Fraction
    removal: bool

    def largest(self) -> arb:
        """Return -log(1 - q) for addition; refuse a removal, whose losses have no bound."""
        if self.removal:
            raise unbounded(self.describe())
        return -ball(1 - self.sampling_rate).log()

    def moments(self, witness: object) -> Moments:
        """Return M by trapezoid rules on two lines, one for M and one for its decay."""
        return read_quadrature(witness, Powers(self), self.mu_squared)

    def profile(self, epsilon: arb) -> arb:
        """Return the profile from the Gaussian's (arXiv:2106.08567, Theorem 11), t = e^eps.

        Removal: q H_a(P|Q), a = 1 + (t-1)/q. Addition: r H_{qt/r}(P|Q), r = 1 - t(1-q), if r > 0,
        else 0.
        """
        q, t = ball(self.sampling_rate), epsilon.exp()
        if self.removal:
            argument = (epsilon.expm1() / q).log1p()
            return q * gaussian_profile(self.mu_squared, argument)
        r = 1 - t * (1 - q)
        if r <= 0:
            return arb(0)
        return r * gaussian_profile(self.mu_squared, (q * t / r).log())

    def swapped(self) -> Pair:
        """Return the pair of the other direction."""
        return SubsampledGaussianPair(self.mu_squared, self.sampling_rate, not self.removal)

    def describe(self) -> str:
        """Name mu squared, the rate and the direction."""
        way = "removal" if self.removal else "addition"
        shown = f"Gaussians with mu^2 = {exact(self.mu_squared)}"
        return f"{shown} sampled at rate {exact(self.sampling_rate)} ({way})"


@final
@dataclass(frozen=True, slots=True)
class Powers(Integrand):
    """(1 + u)^alpha, on lines where (1 + u)^{i y} does not grow with y >= 0."""

    pair: SubsampledGaussianPair

    @property
    def mirrored(self) -> bool:
        """Return whether the sampled pair is an addition."""
        return not self.pair.removal

    def power(self, c: Fraction) -> arb:
        """Return c + 1, or -c for addition."""
        return ball(c + 1 if self.pair.removal else -c)

    def terms(self, line: Line) -> Iterator[tuple[acb, acb]]:
        """Yield the weight step phi(z) and log(1 + u(z)) at every node z."""
        mu, q = ball(self.pair.mu_squared).sqrt(), ball(self.pair.sampling_rate)
        drift = ball(self.pair.mu_squared / 2)
        for z, weight in line.nodes():
            yield weight, (1 - q + q * (mu * z - drift).exp()).log()

    def missed(self, c: Fraction, line: Line) -> arb:
        """Bound what the rule misses, for every y >= 0: between the nodes, and beyond them."""
        mu, q, b = ball(self.pair.mu_squared).sqrt(), ball(self.pair.sampling_rate), line.shift
        left, right = line.step * line.left, line.step * line.right
        outside = normal_tail(ball(left)) + normal_tail(ball(right))
        if self.pair.removal:
            if right**2 < (c + 1) ** 2 * self.pair.mu_squared:
                raise RefusedError("the nodes must reach mu (c + 1)")
            raised = q * ball((c + 1) * c * self.pair.mu_squared / 2).exp()
            size, centre = 1 - q + raised, mu * ball(c + 1)
            outside = (1 - q) * outside + raised * (
                normal_tail(ball(left) + centre) + normal_tail(ball(right) - centre)
            )
        else:
            size = ((1 - q) * (mu * ball(b)).cos()) ** ball(-c)
            outside = outside * size
        decay = (2 * arb.pi() * ball(b / line.step)).expm1()
        return 2 * ball(2 * b * b).exp() * size / decay + ball(b * b / 2).exp() * outside
