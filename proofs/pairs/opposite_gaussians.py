"""Two opposite Gaussian mixtures; proofs in proofs/theory/replace_one.md."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from flint import acb, arb

from dpproof.proofs.core.arithmetic import ball, exact, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.pairs.pair import Moments, Reflected
from dpproof.proofs.pairs.quadrature import Integrand, Line, read_quadrature, sampled_ratio


@frozen
class OppositeGaussiansPair(Reflected):
    """(1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q N(-mu,1).

    With A(z) = 1-q + q e^{mu z - mu^2/2}, B(z) = A(-z) and Z standard normal,
    M(s) = E[A(Z)^{1+s} B(Z)^{-s}].
    """

    mu_squared: Fraction
    sampling_rate: Fraction

    def moments(self, witness: object) -> Moments:
        """Return M by trapezoid rules on two lines, one for M and one for its decay."""
        return read_quadrature(witness, _Losses(self), self.mu_squared)

    def profile(self, epsilon: arb) -> arb:
        """Return H_eps by the event z > x, x the root of A = t B, t = e^eps.

        It has q Phi(mu-x) - (1-q)(t-1) Phi(-x) - t q Phi(-x-mu).
        """
        mu, q = ball(self.mu_squared).sqrt(), ball(self.sampling_rate)
        raised = (1 - q) / q * ball(self.mu_squared / 2).exp() * (epsilon / 2).sinh()
        x = (epsilon / 2 + raised.asinh()) / mu
        unsampled = (1 - q) * epsilon.expm1() * normal_tail(x)
        return q * (normal_tail(x - mu) - epsilon.exp() * normal_tail(x + mu)) - unsampled

    def describe(self) -> str:
        """Return mu squared and the rate in words."""
        shown = f"opposite Gaussians with mu^2 = {exact(self.mu_squared)}"
        return f"{shown} sampled at rate {exact(self.sampling_rate)}"


@frozen
class _Losses(Integrand):
    """A e^{s loss}, on lines where the loss log A/B has an imaginary part at or above 0."""

    pair: OppositeGaussiansPair

    @property
    def mirrored(self) -> bool:
        """Return False."""
        return False

    def power(self, c: Fraction) -> arb:
        """Return c."""
        return ball(c)

    def terms(self, line: Line) -> Iterator[tuple[acb, acb]]:
        """Yield the weight step phi(z) A(z) and log A(z)/B(z) at every node z."""
        ratio = sampled_ratio(self.pair.mu_squared, self.pair.sampling_rate)
        for z, weight in line.nodes():
            above, below = ratio(z), ratio(-z)
            yield weight * above, above.log() - below.log()

    def missed(self, c: Fraction, line: Line) -> arb:
        """Bound what the rule misses, for every y >= 0: between the nodes, and beyond them."""
        mu, q, b = ball(self.pair.mu_squared).sqrt(), ball(self.pair.sampling_rate), line.shift
        left, right = line.step * line.left, line.step * line.right
        if right**2 < (c + 1) ** 2 * self.pair.mu_squared:
            raise RefusedError("the nodes must reach mu (c + 1)")
        most = ((1 - q) * (mu * ball(b)).cos()) ** ball(-c)
        raised = q * ball((c + 1) * c * self.pair.mu_squared / 2).exp()
        centre = mu * ball(c + 1)
        outside = (1 - q) * (normal_tail(ball(left)) + normal_tail(ball(right))) + raised * (
            normal_tail(ball(left) + centre) + normal_tail(ball(right) - centre)
        )
        decay = (2 * arb.pi() * ball(b / line.step)).expm1()
        between = 2 * ball(2 * b * b).exp() * (1 - q + raised) / decay
        return most * (between + ball(b * b / 2).exp() * outside)
