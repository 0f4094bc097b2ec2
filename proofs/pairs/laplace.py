"""The discrete Laplace pair: two discrete Laplace distributions at an integer distance."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import acb, arb, ctx

from dpproof.proofs.core.arithmetic import ball, exact
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.limits import MAX_SHIFT
from dpproof.proofs.pairs.loss_atoms import Terms
from dpproof.proofs.pairs.pair import Formula, Moments, Reflected, no_profile, no_witness


@frozen
class DiscreteLaplacePair(Reflected):
    """P(x) ~ r^{|x - shift|} over Q(x) ~ r^{|x|}, r = e^{-1/scale}, b = scale, m = shift.

    Under P the loss is m/b with mass 1/(1+r), -m/b with mass r^m/(1+r), and (m - 2j)/b with
    mass (1-r)/(1+r) r^j for 0 < j < m; with v = e^{-(2s+1)/b} the last add up to
    (1-r)/(1+r) e^{sm/b} (v - v^m)/(1 - v).
    """

    scale: Fraction
    shift: int

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return -shift/scale, and the span 2/scale."""
        return -self.shift / self.scale, 2 / self.scale

    @property
    def outcomes(self) -> int:
        """Return shift + 1."""
        return self.shift + 1

    def terms(self) -> Terms:
        """Return the losses and masses above."""
        r, reach = ball(-1 / self.scale).exp(), ball(self.shift / self.scale)
        inner = ((self.shift - 2 * j, (1 - r) / (1 + r) * r**j) for j in range(1, self.shift))
        ends = [(reach, 1 / (1 + r)), (-reach, r**self.shift / (1 + r))]
        return Terms([*ends, *((ball(k / self.scale), mass) for k, mass in inner)], arb(0))

    def largest(self) -> arb:
        """Return shift/scale."""
        return ball(self.shift / self.scale)

    def moments(self, witness: object) -> Moments:
        """Return M by the geometric sum."""
        no_witness(witness)
        r, reach = ball(-1 / self.scale).exp(), ball(self.shift / self.scale)
        each = ball(1 / self.scale)
        far = (-reach).exp()

        def moment(s: acb) -> acb:
            v = (-(2 * s + 1) * each).exp()
            between = (1 - r) * (v - v**self.shift) / (1 - v)
            up = (s * reach).exp()
            return (up * (1 + between) + far / up) / (1 + r)

        return Formula(moment)

    def profile(self, epsilon: arb) -> arb:
        """Return the sum of (1 - e^{eps - l})_+ over the losses l under P."""
        t = epsilon.exp()
        gaps = (mass * (1 - t * rest).nonnegative_part() for mass, rest in _terms(self, ctx.prec))
        return sum(gaps, arb(0))

    def describe(self) -> str:
        """Name scale and shift."""
        return f"discrete Laplace of scale {exact(self.scale)} shifted by {self.shift}"


@lru_cache(maxsize=8)
def _terms(pair: DiscreteLaplacePair, precision: int) -> list[tuple[arb, arb]]:  # noqa: ARG001
    """Return masses under P with e^{-l}, at one precision; the loss -m/b never counts."""
    if pair.shift > MAX_SHIFT:
        raise no_profile("a discrete Laplace pair of so many losses")
    r = ball(-1 / pair.scale).exp()
    masses = [1 / (1 + r), *((1 - r) / (1 + r) * r**j for j in range(1, pair.shift))]
    losses = ((pair.shift - 2 * j) / pair.scale for j in range(pair.shift))
    return [(mass, ball(-loss).exp()) for mass, loss in zip(masses, losses, strict=True)]
