"""Pairs whose losses are bounded as those of pure differential privacy."""

from __future__ import annotations

from abc import ABC
from fractions import Fraction

from dpproof.accountant.pairs.gaussian import pure_mu
from dpproof.accountant.pairs.smoothness import required_loss
from dpproof.accountant.pairs.symmetry import ExactPair


class PureLoss(ExactPair, ABC):
    """A pair whose losses are those of pure epsilon-DP: at most epsilon, and at least -epsilon.

    Attributes:
        epsilon: exact, above 0, nats.
    """

    __slots__ = ()

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        required_loss(epsilon=self.epsilon)

    @property
    def max_loss(self) -> float:
        """Return epsilon, rounded up."""
        return float(self.epsilon) * (1 + 2e-16)

    @property
    def zcdp_bound(self) -> float:
        """Return epsilon^2 / 2, rounded up.

        Source: Bun & Steinke, arXiv:1605.02658, Proposition 1.4, for pure DP.
        """
        return 0.5 * float(self.epsilon) ** 2 * (1 + 1e-15)

    @property
    def gdp_bound(self) -> float:
        """Return the mu of pure DP at the largest loss."""
        return pure_mu(float(self.epsilon))
