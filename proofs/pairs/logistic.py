"""The logistic pair: two logistic distributions of scale 1 at distance epsilon."""

from __future__ import annotations

from fractions import Fraction

from flint import acb, arb

from dpproof.proofs.core.arithmetic import ball, exact
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.pairs.pair import Formula, Moments, Reflected, no_witness


@frozen
class LogisticPair(Reflected):
    """M(s) = sinh(z eps) / (2 z sinh(eps/2)), z = s + 1/2; |sinh(x + iy)| <= cosh x.

    Proof in proofs/theory/bounded_range.md.
    """

    epsilon: Fraction

    def largest(self) -> arb:
        """Return the largest loss, the pair's epsilon."""
        return ball(self.epsilon)

    def moments(self, witness: object) -> Moments:
        """Return M by its formula."""
        no_witness(witness)
        e, half = ball(self.epsilon), ball(Fraction(1, 2))
        scale = 2 * ball(self.epsilon / 2).sinh()

        def moment(s: acb) -> acb:
            z = s + half
            return (z * e).sinh() / (z * scale)

        def decay(c: arb, y: arb) -> arb:
            return ((c + half) * e).cosh() / (acb(c + half, y).abs_lower() * scale)

        return Formula(moment, decay)

    def profile(self, epsilon: arb) -> arb:
        """Return (sqrt a - sqrt t)^2 / (a - 1), a = e^{epsilon of the pair}, t = e^epsilon <= a."""
        below = (-((epsilon - ball(self.epsilon)) / 2).expm1()).nonnegative_part()
        return -below * below / (-ball(self.epsilon)).expm1()

    def describe(self) -> str:
        """Name the distance."""
        return f"logistic variables {exact(self.epsilon)} apart"
