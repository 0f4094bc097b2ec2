"""The common base of learners that add up bounded contributions: accounting, data, runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import (
    Batches,
    Contributions,
    NoisySums,
)
from dpproof.mechanisms.learning.grid import row_width
from dpproof.mechanisms.learning.halfspace import signs
from dpproof.mechanisms.learning.records import GridRecords, on_grid
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng


@frozen(kw_only=True, repr=False, field_transformer=named)
class SumLearner(Mechanism[R], ABC):
    """A learner whose states follow from noisy sums of contributions, a fixed number of times."""

    relation: R = field(validator=parameters.neighbours)
    average: bool = field(default=True, converter=parameters.flag)
    features: int | None = field(default=None, converter=row_width)

    @property
    @abstractmethod
    def norm(self) -> Fraction | None:
        """Return the norm that rows are clipped to; None scales them to norm 1."""

    @abstractmethod
    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""

    def _encode(self, labels: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class numbers of the labels, by default of 1 and -1; -1 for an unknown one."""
        return signs(labels)

    @abstractmethod
    def _contributions(self, records: GridRecords) -> Contributions:
        """Return the contributions of the records of one dataset."""

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the noisy sums of all steps, and so of every function of them.

        Raises:
            NotImplied: no theorem covers a sample of a step under the relation.
        """
        return self.sums().guarantee("the learner's rule for its next state")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        sums = self.sums()
        found = [Batches(sums.scheme, self._read(data)) for data in datasets]
        return np.stack(
            [
                sums.run(
                    self._contributions(batches.records),
                    batches,
                    count,
                    average=self.average,
                    rng=rng,
                )
                for batches in found
            ]
        )

    @final
    def contributions(self, data: object) -> Contributions:
        """Return the contributions of the records of one dataset, for tests and audits.

        Raises:
            ParameterError: the data is not labelled rows of the right width.
        """
        return self._contributions(self._read(data))

    def _read(self, data: object) -> GridRecords:
        """Put the labelled rows on the grid in units of the norm bound."""
        norm = None if self.norm is None else float(self.norm)
        return on_grid(data, self._encode, norm=norm, features=self.features)

    @property
    @final
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units: 1 if rows are scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm
