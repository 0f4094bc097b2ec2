"""The folded Gaussian pair: every coordinate's loss counted with its worst sign."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from dpproof.accountant.pairs.domain import required_square
from dpproof.accountant.pairs.gaussian_above_floor import GaussianAboveFloor


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
