"""A random projection by a Gaussian matrix, of which the margin calculator speaks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.mechanisms.learning.grid import RECORD_BITS, STATE_BITS, Vectors, clipped_rows
from dpproof.mechanisms.learning.maps.feature_map import ClippedProjection
from dpproof.mechanisms.samplers.rng import ReplayRng


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProjection(ClippedProjection):
    """Multiply by a public k x d matrix of independent N(0, 1/k) entries, rounded to a grid.

    ``margin_after_projection`` is exact for it up to that rounding. If k >= d, rows stay as they
    are, as projecting would only add distortion.

    Args:
        features: d, the width of the rows.
        dimension: k, a constant.
        seed: public, chosen before looking at the data; trying several is a selection.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Lemma A.1 and others on projections.
    Proof: rows and the matrix's rows are integer vectors of norms at most 2^24 and 2^28, so their
        products are exact in binary64 in any order, and a row of the result depends on no other.
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> GaussianProjection(features=4, dimension=2, seed=1).matrix().shape
        (2, 4)
    """

    def matrix(self) -> Vectors:
        """The entries, shape (output_features, features); the identity if k >= d."""
        steps, bits = self._steps()
        return np.ldexp(steps, -bits)

    def _apply(self, rows: Vectors) -> Vectors:
        whole = clipped_rows(rows, float(self.norm), RECORD_BITS)
        steps, bits = self._steps()
        return np.asarray(np.ldexp(whole @ steps.T, -RECORD_BITS - bits) * float(self.norm))

    def _steps(self) -> tuple[Vectors, int]:
        """Return the matrix as integers in units of 2^-bits, and bits; rows of norm up to 2^28."""
        from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

        if self.dimension >= self.features:
            return np.diag(np.ones(self.features)), 0
        words = ReplayRng(b"gaussian:%d" % self.seed).words(self.dimension * self.features)
        normal = ndtri(((words >> np.uint64(11)) + 0.5) * 2.0**-53) / math.sqrt(self.dimension)
        drawn = normal.reshape(self.dimension, self.features)
        bits = STATE_BITS - 1 - math.frexp(float(np.linalg.norm(drawn, axis=1).max()))[1]
        return np.trunc(np.ldexp(drawn, bits)), bits
