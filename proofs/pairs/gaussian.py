"""The Gaussian pair: N(mu, 1) over N(0, 1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb

from dpproof.proofs.balls.arithmetic import ball, exact, normal_tail
from dpproof.proofs.pairs.pair import (
    CommonSupport,
    Formula,
    Moments,
    Reflected,
    no_witness,
)


@final
@dataclass(frozen=True, slots=True)
class GaussianPair(Reflected, CommonSupport):
    """M(s) = e^{mu^2 s(s+1)/2}, so |M(c+iy)| = M(c) e^{-mu^2 y^2/2}."""

    mu_squared: Fraction

    def moments(self, witness: object) -> Moments:
        """Return M by its formula."""
        no_witness(witness)
        half = ball(self.mu_squared / 2)

        def moment(s: acb) -> acb:
            return (half * s * (s + 1)).exp()

        return Formula(moment, lambda c, y: (half * (c * (c + 1) - y * y)).exp())

    def profile(self, epsilon: arb) -> arb:
        """Return H_eps."""
        return gaussian_profile(self.mu_squared, epsilon)

    def describe(self) -> str:
        """Name mu squared."""
        return f"Gaussians with mu^2 = {exact(self.mu_squared)}"


def gaussian_profile(mu_squared: Fraction, epsilon: arb) -> arb:
    """Return Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    Source: Balle & Wang (arXiv:1805.06530), Theorem 8.
    """
    mu = ball(mu_squared).sqrt()
    shift = epsilon / mu
    return normal_tail(shift - mu / 2) - epsilon.exp() * normal_tail(shift + mu / 2)
