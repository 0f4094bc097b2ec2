"""M of the Poisson-subsampled Gaussian pair; proofs in proofs/theory/subsampled_gaussian.md."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from flint import acb, arb

from dpproof.proofs.core.arithmetic import ball, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import SubsampledGaussianPair
from dpproof.proofs.pairs.quadrature import Integrand, Line, sampled_ratio


@frozen
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
        ratio = sampled_ratio(self.pair.mu_squared, self.pair.sampling_rate)
        for z, weight in line.nodes():
            yield weight, ratio(z).log()

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
