"""The features of a polynomial kernel, one for each monomial."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.grid import RECORD_BITS, Vectors, clipped_rows
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, checked_width
from dpproof.mechanisms.parameters import named

_MOST: Final = 2**16


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class MonomialFeatures(FeatureMap):
    """Map x to all monomials, weighted so that products are (<x, x'> + offset)^degree.

    Statement: mapped rows have norm (||x||^2 + offset)^(degree/2), at most
        (norm^2 + offset)^(degree/2). Bassily et al. say norm^degree, which is less: 1 instead of 2
        for norm, offset 1 and degree 2.

    Args:
        features: d, the width of the rows.
        degree: p; there are C(d + p, p) monomials, at most 2^16.
        offset: c, at least 0; without it lower degrees are left out.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units.
    Source: the multinomial theorem; Bassily, Mohri & Suresh, arXiv:2204.10376, section 4.
    Proof: a feature is a product of coordinates of one row, one multiplication after the other.
    Raises:
        ParameterError: a parameter outside its domain, or too many monomials.
    Example:
        >>> plan = MonomialFeatures(features=2, degree=2, offset=1, norm=8)
        >>> one, other = plan.apply(np.array([[1.0, 2.0], [0.5, -1.0]]))
        >>> round(float(one @ other), 9), plan.output_features
        (0.25, 6)
    """

    features: int = field(converter=checked_width)
    degree: int = field(converter=parameters.count)
    offset: Fraction = field(default=Fraction(1), converter=parameters.non_negative)
    norm: Fraction = field(default=Fraction(1), converter=parameters.scale)

    def __attrs_post_init__(self) -> None:
        if self.output_features > _MOST:
            raise ParameterError("degree", self.degree, f"at most {_MOST} monomials")

    @property
    def output_features(self) -> int:
        """Return the number of monomials."""
        letters = self.features + (self.offset > 0)
        return math.comb(letters + self.degree - 1, self.degree)

    @property
    def output_norm(self) -> Fraction:
        """Return (norm^2 + offset)^(degree/2), rounded up."""
        return sqrt_up((self.norm**2 + self.offset) ** self.degree)

    @property
    def description(self) -> str:
        """Return a description that names the numbers and the clipping."""
        kernel = f"degree {self.degree}, offset {self.offset}"
        return f"MonomialFeatures of {self.features}, {kernel}, after clipping to {self.norm}"

    def _apply(self, rows: Vectors) -> Vectors:
        unit = float(self.norm) * 2.0**-RECORD_BITS
        letters = clipped_rows(rows, float(self.norm), RECORD_BITS) * unit
        if self.offset > 0:
            constant = np.full((len(rows), 1), math.sqrt(self.offset))
            letters = np.concatenate([letters, constant], axis=1)
        places = range(letters.shape[1])
        mapped = np.empty((len(rows), self.output_features))
        words = itertools.combinations_with_replacement(places, self.degree)
        for column, word in enumerate(words):
            ways = math.factorial(self.degree)
            for times in Counter(word).values():
                ways //= math.factorial(times)
            value = np.full(len(rows), math.sqrt(ways))
            for place in word:
                value = value * letters[:, place]
            mapped[:, column] = value
        return mapped
