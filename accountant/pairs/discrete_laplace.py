"""The discrete Laplace pair: two discrete Laplace distributions at a whole distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from accountant.arithmetic.atoms import Atoms
from accountant.bound import Bound
from accountant.errors import NotCertified
from accountant.pairs.atomic import AtomicPair
from accountant.pairs.pair import Exponentials, Lattice, Pair, Smoothness

_MAX_SHIFT = 100_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplacePair(AtomicPair):
    """P(x) ~ e^{-|x - shift|/scale} over Q(x) ~ e^{-|x|/scale} on the whole numbers.

    With r = e^{-1/scale}, under P the loss is shift/scale with mass 1/(1+r), -shift/scale
    with mass r^shift/(1+r), and (2x - shift)/scale with mass (1-r)/(1+r) r^{shift-x} for
    0 < x < shift. Source: geometric sums.

    Attributes:
        scale: exact, above 0.
        shift: whole, at least 1.
    """

    scale: Fraction
    shift: int

    def __post_init__(self) -> None:
        """Refuse shifts whose table of masses would not be small."""
        if not 1 <= self.shift <= _MAX_SHIFT:
            raise NotCertified(
                f"the discrete Laplace pair is tabulated for whole shifts from 1 to {_MAX_SHIFT}, "
                f"got {self.shift}; state the sensitivity in larger units"
            )

    @property
    def atoms(self) -> Atoms:
        """The outcomes, kept."""
        return _atoms(self)

    def swapped(self) -> Pair:
        """Itself, by symmetry."""
        return self

    @property
    def infinite_mass(self) -> float:
        """None."""
        return 0.0

    @property
    def max_loss(self) -> float:
        """Shift / scale."""
        return float(self.shift / self.scale) * (1 + 2e-16)

    def work(self, s: complex) -> int:
        """Terms in K."""
        return self.shift + 1

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """None: the loss law has only atoms."""
        return Smoothness()

    def lattice(self, c: float) -> Lattice:
        """Span 2/scale, from -shift/scale; a shift of 1 leaves its two ends only."""
        atoms = self.atoms
        offset, span = -float(self.shift / self.scale), float(2 / self.scale)
        return Lattice(offset, span, atoms.adjacency(np.rint((atoms.loss - offset) / span), c))

    def exponentials(self) -> Exponentials | None:
        """None is known."""
        return None


@lru_cache(maxsize=256)
def _atoms(pair: DiscreteLaplacePair) -> Atoms:
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
