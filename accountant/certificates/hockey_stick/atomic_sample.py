"""Approximate a Poisson sample of atomic pairs by one finite pair.

Heuristic: used only to place sums.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.hockey_stick.closed_form import has_few_losses
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair

_DIGITS = 12  # Decimal digits to which losses count as equal. Heuristic.


def atomic_sample(pair: SubsampledPair) -> FinitePair | None:
    """Approximate a sample by a finite pair if the checker lists its losses; else return None."""
    parts = [(f.pair.atoms, f.count) for f in pair.base.factors if isinstance(f.pair, AtomicPair)]
    known = has_few_losses(pair.base) and len(parts) == len(pair.base.factors)
    if pair.direction is Direction.REPLACEMENT or not known:
        return None
    loss: Reals = np.zeros(1)
    log_p: Reals = np.zeros(1)
    for atoms, count in parts:
        for _ in range(count):
            loss, log_p = _beside(loss, log_p, atoms)
    p = np.append(np.exp(log_p), [infinite_mass(pair.base).lower, 0.0])
    q = np.append(np.exp(log_p - loss), [0.0, infinite_mass(pair.base.swapped()).lower])
    rate = float(pair.sampling_rate)
    if pair.direction is Direction.REMOVAL:
        p = (1.0 - rate) * q + rate * p
    else:
        q = (1.0 - rate) * p + rate * q
    return FinitePair(p=_normalised(p), q=_normalised(q))


def _beside(loss: Reals, log_p: Reals, atoms: Atoms) -> tuple[Reals, Reals]:
    """Return the product with one more pair, equal losses merged."""
    both = np.add.outer(loss, atoms.loss).ravel()
    _, first, place = np.unique(np.round(both, _DIGITS), return_index=True, return_inverse=True)
    mass = np.bincount(place, weights=np.exp(np.add.outer(log_p, atoms.log_p).ravel()))
    return both[first], np.log(mass)


def _normalised(masses: Reals) -> tuple[Fraction, ...]:
    """Return masses scaled to sum to exactly 1."""
    exact = [Fraction(float(mass)) for mass in masses]
    total = sum(exact)
    return tuple(mass / total for mass in exact)
