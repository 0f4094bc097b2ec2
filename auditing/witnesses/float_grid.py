"""The built-in floating-point witness: the lowest set bit of what is released."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.training import Training
from dpproof.auditing.witnesses.coordinates import MOST_COORDINATES, column
from dpproof.auditing.witnesses.witness import Score, Witness


@final
@dataclass(frozen=True, slots=True)
class LowestBit:
    """Minus the exponent of the lowest set bit of a coordinate: how fine a grid it needs.

    A sum fl(f(D) + noise) lies on the grid of the last bit of the larger of the two, so the
    grid tells how large f(D) is: adding 1 to a small noise wipes out its low bits, adding 0
    does not (Mironov, CCS 2012; Haney et al., arXiv:2207.13793).
    """

    index: int

    def __call__(self, features: Floats) -> Floats:
        """Score every row; 0 and what is not finite need no grid at all: -2000."""
        return -lowest_bit(column(features, self.index))

    def __str__(self) -> str:
        return f"-lowest_bit(output[{self.index}])"


def lowest_bit(values: Floats) -> Floats:
    """The largest e such that a float is a whole multiple of 2^e; 2000 for 0, nan, infinities.

    Example:
        >>> lowest_bit(np.array([1.0, 0.75, 6.0, 0.0, 5e-324])).tolist()
        [0.0, -2.0, 1.0, 2000.0, -1074.0]
    """
    ordinary = np.isfinite(values) & (values != 0)
    mantissa, exponent = np.frexp(np.where(ordinary, values, 1.0))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64))
    return np.where(ordinary, exponent - 53 + lowest, 2000.0)


@final
@dataclass(frozen=True, slots=True)
class FloatGrid(Witness):
    """The lowest set bit of every coordinate up to a number."""

    learns: ClassVar[bool] = False

    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """One score a coordinate whose values are not all on one grid."""
        for index in range(min(training.features.shape[1], self.most)):
            bits = lowest_bit(training.features[:, index])
            if np.ptp(bits) > 0:
                yield LowestBit(index)
