"""A random projection by a matrix of scaled signs, which keeps lengths on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from accountant.arguments import Number
from mechanisms.learning.grid import RECORD_BITS, Vectors, clipped_rows
from mechanisms.learning.maps.feature_map import LinearMap, checked_seed, checked_width
from mechanisms.learning.maps.sign_projection import SignProjection
from mechanisms.samplers.sampler_arguments import scale


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RademacherProjection(LinearMap):
    """Multiply by a public k x d matrix with entries +1 or -1 over sqrt(k).

    E ||Phi x||^2 = ||x||^2. Unlike ``SignProjection`` it does not scale rows afterwards: a learner
    clips mapped rows to its own norm. If k >= d, rows stay as they are, as projecting would only
    add distortion.

    Args:
        features: d, the width of the rows.
        dimension: k. It has to be a constant: computed from the number of records it leaks that.
        seed: public, chosen before looking at the data; trying several is a selection.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 1; Achlioptas, JCSS 66 (2003),
        Theorem 1.1.
    Proof: rows are on the grid first, where sums of at most 2^24 signed coordinates of at most
        2^24 are exact in binary64, so a row of the result depends on that row alone.
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> plan = RademacherProjection(features=4, dimension=2, seed=1, norm=2)
        >>> (plan.matrix() * math.sqrt(2)).round().tolist()
        [[1.0, 1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0]]
    """

    features: int
    dimension: int
    seed: int
    norm: Number = 1

    def __post_init__(self) -> None:
        """Keep exact values; refuse others."""
        object.__setattr__(self, "features", checked_width(features=self.features))
        object.__setattr__(self, "dimension", checked_width(dimension=self.dimension))
        object.__setattr__(self, "seed", checked_seed(self.seed))
        object.__setattr__(self, "norm", scale(norm=self.norm))

    @property
    def output_features(self) -> int:
        """The smaller one of both widths."""
        return min(self.dimension, self.features)

    @property
    def output_norm(self) -> Fraction | None:
        """The norm of the rows if they stay as they are; else no useful bound."""
        return Fraction(self.norm) if self.dimension >= self.features else None

    @property
    def description(self) -> str:
        """Name the widths, the seed and the clipping."""
        widths = f"{self.features} to {self.output_features} features"
        return f"RademacherProjection, {widths}, seed {self.seed}, after clipping to {self.norm}"

    def matrix(self) -> Vectors:
        """The scaled signs, shape (output_features, features); the identity if k >= d."""
        signs = self._signs()
        return signs if self.dimension >= self.features else signs / math.sqrt(self.dimension)

    def _apply(self, rows: Vectors) -> Vectors:
        steps = clipped_rows(rows, float(self.norm), RECORD_BITS)
        unit = float(self.norm) * 2.0**-RECORD_BITS
        if self.dimension >= self.features:
            return steps * unit
        return np.asarray((steps @ self._signs().T) * (unit / math.sqrt(self.dimension)))

    def _signs(self) -> Vectors:
        """Return the signs, or the identity."""
        plain = SignProjection(features=self.features, dimension=self.dimension, seed=self.seed)
        return plain.matrix()
