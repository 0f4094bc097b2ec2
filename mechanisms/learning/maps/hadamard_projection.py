"""A random projection by rows of a Hadamard matrix with random signs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.maps.feature_map import SignedProjection, checked_width
from dpproof.mechanisms.samplers import uniform_below
from dpproof.mechanisms.samplers.rng import ReplayRng


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
        """How many dimensions are proved to keep products of some unit vectors up to a distortion.

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
        """The distortion of products of some unit vectors that ``needed`` proves of this map.

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
