"""A random projection by a matrix of signs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.mechanisms.learning.grid import RECORD_BITS, Vectors, unit_rows
from dpproof.mechanisms.learning.maps.feature_map import LinearMap, checked_seed, checked_width
from dpproof.mechanisms.samplers.rng import ReplayRng

_WORD_BITS = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SignProjection(LinearMap):
    """A public matrix of random signs, from features to fewer dimensions, and rows of norm 1.

    Scalar products of unit vectors keep their value up to approximately 1 / sqrt(dimension). If
    dimension is at least features, rows are only scaled to norm 1.

    Args:
        features: d, the width of the rows.
        dimension: m. It has to be a constant: computed from the number of records it leaks that.
        seed: public, chosen before looking at the data; trying several is a selection.
    Source: Achlioptas, "Database-friendly random projections", JCSS 66 (2003), Theorem 1.1.
    Laws: a zero row stays zero.
    Proof: rows are put on the grid first, where sums of at most 2^24 signed coordinates of at most
        2^24 are exact in binary64, so a row of the result depends on that row alone.
    Example:
        >>> SignProjection(features=4, dimension=2, seed=1).matrix().shape
        (2, 4)
    """

    features: int
    dimension: int
    seed: int

    def __post_init__(self) -> None:
        """Refuse widths that are not counts, and a seed that is no integer."""
        object.__setattr__(self, "features", checked_width(features=self.features))
        object.__setattr__(self, "dimension", checked_width(dimension=self.dimension))
        object.__setattr__(self, "seed", checked_seed(self.seed))

    @property
    def output_features(self) -> int:
        """The smaller one of both widths."""
        return min(self.dimension, self.features)

    @property
    def output_norm(self) -> Fraction:
        """Every row is scaled to norm 1 after projecting."""
        return Fraction(1)

    @property
    def description(self) -> str:
        """Name the widths and the seed."""
        widths = f"{self.features} to {self.output_features} features"
        return f"SignProjection, {widths}, seed {self.seed}, each row scaled to norm 1"

    def matrix(self) -> Vectors:
        """The signs, shape (output_features, features); the identity if nothing is gained."""
        if self.dimension >= self.features:
            return np.diag(np.ones(self.features))
        size = self.dimension * self.features
        words = ReplayRng(self.seed).words(-(-size // _WORD_BITS))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8))[:size]
        signs = 2.0 * bits.astype(np.float64) - 1.0
        return signs.reshape(self.dimension, self.features)

    def _apply(self, rows: Vectors) -> Vectors:
        steps = unit_rows(rows, RECORD_BITS)
        return unit_rows(steps @ self.matrix().T, RECORD_BITS) * 2.0**-RECORD_BITS
