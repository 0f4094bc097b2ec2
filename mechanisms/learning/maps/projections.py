"""Random linear maps to fewer features, drawn without looking at data."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen

from dpproof.mechanisms.learning.grid import (
    RECORD_BITS,
    STATE_BITS,
    Vectors,
    clipped_rows,
    unit_rows,
)
from dpproof.mechanisms.learning.maps.feature_map import (
    ClippedProjection,
    LinearMap,
    checked_seed,
    checked_width,
)
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import ReplayRng


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class GaussianProjection(ClippedProjection):
    """Multiply by a public k x d matrix of independent N(0, 1/k) entries, rounded to a grid.

    proofs/theory/margins.md, section 3, is exact for it up to that rounding. If k >= d, rows
    stay as they are, as projecting would only add distortion.

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
        """Return the entries, shape (output_features, features); the identity if k >= d."""
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


_WORD_BITS = 64


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
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

    features: int = field(converter=checked_width)
    dimension: int = field(converter=checked_width)
    seed: int = field(converter=checked_seed)

    @property
    def output_features(self) -> int:
        """Return the smaller one of both widths."""
        return min(self.dimension, self.features)

    @property
    def output_norm(self) -> Fraction:
        """Return 1: every row is scaled to norm 1 after projecting."""
        return Fraction(1)

    @property
    def description(self) -> str:
        """Return a description that names the widths and the seed."""
        widths = f"{self.features} to {self.output_features} features"
        return f"SignProjection, {widths}, seed {self.seed}, each row scaled to norm 1"

    def matrix(self) -> Vectors:
        """Return the signs, shape (output_features, features); the identity if k >= d."""
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


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class RademacherProjection(ClippedProjection):
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
        >>> (plan.matrix() * 2**0.5).round().tolist()
        [[1.0, 1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0]]
    """

    def matrix(self) -> Vectors:
        """Return the scaled signs, shape (output_features, features); the identity if k >= d."""
        plain = SignProjection(features=self.features, dimension=self.dimension, seed=self.seed)
        kept = self.dimension >= self.features
        return plain.matrix() / (1.0 if kept else math.sqrt(self.dimension))

    def _apply(self, rows: Vectors) -> Vectors:
        steps = clipped_rows(rows, float(self.norm), RECORD_BITS)
        unit = float(self.norm) * 2.0**-RECORD_BITS
        if self.dimension >= self.features:
            return steps * unit
        signs = np.sign(self.matrix())
        return np.asarray((steps @ signs.T) * (unit / math.sqrt(self.dimension)))
