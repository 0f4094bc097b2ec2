"""The common base of learners that add up bounded contributions: accounting, data, runs."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.sampling import Poisson, WithoutReplacement
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import BlockError, Blocks, added
from dpproof.mechanisms.learning.bounded_updates import (
    Adding,
    Batches,
    Contributions,
    NoisySums,
    Totals,
    require_fixed_size,
)
from dpproof.mechanisms.learning.grid import row_width
from dpproof.mechanisms.learning.halfspace import signs
from dpproof.mechanisms.learning.records import GridRecords, as_records, empty, on_grid
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng


def _size(learner: SumLearner[Any], data: object) -> tuple[int, int, int]:
    """Return the number of records, their width on the grid, and 1."""
    records = as_records(data, learner.features)
    return len(records), learner.contributions(records[:0]).grid.vectors.shape[1], 1


def _added(
    learner: SumLearner[Any],
    states: NDArray[np.float64],
    data: object,
    chosen: NDArray[np.bool_] | None = None,
) -> tuple[int, NDArray[np.float64], NDArray[np.int64]]:
    """Return the number of records of a part of a block, and their totals."""
    found = learner.contributions(data)
    totals = found.totals(states, chosen)
    return found.grid.total, totals.sums, totals.counts


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InBlocks(Contributions):
    """The contributions of records in blocks, added up where the blocks lie.

    Attributes:
        learner: of which they are.
        like: the contributions of no records, of the same width and total.
        blocks: of data.
        sizes: of the blocks.
    """

    learner: SumLearner[Any]
    like: Contributions
    blocks: Blocks
    sizes: tuple[int, ...]

    @property
    def grid(self) -> GridRecords:  # type: ignore[override]  # a field of others
        """Return no records, with the number of all."""
        return self.like.grid

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one state."""
        return self.like.shape

    def at(self, states: NDArray[np.float64]) -> Adding:
        """Return what adds up contributions."""
        return self.like.at(states)

    def totals(self, states: NDArray[np.float64], chosen: NDArray[np.bool_] | None) -> Totals:
        """Add up the totals of the blocks."""
        ends = np.cumsum(self.sizes)[:-1]
        beside = () if chosen is None else (np.split(chosen, ends, axis=1),)
        work = functools.partial(_added, self.learner, states)
        records, sums, counts = self.blocks.sum(work, *beside)
        if records != self.grid.total:
            raise BlockError("the blocks do not have the records that they had before")
        return Totals(sums, counts)

    def advance(
        self, states: NDArray[np.float64], noisy: NDArray[np.float64], step: int
    ) -> NDArray[np.float64]:
        """Return the next states, as of the learner."""
        return self.like.advance(states, noisy, step)


@frozen(kw_only=True, repr=False, field_transformer=named)
class SumLearner(Mechanism[R], ABC):
    """A learner whose states follow from noisy sums of contributions, a fixed number of times."""

    whole = ""

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
        sums, runs = self.sums(), []
        for data in datasets:
            read = self.contributions(data)
            batches = Batches(sums.scheme, read.grid.total)
            runs.append(sums.run(read, batches, count, average=self.average, rng=rng))
        return np.stack(runs)

    @final
    def contributions(self, data: object) -> Contributions:
        """Return the contributions of the records of one dataset, for tests and audits.

        Raises:
            ParameterError: the data is not labelled rows of the right width.
        """
        if not isinstance(data, Blocks) or data.records is not None:
            return self._contributions(self._read(data))
        sizes = data.each(functools.partial(_size, self))
        total, width, pieces = added(sizes)
        like = self._contributions(empty(total, width // pieces))
        return InBlocks(self, like, data, tuple(one.parts[0] for one in sizes))

    def _read(self, data: object) -> GridRecords:
        """Put the labelled rows on the grid in units of the norm bound."""
        norm = None if self.norm is None else float(self.norm)
        return on_grid(data, self._encode, norm=norm, features=self.features, compact=True)

    @property
    @final
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units: 1 if rows are scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm


@frozen(kw_only=True, repr=False, field_transformer=named)
class StepLearner(SumLearner[R], ABC):
    """A learner whose every step sees all records, a Poisson sample, or one of a fixed size."""

    steps: int = field(converter=parameters.count)
    sigma: Fraction = field(converter=parameters.scale)
    rate: Fraction = field(default=Fraction(1), converter=parameters.rate)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    batch: WithoutReplacement | None = field(default=None)

    @batch.validator
    def _is_public(self, _parameter: object, batch: object) -> None:
        require_fixed_size(batch, rate=self.rate, relation=self.relation)

    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        scheme = Poisson(sampling_rate=self.rate) if self.batch is None else self.batch
        return NoisySums(
            scheme=scheme,
            steps=self.steps,
            sigma=self.sigma,
            norm=self._unit,
            relation=self.relation,
        )
