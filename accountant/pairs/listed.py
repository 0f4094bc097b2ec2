"""Finite pairs given by masses and losses in floats, which lie on no lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.pair import Exponentials


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
