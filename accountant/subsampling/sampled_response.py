"""A Poisson sample of one randomised response: three outcomes at most, known exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Context, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.pair import Exponentials, Lattice
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair, as_decimal
from dpproof.accountant.pairs.symmetry import CommonSupport

# Decimal digits of masses and losses before they are rounded to floats. Error bounds depend on it:
# P/Q may be as close to 1 as the least rate times the least epsilon, 1e-109, and 1 - rate to 0.
_DIGITS = 250


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SampledResponsePair(CommonSupport, AtomicPair):
    """((1-q) Q + q P, Q) for removal, (P, (1-q) P + q Q) otherwise, of a randomised response.

    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11; of finitely many outcomes so sampled
        nothing has to be bounded (proofs/theory/sampled.md, section 9).
    Rounds: masses and losses are computed with 250 digits and rounded to the nearest float.

    Attributes:
        response: of a finite loss, no mass outside.
        sampling_rate: exact, in (0, 1).
        removal: the direction.
    """

    response: RandomizedResponsePair
    sampling_rate: Fraction
    removal: bool

    @property
    def atoms(self) -> Atoms:
        """Return the atoms, computed once and cached."""
        return _outcomes(self)[0]

    def swapped(self) -> SampledResponsePair:
        """Return the pair of the other direction, as the response is its own swap."""
        return replace(self, removal=not self.removal)

    @property
    def max_loss(self) -> float:
        """Return the largest loss, rounded up."""
        return float(self.atoms.loss.max()) * (1 + 1e-15)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return int(self.atoms.loss.size)

    def lattice(self, c: float) -> Lattice | None:
        """Return the lattice of two losses, or None for three, which are not tried."""
        atoms, span = _outcomes(self)
        if atoms.loss.size != 2:
            return None
        return Lattice(float(atoms.loss[1]), span, atoms.adjacency(np.array([1.0, 0.0]), c))

    def exponentials(self) -> Exponentials:
        """Return the masses times e^{-l/2} at the losses."""
        atoms = self.atoms
        return Exponentials(atoms.loss, np.exp(atoms.log_p - 0.5 * atoms.loss)[:, None])


@lru_cache(maxsize=256)
def _outcomes(pair: SampledResponsePair) -> tuple[Atoms, float]:
    """Return the atoms and the difference of the first two losses."""
    with localcontext(Context(prec=_DIGITS)):
        grown = as_decimal(pair.response.epsilon).exp()
        total = grown + pair.response.categories - 1
        kept = [grown / total, 1 / total, (pair.response.categories - 2) / total]
        lost = [kept[1], kept[0], kept[2]]
        rate = as_decimal(pair.sampling_rate)
        if pair.removal:
            p, q = [(1 - rate) * b + rate * a for a, b in zip(kept, lost, strict=True)], lost
        else:
            p, q = kept, [(1 - rate) * a + rate * b for a, b in zip(kept, lost, strict=True)]
        outcomes = [(a, b) for a, b in zip(p, q, strict=True) if a]
        losses = [(a / b).ln() for a, b in outcomes]
        log_p = np.array([float(a.ln()) for a, _ in outcomes])
        atoms = Atoms(log_p, np.array([float(loss) for loss in losses]), 0.0, 0.0)
        return atoms, float(losses[0] - losses[1])
