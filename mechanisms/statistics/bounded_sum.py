"""Sums of numbers that are clipped to public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final, overload

import numpy as np

from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.mechanisms import parameters
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.queries.exact import ClippedSum
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.statistics.clipped_column import (
    ClippedArguments,
    ClippedStatistic,
    RealNoise,
    StepGrid,
    values_of,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class BoundedSum(ClippedStatistic[R]):
    """Clip one number a record to public bounds, add the numbers up exactly, and add noise.

    Numbers are rounded to a grid of 2^-24 of the larger bound before they are added, so that the
    sum is exact. A nan counts as a blank record: it adds nothing, so that a blank is as good as no
    record, and where a record is replaced the number between the bounds that is nearest to 0.

    Statement: a record moves the sum by at most max(|lower|, |upper|), and by upper - lower where
        it is replaced; the noise has that sensitivity.
    Assumes: one shape; random bits; output alone.
    Source: ``Gaussian`` and ``Laplace``; the sensitivity is attained by single records.

    Args:
        scale: of the noise, in data units, in [2^-300, 2^300]: sigma of Gaussian noise, the mean
            absolute deviation of Laplace noise.
        lower, upper: public bounds, chosen without looking at the data, of at most 2^250 in size;
            ``Chained(first=MagnitudeBound(...), then=WithinBound(...))`` finds them privately.
        noise: "gaussian" or "laplace".
        relation: the neighbouring relation.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not a sequence of
            real numbers.
    Example:
        >>> BoundedSum(scale=500, lower=0, upper=1000).guarantee().mu
        Fraction(2, 1)
        >>> isinstance(BoundedSum(scale=5, lower=0, upper=9).release([1, 20, 3.5]), float)
        True
    """

    scale: Fraction
    lower: Fraction
    upper: Fraction
    noise: RealNoise
    relation: R

    @overload
    def __init__(self: BoundedSum[AddRemove], **given: Unpack[ClippedArguments]) -> None: ...
    @overload
    def __init__(self, *, relation: R, **given: Unpack[ClippedArguments]) -> None: ...

    def __init__(
        self,
        *,
        scale: Number,
        lower: Number,
        upper: Number,
        noise: RealNoise = "gaussian",
        relation: Relation = parameters.DEFAULT_RELATION,
    ) -> None:
        self._state(scale=scale, lower=lower, upper=upper, noise=noise, relation=relation)
        self._query()

    def guarantee(self) -> Guarantee[R]:
        """What the noise satisfies at this sensitivity."""
        return self._noise(self._moved()).guarantee()

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Sums plus noise: float64 of shape (datasets, count)."""
        return self._noise(self._moved()).draw([self.total(data) for data in datasets], count, rng)

    def total(self, data: object) -> float:
        """The exact sum of the clipped values; it is private.

        Raises:
            ParameterError: not a sequence of real numbers.
        """
        values = values_of(data)
        if not self.relation.symmetric:
            values = values[~np.isnan(values)]
        return self._query()(values)

    def _query(self) -> ClippedSum:
        """Return the sum on the grid, its bounds rounded inwards; refuse bounds of one step."""
        grid = StepGrid.up_to(max(abs(self.lower), abs(self.upper)))
        step = Fraction(2) ** grid.exponent
        return ClippedSum(
            lower=-grid.floor(-self.lower) * step,
            upper=grid.floor(self.upper) * step,
            granularity=step,
        )

    def _moved(self) -> Fraction:
        """Return how far the sum moves between neighbours, at most."""
        largest = max(abs(self.lower), abs(self.upper))
        return self.upper - self.lower if self.relation.symmetric else largest
