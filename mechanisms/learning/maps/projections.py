"""Random linear maps to fewer features, drawn without looking at data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
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
    SignedProjection,
    checked_seed,
    checked_width,
)
from dpproof.mechanisms.samplers import uniform_below
from dpproof.mechanisms.samplers.rng import ReplayRng


@final
@dataclass(frozen=True, slots=True, kw_only=True)
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardProjection(SignedProjection):
    """Flip signs of coordinates, and multiply by k random rows of a Hadamard matrix over sqrt(k).

    Rows are drawn with replacement from the matrix of the least power of two at or above d. If
    k >= d, rows stay as they are. The matrix is public and small next to the records; its bound on
    distortion is loose (``needed``).

    Args:
        features, dimension, seed, norm: as for ``RademacherProjection``.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Lemma A.4 ("fast" Johnson-Lindenstrauss).
    Proof: as for ``RademacherProjection``: entries are +1 or -1 over sqrt(k).
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> plan = HadamardProjection(features=6, dimension=2, seed=1)
        >>> np.abs(plan.matrix() * math.sqrt(2)).round().tolist()
        [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
    """

    @staticmethod
    def needed(*, features: int, points: int, distortion: Number, failure: Number) -> int:
        """Return how many dimensions provably keep products of unit vectors up to a distortion.

        Statement: 2 ln^2(4 d' M / failure) ln(4 M / failure) / distortion^2, d' the power of two,
            M the number of vectors: signs spread every vector evenly, then Hoeffding's bound.

        Args:
            features: d.
            points: M, a public number.
            distortion: in (0, 1).
            failure: in (0, 1).
        Raises:
            ParameterError: an argument outside its domain.
        """
        spread = _spread(features, points, failure)
        return math.ceil(spread / float(check.open_probability(distortion=distortion)) ** 2)

    def distortion(self, *, points: int, failure: Number) -> float:
        """Return the distortion of products of unit vectors that ``needed`` proves of this map.

        Args:
            points: M, a public number.
            failure: in (0, 1).
        Raises:
            ParameterError: an argument outside its domain.
        Example:
            >>> needed = HadamardProjection.needed(
            ...     features=512, points=100, distortion=0.5, failure=0.05
            ... )
            >>> plan = HadamardProjection(features=512, dimension=needed, seed=1)
            >>> round(plan.distortion(points=100, failure=0.05), 4)
            0.5
        """
        return math.sqrt(_spread(self.features, points, failure) / self.dimension)

    def _signs(self) -> Vectors:
        """Return (-1)^(number of common binary digits of row and column), with random signs."""
        if self.dimension >= self.features:
            return np.diag(np.ones(self.features))
        rng = ReplayRng(b"hadamard:%d" % self.seed)
        power = 2 ** math.ceil(math.log2(self.features))
        rows = np.asarray(uniform_below(power, self.dimension, rng), dtype=np.int64)
        flips = np.asarray(uniform_below(2, self.features, rng), dtype=np.int64)
        common = rows[:, np.newaxis] & np.arange(self.features)
        for shift in (32, 16, 8, 4, 2, 1):  # the parity of the digits gathers in the last one
            common ^= common >> shift
        return np.asarray(1 - 2 * ((common ^ flips) & 1), dtype=np.float64)


def _spread(features: int, points: int, failure: Number) -> float:
    """Return the squared distortion that is proved, times the dimension.

    Raises:
        ParameterError: an argument outside its domain.
    """
    power = 2 ** math.ceil(math.log2(checked_width(features=features)))
    chance = check.count(points=points) / float(check.open_probability(failure=failure))
    return 2 * math.log(4 * power * chance) ** 2 * math.log(4 * chance)


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
@dataclass(frozen=True, slots=True, kw_only=True)
class RademacherProjection(SignedProjection):
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

    def _signs(self) -> Vectors:
        """Return the signs, or the identity."""
        plain = SignProjection(features=self.features, dimension=self.dimension, seed=self.seed)
        return plain.matrix()
