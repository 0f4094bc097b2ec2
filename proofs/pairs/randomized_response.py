"""The k-ary randomised-response pair, beside a telling outcome."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb

from dpproof.proofs.balls.arithmetic import ball, exact
from dpproof.proofs.pairs.loss_atoms import Terms
from dpproof.proofs.pairs.pair import Formula, Moments, Reflected, no_witness


@final
@dataclass(frozen=True, slots=True)
class RandomizedResponsePair(Reflected):
    """Two categories of k-ary randomised response, all masses scaled by 1 - infinite.

    Losses epsilon, -epsilon, 0 with masses (e^eps, 1, k - 2) / (e^eps + k - 1) under P.
    """

    epsilon: Fraction
    categories: int
    infinite_mass: Fraction

    @property
    def infinite(self) -> Fraction:
        """Return the mass of the outcome that Q lacks."""
        return self.infinite_mass

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return -epsilon, and the span: 2 epsilon, or epsilon for three categories or more."""
        return -self.epsilon, self.epsilon * (2 if self.categories == 2 else 1)

    @property
    def outcomes(self) -> int:
        """Return 2, or 3 for three categories or more."""
        return min(self.categories, 3)

    def terms(self) -> Terms:
        """Return the losses and masses above."""
        e = ball(self.epsilon)
        share = ball(1 - self.infinite_mass) / (e.exp() + (self.categories - 1))
        middle = [(arb(0), share * (self.categories - 2))] if self.categories > 2 else []
        return Terms([(e, share * e.exp()), (-e, share), *middle], ball(self.infinite_mass))

    def largest(self) -> arb:
        """Return the largest loss, the pair's epsilon."""
        return ball(self.epsilon)

    def moments(self, witness: object) -> Moments:
        """Return M as a sum of three terms."""
        no_witness(witness)
        e = ball(self.epsilon)
        share = ball(1 - self.infinite_mass) / (e.exp() + (self.categories - 1))
        rest = self.categories - 2

        def moment(s: acb) -> acb:
            return share * (((s + 1) * e).exp() + (-(s * e)).exp() + rest)

        return Formula(moment, infinite=ball(self.infinite_mass))

    def profile(self, epsilon: arb) -> arb:
        """Return the profile; for 0 <= eps < epsilon only the outcome of loss epsilon counts."""
        top = ball(self.epsilon).exp()
        share = ball(1 - self.infinite_mass) / (top + (self.categories - 1))
        below = (-(epsilon - ball(self.epsilon)).expm1()).nonnegative_part()
        return ball(self.infinite_mass) + share * top * below

    def describe(self) -> str:
        """Name epsilon and the number of categories."""
        shown = f"randomised response at {exact(self.epsilon)} on {self.categories} categories"
        return f"{shown}, told with {exact(self.infinite_mass)}" if self.infinite else shown
