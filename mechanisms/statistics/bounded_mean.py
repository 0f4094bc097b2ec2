"""Means of numbers that are clipped to public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.post_processing import post_process
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import ClippedSum
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.statistics.clipped_column import ClippedStatistic, StepGrid, values_of


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class BoundedMean(ClippedStatistic[R]):
    """Release the mean of numbers clipped to public bounds, and how many there are.

    Two sums get noise: of the distances x - lower, and of the distances upper - x. Together they
    tell the number of records, which is private if records are added or removed, and the mean. Of a
    record both distances add up to upper - lower, so the second sum costs nothing: half a budget
    each for sum and count would need twice the noise. Under replace-one the number of records is
    public, and the first sum is enough. A nan counts as a blank record: it adds to neither sum, and
    half to each where a record is replaced.

    Statement: a record adds (x - lower, upper - x), of L1 norm upper - lower and L2 norm at most
        that, to the two sums; replaced, it moves the first sum by at most upper - lower. The noise
        has that sensitivity.
    Assumes: one shape; random bits; output alone.
    Source: ``Gaussian`` and ``Laplace``; the sensitivity is attained by single records.

    Args:
        scale: of the noise on each sum, in data units, in [2^-300, 2^300].
        lower, upper: public bounds, chosen without looking at the data, of at most 2^250 in size;
            ``Chained(first=MagnitudeBound(...), then=WithinBound(...))`` finds them privately.
        noise: "gaussian" or "laplace".
        relation: the neighbouring relation.
    Outputs:
        A record with fields ``value``, the mean, between the bounds, and ``count``, the noisy
        number of records; under replace-one the public one.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not a sequence of
            real numbers.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> ages = BoundedMean(scale=100, lower=0, upper=100, relation=AddRemove())
        >>> ages.guarantee().mu
        Fraction(1, 1)
        >>> bool(0 <= ages.release([25, 40, 62.5]).value <= 100)
        True
    """

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the noise at this sensitivity."""
        return post_process(
            self._noise(self.upper - self.lower).guarantee(),
            description="dividing a noisy sum by a noisy count",
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw means and counts: records of shape (datasets, count)."""
        rows, sums = zip(*(self._sums(data) for data in datasets), strict=True)
        width, middle = float(self.upper - self.lower), float((self.lower + self.upper) / 2)
        if self.relation.symmetric:  # the number of records is public, and the first sum enough
            numbers = np.repeat(np.array(rows, dtype=np.float64)[:, np.newaxis], count, axis=1)
            above = self._noise(self.upper - self.lower).draw(
                [first for first, _ in sums], count, rng
            )
            above -= numbers * width / 2
        else:
            noisy = self._noise(self.upper - self.lower).draw(sums, count, rng)
            numbers = noisy.sum(axis=2) / width
            above = (noisy[..., 0] - noisy[..., 1]) / 2
        outputs = np.recarray(numbers.shape, dtype=[("value", np.float64), ("count", np.float64)])
        shift = np.clip(above / np.maximum(numbers, 1.0), -width / 2, width / 2)
        outputs["value"] = np.clip(middle + shift, float(self.lower), float(self.upper))
        outputs["count"] = numbers
        return np.asarray(outputs)

    def sums(self, data: object) -> NDArray[np.float64]:
        """Return the exact sums of the distances from the lower and the upper bound; private.

        Raises:
            ParameterError: not a sequence of real numbers.
        """
        return self._sums(data)[1]

    def _sums(self, data: object) -> tuple[int, NDArray[np.float64]]:
        """Return the number of records, and the exact sums."""
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        rows, totals = blocks.sum(self._steps)
        exponent = StepGrid.up_to(self.upper - self.lower).exponent
        return rows, np.asarray(np.ldexp(totals, exponent))

    def _steps(self, data: object) -> tuple[int, NDArray[np.float64]]:
        """Return the number of records, and the sums in steps."""
        grid, values = StepGrid.up_to(self.upper - self.lower), values_of(data)
        highest = grid.floor(self.upper - self.lower)
        steps = grid.clipped(values - float(self.lower), 0, highest)
        if self.relation.symmetric:
            steps = np.where(np.isnan(steps), highest // 2, steps)
        steps = steps[~np.isnan(steps)]
        return len(values), np.array([steps.sum(), (highest - steps).sum()])


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
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
        >>> from dpproof.accountant import AddRemove
        >>> total = BoundedSum(scale=500, lower=0, upper=1000, relation=AddRemove())
        >>> total.guarantee().mu
        Fraction(2, 1)
        >>> isinstance(total.release([1, 2000, 3.5]), float)
        True
    """

    def __attrs_post_init__(self) -> None:
        self._query()

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the noise at this sensitivity."""
        return self._noise(self._moved()).guarantee()

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw sums plus noise: float64 of shape (datasets, count)."""
        return self._noise(self._moved()).draw([self.total(data) for data in datasets], count, rng)

    def total(self, data: object) -> float:
        """Return the exact sum of the clipped values; it is private.

        Raises:
            ParameterError: not a sequence of real numbers.
        """
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        return self._query()(blocks.map(self._present))

    def _present(self, data: object) -> NDArray[np.float64]:
        """Return the values that count."""
        values = values_of(data)
        return values if self.relation.symmetric else values[~np.isnan(values)]

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
