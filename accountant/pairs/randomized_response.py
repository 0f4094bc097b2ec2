"""The k-ary randomised-response pair; with two categories, the worst case of pure DP."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import log_exact
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.finite import nearest_mass
from dpproof.accountant.pairs.pair import Exponentials, Lattice
from dpproof.accountant.pairs.smoothness import required_loss
from dpproof.accountant.pairs.symmetry import Reflected

# Decimal digits of masses before they are rounded to floats. Soundness depends on it: with as many
# categories as e^epsilon, epsilon cancels, and floats would lose its digits.
_DIGITS = 60


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
        return nearest_mass(self.infinite)

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
    with localcontext(Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        exact = as_decimal(pair.epsilon)
        kept = -(1 + others * (-exact).exp()).ln()
        log_p = [float(kept), float(kept - exact)]
        if others > 1:
            log_p.append(float(Decimal(others - 1).ln() + kept - exact))
    loss = [epsilon, -epsilon, 0.0][: len(log_p)]
    finite = log_exact(1 - pair.infinite)
    mass = nearest_mass(pair.infinite)
    return Atoms(np.array(log_p) + finite, np.array(loss), mass, mass)


def as_decimal(value: Fraction) -> Decimal:
    """Return a rational as a decimal of the context's precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)
