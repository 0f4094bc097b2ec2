"""Answer the engine's questions for pairs with finitely many outcomes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import (
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
    joined,
)
from dpproof.accountant.pairs.gaussian import pure_mu
from dpproof.accountant.pairs.pair import Exponentials
from dpproof.accountant.pairs.symmetry import ExactPair


class AtomicPair(ExactPair, ABC):
    """A pair whose K and profile are finite sums over the outcomes."""

    __slots__ = ()

    @property
    @abstractmethod
    def atoms(self) -> Atoms:
        """Return the outcomes with mass under both P and Q, and the mass outside them."""

    @final
    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K(s), the log of a finite sum."""
        return self.atoms.cgf(s)

    @final
    def cgf_along(self, points: Reals, line: Complexes) -> Enclosure:
        """Enclose K at the points and on the line apart, as sums on a line share work."""
        return joined([self.cgf(points + 0j), self.cgf(line)])

    @final
    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile, a finite sum."""
        return self.atoms.profile(epsilon)

    @final
    @property
    def zcdp_bound(self) -> float:
        """Return m^2 / 2 for losses in [-m, m].

        Source: Bun & Steinke, arXiv:1605.02658, Proposition 1.4.
        """
        return 0.5 * self._bounded_loss() ** 2 * (1 + 1e-15)

    @final
    @property
    def gdp_bound(self) -> float:
        """Return the mu of pure DP if the losses are bounded on both sides, else infinity."""
        return pure_mu(self._bounded_loss())

    def _bounded_loss(self) -> float:
        """Return the largest absolute loss, rounded up.

        It is +inf if P or Q has an outcome that the other law misses.
        """
        if self.atoms.infinite_mass or self.atoms.missing_mass:
            return math.inf
        largest = float(np.abs(self.atoms.loss).max(initial=0.0))
        return largest * (1 + 8 * UNIT_ROUNDOFF * (1 + largest))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ListedPair(AtomicPair):
    """A pair with finitely many outcomes, whose losses lie anywhere.

    Compared by identity, as it carries arrays.

    Attributes:
        table: masses and losses.
    """

    table: Atoms

    @property
    def atoms(self) -> Atoms:
        """Return the table."""
        return self.table

    def swapped(self) -> ListedPair:
        """Return (Q, P): masses p e^{-l} at the losses -l."""
        return ListedPair(self.table.swapped())

    @property
    def infinite_mass(self) -> float:
        """Return the infinite mass that the pair was given."""
        return self.atoms.infinite_mass

    @property
    def max_loss(self) -> float:
        """Return the largest loss, rounded up."""
        return float(np.nextafter(self.atoms.loss.max(initial=0.0), np.inf))

    def work(self, s: complex) -> int:
        """Return one more than the number of terms in K(s)."""
        return int(self.atoms.loss.size) + 1

    def exponentials(self) -> Exponentials | None:
        """Return the masses times e^{-l/2} at the losses, or None if there is no loss."""
        atoms = self.atoms
        if not atoms.loss.size:
            return None
        return Exponentials(atoms.loss, np.exp(atoms.log_p - 0.5 * atoms.loss)[:, None])
