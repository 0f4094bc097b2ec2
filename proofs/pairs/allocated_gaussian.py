"""One of several rounds of Gaussian noise, drawn at random: proofs/theory/allocation.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.pairs import Pair
from dpproof.proofs.pairs.largest_of_gaussians import LargestOfGaussiansPair
from dpproof.proofs.pairs.pair import no_profile


@final
@dataclass(frozen=True, slots=True)
class AllocatedGaussianPair(Pair):
    """P is the mean over i of N(mu e_i, I) in so many dimensions and Q is N(0, I), or the swap."""

    mu_squared: Fraction
    rounds: int
    removal: bool

    @property
    def coordinate(self) -> LargestOfGaussiansPair:
        """Return the laws of the largest coordinate, a function of the outcome."""
        return LargestOfGaussiansPair(
            self.mu_squared, self.rounds, replaced=True, removal=self.removal
        )

    def profile(self, epsilon: arb) -> arb:  # noqa: ARG002  # at none
        """Refuse: it has no formula here."""
        raise no_profile(self.describe())

    def describe(self) -> str:
        """Name the two laws."""
        p, q = ("P", "Q") if self.removal else ("Q", "P")
        return (
            f"{self.rounds} unit normal variables, all of mean 0 under {q}, and one of them, drawn "
            f"uniformly, of mean mu under {p}, with mu^2 = {exact(self.mu_squared)}"
        )
