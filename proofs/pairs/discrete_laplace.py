"""The discrete Laplace pair: two discrete Laplace distributions at a whole distance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from flint import acb, arb

from proofs.arithmetic import ball, show
from proofs.pairs.pair import Formula, Moments, Pair, no_profile, no_witness

MAX_LOSSES: Final = 1_000


@final
@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(Pair):
    """P(x) ~ r^{|x - shift|} over Q(x) ~ r^{|x|}, r = e^{-1/scale}, b = scale, m = shift.

    Under P the loss is m/b with mass 1/(1+r), -m/b with mass r^m/(1+r), and (m - 2j)/b with
    mass (1-r)/(1+r) r^j for 0 < j < m; with v = e^{-(2s+1)/b} the last add up to
    (1-r)/(1+r) e^{sm/b} (v - v^m)/(1 - v).
    """

    scale: Fraction
    shift: int

    @property
    def infinite(self) -> Fraction:
        """None."""
        return Fraction(0)

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Every second multiple of 1/scale."""
        return -self.shift / self.scale, 2 / self.scale

    def largest(self) -> arb:
        """Shift over scale."""
        return ball(self.shift / self.scale)

    def moments(self, witness: object) -> Moments:
        """The geometric sum."""
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
        """Sum of (1 - e^{eps - l})_+ over the losses l under P."""
        if self.shift > MAX_LOSSES:
            raise no_profile("a discrete Laplace pair of so many losses")
        r, t = ball(-1 / self.scale).exp(), epsilon.exp()
        total, mass = arb(0), 1 / (1 + r)
        for j in range(self.shift):
            rest = 1 - t * ball((2 * j - self.shift) / self.scale).exp()
            total += mass * rest.nonnegative_part()
            mass = (1 - r) / (1 + r) * r ** (j + 1)
        return total

    def swapped(self) -> Pair:
        """Itself: reflecting the outcomes exchanges P and Q."""
        return self

    def describe(self) -> str:
        """Scale and shift."""
        return f"discrete Laplace of scale {show(self.scale)} shifted by {self.shift}"
