"""A random projection by a matrix of scaled signs, which keeps lengths on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.maps.feature_map import SignedProjection
from dpproof.mechanisms.learning.maps.sign_projection import SignProjection


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
