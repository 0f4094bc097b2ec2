"""The Laplace pair: two Laplace distributions of scale 1 at distance epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb

from dpproof.proofs.balls.arithmetic import ball, exact
from dpproof.proofs.pairs.pair import CommonSupport, Formula, Moments, Reflected, no_witness


@final
@dataclass(frozen=True, slots=True)
class LaplacePair(Reflected, CommonSupport):
    """M(s) = ((s+1) e^{sa} + s e^{-(s+1)a}) / (2s+1), a = epsilon.

    Under P the loss is a with mass 1/2, -a with mass e^{-a}/2, and has density e^{(l-a)/2}/4
    between. For Re s = c > 0, |s+1|/|2s+1| falls as |Im s| grows and |s|/|2s+1| is below 1/2.
    """

    epsilon: Fraction

    def largest(self) -> arb:
        """Return the largest loss, the pair's epsilon."""
        return ball(self.epsilon)

    def moments(self, witness: object) -> Moments:
        """Return M by its formula."""
        no_witness(witness)
        a = ball(self.epsilon)

        def moment(s: acb) -> acb:
            return ((s + 1) * (s * a).exp() + s * (-(s + 1) * a).exp()) / (2 * s + 1)

        def decay(c: arb, y: arb) -> arb:
            s = acb(c, y)
            share = (s + 1).abs_upper() / (2 * s + 1).abs_lower()
            return share * (c * a).exp() + (-(c + 1) * a).exp() / 2

        return Formula(moment, decay)

    def profile(self, epsilon: arb) -> arb:
        """Return 1 - e^{(eps - a)/2} up to a, then 0: the best event is {x > (a + eps)/2}."""
        return (-((epsilon - ball(self.epsilon)) / 2).expm1()).nonnegative_part()

    def describe(self) -> str:
        """Name the distance."""
        return f"Laplace variables {exact(self.epsilon)} scales apart"
