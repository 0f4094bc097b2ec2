"""The common base of learners that add up bounded contributions: accounting, data, runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Required, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R, require_relation
from dpproof.mechanisms.learning.bounded_updates import (
    Batches,
    Contributions,
    NoisySums,
    fixed_size,
)
from dpproof.mechanisms.learning.grid import WIDEST
from dpproof.mechanisms.learning.halfspace import signs
from dpproof.mechanisms.learning.records import GridRecords, on_grid
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import scale


class SumArguments(TypedDict, total=False):
    """Arguments of the constructors of learners with several noisy sums."""

    steps: Required[int]
    sigma: Required[Number]
    norm: Number | None
    average: bool
    features: int | None


class SumLearner(Mechanism[R], ABC):
    """A learner whose states follow from noisy sums of contributions, a fixed number of times."""

    __slots__ = ()

    norm: Fraction | None
    relation: R
    average: bool
    features: int | None

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


def checked(
    *,
    rate: object,
    steps: object,
    sigma: object,
    norm: object,
    relation: object,
    average: object,
    features: object,
    batch: object = None,
) -> dict[str, object]:
    """Return the parameters that learners share, by their field names, each in its domain.

    Raises:
        ParameterError: one of them is not.
    """
    if not isinstance(average, bool):
        raise ParameterError("average", average, "True or False")
    width = None if features is None else check.count(features=features)
    if width is not None and width > WIDEST:
        raise ParameterError("features", features, f"at most {WIDEST}")
    neighbours = require_relation(relation)
    return {
        "rate": check.rate(rate=rate),
        "batch": fixed_size(batch, rate=rate, relation=neighbours),
        "steps": check.count(steps=steps),
        "sigma": scale(sigma=sigma),
        "norm": None if norm is None else scale(norm=norm),
        "relation": neighbours,
        "average": average,
        "features": width,
    }
