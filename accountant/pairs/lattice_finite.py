"""Finite pairs whose losses lie on one lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.elementary import log_of_sum
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Enclosure, Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.pair import Lattice, Smoothness
from dpproof.accountant.pairs.smoothness import layers


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatticePair(AtomicPair):
    """A pair with finitely many outcomes, whose losses are ``offset + index * span``.

    Compared by identity, as it carries arrays.

    Attributes:
        table: masses and losses.
        index: shape (n,), integers, increasing.
        span: nats, a power of two if there is no offset.
        offset: nats.
    """

    table: Atoms
    index: Reals
    span: float
    offset: float = 0.0

    @property
    def atoms(self) -> Atoms:
        """Return the table."""
        return self.table

    def cgf_on_period(self, c: float, half: int, span: float) -> Enclosure:
        """Enclose K(c + i k pi / (half span)) for k = 0..half by a fast Fourier transform.

        With masses w_j tilted by c and normalised, M(c+iy_k) / M(c) is the discrete Fourier
        transform of length 2 half of the masses placed at index_j modulo that length, turned by
        y_k times the offset. Its error is below 8 u log2(length) for masses of sum 1.
        """
        start = self.atoms.cgf(np.array([c + 0j]))
        exponent = self.atoms.log_p + c * self.atoms.loss - start.value.real[0]
        place = np.mod(np.rint(self.index * (self.span / span)).astype(int), 2 * half)
        folded = np.bincount(place, weights=np.exp(exponent), minlength=2 * half)
        ratio = np.fft.rfft(folded).conj()
        wobble = float(np.abs(exponent).max()) * 4.0 + 8.0 * math.log2(2 * half) + 64.0
        error = wobble * UNIT_ROUNDOFF + float(start.radius[0])
        found = log_of_sum(ratio, error, float(start.value.real[0]), ulps=16.0)
        turned = self.offset * math.pi / (half * span) * np.arange(half + 1)
        radius = found.radius + 8 * UNIT_ROUNDOFF * np.abs(turned)
        return Enclosure(found.value + 1j * turned, radius)

    def swapped(self) -> LatticePair:
        """Return (Q, P): masses p e^{-l} at the losses -l, in increasing order."""
        return LatticePair(self.atoms.swapped(), -self.index[::-1], self.span, -self.offset)

    @property
    def infinite_mass(self) -> float:
        """Return the infinite mass that the pair was given."""
        return self.atoms.infinite_mass

    @property
    def max_loss(self) -> float:
        """Return the largest loss."""
        return float(self.atoms.loss[-1]) if self.atoms.loss.size else 0.0

    def work(self, s: complex) -> int:
        """Return one more than the number of terms in K(s)."""
        return int(self.index.size) + 1

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted masses over neighbouring lattice points."""
        weight = self._tilted(c)
        peak = int(np.argmax(weight))
        gaps = np.diff(self.index) != 1.0
        left = np.flatnonzero(gaps[:peak])
        right = np.flatnonzero(gaps[peak:])
        run = slice(
            int(left[-1]) + 1 if left.size else 0,
            peak + int(right[0]) + 1 if right.size else weight.size,
        )
        masses, steps = layers(weight[run], np.ones(weight[run].size))
        return Smoothness(span=self.span, step_masses=masses, steps=np.rint(steps))

    def lattice(self, c: float) -> Lattice:
        """Return the lattice of the offset and the span."""
        weight = self._tilted(c)
        next_to = np.diff(self.index) == 1.0
        adjacency = float(2.0 * (weight[:-1] * weight[1:])[next_to].sum()) * (1 - 1e-9)
        return Lattice(self.offset, self.span, adjacency)

    def _tilted(self, c: float) -> Reals:
        """Return the masses tilted by e^{cL}, normalised and rounded down."""
        exponent = self.atoms.log_p + c * self.atoms.loss
        weight = np.exp(exponent - exponent.max())
        return np.asarray(weight / weight.sum() * (1 - 1e-9))
