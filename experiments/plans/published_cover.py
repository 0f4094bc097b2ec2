"""The size of the cover that a published pure learner asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.covers import MOST_CANDIDATES
from experiments.plans.projected_margin import sign_projection_dimension

_SHARE: Final = 10  # Lambda norm over margin, over the inverse distortion; as printed.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCover:
    """The cover of a paper's algorithm at given parameters.

    Attributes:
        dimension: to which rows are projected.
        log10_size: the decimal logarithm of the number of candidates.
    """

    dimension: int
    log10_size: float

    @property
    def feasible(self) -> bool:
        """Return whether its candidates can be listed at all."""
        return self.log10_size <= math.log10(MOST_CANDIDATES)

    def __str__(self) -> str:
        """Say whether it can be listed, and what can be done instead."""
        size = f"10^{self.log10_size:.0f} candidates in {self.dimension} dimensions"
        if self.feasible:
            return f"{size} can be listed"
        return f"{size} are out of reach; take RandomDirections or CubeSurface"


def published_cover(*, ratio: Number, records: int, failure: Number = 0.05) -> PublishedCover:
    """Return the size of the cover that the pure learner of Bassily, Mohri & Suresh asks for.

    Statement: k dimensions keep norms and products of ``records`` points up to the distortion
        1/(10 ratio), and a cover of the ball of radius 2 Lambda in R^k at distance
        margin/(10 norm) has at most (1 + 40 ratio)^k members.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 1; k with the constants of
        ``sign_projection_dimension``, as the paper states an order of magnitude.

    Args:
        ratio: Lambda norm / margin, at least 1.
        records: m, a public number of records.
        failure: beta, in (0, 1).
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> print(published_cover(ratio=1, records=10_000).dimension)
        6000
        >>> published_cover(ratio=1, records=10_000).feasible
        False
    """
    exact = check.positive(ratio=ratio)
    if exact < 1:
        raise ParameterError("ratio", ratio, "at least 1: no margin exceeds Lambda norm")
    dimension = sign_projection_dimension(
        distortion=1 / (_SHARE * exact), points=records, failure=failure
    )
    size = dimension * math.log10(1 + 4 * _SHARE * float(exact))
    return PublishedCover(dimension=dimension, log10_size=size)
