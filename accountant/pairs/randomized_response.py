"""The k-ary randomised-response pair; with two categories, the worst case of pure DP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from accountant.arithmetic.atoms import Atoms
from accountant.arithmetic.enclosure import log_exact
from accountant.pairs.atomic import AtomicPair
from accountant.pairs.domain import required_loss
from accountant.pairs.finite import never_zero
from accountant.pairs.pair import Exponentials, Lattice
from accountant.pairs.symmetry import Reflected


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponsePair(Reflected, AtomicPair):
    """Keep the true category with probability e^eps/(e^eps + k - 1), else a uniform other one.

    The losses are epsilon, 0 and -epsilon. For k = 2 this pair dominates every pure
    epsilon-DP mechanism (Kairouz, Oh & Viswanath, arXiv:1311.0776, Theorem 3.4 and its proof).
    With ``infinite`` > 0 every mass is scaled by 1 - infinite and that much mass is added
    where the other distribution has none: for k = 2 the pair of all
    (epsilon, infinite)-DP mechanisms.

    Attributes:
        epsilon: exact, above 0, nats.
        categories: k, at least 2.
        infinite: exact, in [0, 1).
    """

    epsilon: Fraction
    categories: int = 2
    infinite: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        required_loss(epsilon=self.epsilon)

    @property
    def atoms(self) -> Atoms:
        """Return the atoms, computed once and cached."""
        return _atoms(self)

    @property
    def infinite_mass(self) -> float:
        """Return the infinite mass that the pair was given."""
        return never_zero(self.infinite)

    @property
    def max_loss(self) -> float:
        """Return epsilon, rounded up."""
        return float(self.epsilon) * (1 + 2e-16)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return 3

    def lattice(self, c: float) -> Lattice:
        """Return the lattice of span 2 epsilon for two categories, epsilon for more."""
        atoms, epsilon = self.atoms, float(self.epsilon)
        span = 2.0 * epsilon if self.categories == 2 else epsilon
        index = np.rint((atoms.loss + epsilon) / span)
        return Lattice(-epsilon, span, atoms.adjacency(index, c))

    def exponentials(self) -> Exponentials | None:
        """Return the masses times e^{-l/2} at the losses."""
        atoms = self.atoms
        return Exponentials(atoms.loss, np.exp(atoms.log_p - 0.5 * atoms.loss)[:, None])


@lru_cache(maxsize=256)
def _atoms(pair: RandomizedResponsePair) -> Atoms:
    """Return the pair's atoms as logs of masses."""
    epsilon, others = float(pair.epsilon), pair.categories - 1
    log_total = epsilon + math.log1p(others * math.exp(-epsilon))
    log_p = [epsilon - log_total, -log_total]
    loss = [epsilon, -epsilon]
    if others > 1:
        log_p.append(math.log(others - 1) - log_total)
        loss.append(0.0)
    kept = log_exact(1 - pair.infinite)
    mass = never_zero(pair.infinite)
    return Atoms(np.array(log_p) + kept, np.array(loss), mass, mass)
