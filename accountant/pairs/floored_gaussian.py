"""The Gaussian pair whose loss is raised to a floor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.gaussian_above_floor import GaussianAboveFloor
from dpproof.accountant.pairs.smoothness import required_square

_HIGHEST = 600  # Largest floor, nats: e to it is a float. Error bounds depend on it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FlooredGaussianPair(GaussianAboveFloor):
    """The loss max(G, floor), G ~ N(mu^2/2, mu^2) under P; Q's other mass lies off P.

    Source: proofs/theory/logistic.md, Theorem 2: the minimum of perturbed logistic losses.

    Attributes:
        mu_squared: exact, above 0.
        floor: exact, at or above 0, nats.
        reverse: whether P and Q are exchanged.
    """

    mu_squared: Fraction
    floor: Fraction
    reverse: bool = False

    def __post_init__(self) -> None:
        """Refuse parameters whose powers are not representable as floats."""
        required_square(mu_squared=self.mu_squared)
        if not 0 <= self.floor <= _HIGHEST:
            raise ParameterError("floor", self.floor, f"from 0 to {_HIGHEST}")

    @property
    def lowest(self) -> Fraction:
        """Return the floor."""
        return self.floor

    @property
    def weight(self) -> int:
        """Return 1: above the floor the density is the Gaussian's."""
        return 1

    def swapped(self) -> FlooredGaussianPair:
        """Return the pair in the other order."""
        return replace(self, reverse=not self.reverse)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedGaussianPair(GaussianAboveFloor):
    """The loss mu |N| + mu^2/2, N standard normal under P; Q's other mass lies off P.

    Source: proofs/theory/separators.md, Theorem 3: Gaussian noise whose shift's signs depend on the
        output.

    Attributes:
        mu_squared: exact, above 0.
        reverse: whether P and Q are exchanged.
    """

    mu_squared: Fraction
    reverse: bool = False

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        required_square(mu_squared=self.mu_squared)

    @property
    def lowest(self) -> Fraction:
        """Return mu^2/2, the loss at N = 0."""
        return self.mu_squared / 2

    @property
    def weight(self) -> int:
        """Return 2: both signs of N have the same loss."""
        return 2

    def swapped(self) -> FoldedGaussianPair:
        """Return the pair in the other order."""
        return replace(self, reverse=not self.reverse)
