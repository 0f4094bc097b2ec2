"""The discrete Laplace pair: two discrete Laplace distributions at an integer distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.pair import Lattice
from dpproof.accountant.pairs.symmetry import CommonSupport, Reflected

_MAX_SHIFT = 100_000  # Largest shift that is tabulated, to bound memory. Exceeding it raises.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplacePair(Reflected, CommonSupport, AtomicPair):
    """P(x) ~ e^{-|x - shift|/scale} over Q(x) ~ e^{-|x|/scale} on the integers.

    With r = e^{-1/scale}, under P the loss is shift/scale with mass 1/(1+r), -shift/scale
    with mass r^shift/(1+r), and (2x - shift)/scale with mass (1-r)/(1+r) r^{shift-x} for
    0 < x < shift. Source: geometric sums.

    Attributes:
        scale: exact, above 0.
        shift: an integer, at least 1.
    """

    scale: Fraction
    shift: int

    def __post_init__(self) -> None:
        """Refuse shifts whose table of masses would be large."""
        if not 1 <= self.shift <= _MAX_SHIFT:
            raise NotCertified(
                f"the discrete Laplace pair is tabulated for whole shifts from 1 to {_MAX_SHIFT}, "
                f"got {self.shift}; state the sensitivity in larger units"
            )

    @property
    def atoms(self) -> Atoms:
        """Return the atoms, computed once and cached."""
        return _atoms(self)

    @property
    def max_loss(self) -> float:
        """Return shift / scale, rounded up."""
        return float(self.shift / self.scale) * (1 + 2e-16)

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return self.shift + 1

    def lattice(self, c: float) -> Lattice:
        """Return the lattice of span 2/scale that starts at -shift/scale.

        For a shift of 1 it has only these two losses.
        """
        atoms = self.atoms
        offset, span = -float(self.shift / self.scale), float(2 / self.scale)
        return Lattice(offset, span, atoms.adjacency(np.rint((atoms.loss - offset) / span), c))


@lru_cache(maxsize=256)
def _atoms(pair: DiscreteLaplacePair) -> Atoms:
    """Return the loss law's atoms as logs of masses."""
    step = float(1 / pair.scale)
    between = np.arange(1, pair.shift, dtype=float)
    norm = math.log1p(math.exp(-step))
    log_p = np.concatenate(
        [
            [-norm - pair.shift * step],
            math.log(-math.expm1(-step)) - norm - (pair.shift - between) * step,
            [-norm],
        ]
    )
    loss = np.concatenate([[-pair.shift], 2.0 * between - pair.shift, [pair.shift]]) * step
    return Atoms(log_p, loss, 0.0, 0.0)
