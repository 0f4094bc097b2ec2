"""Which records of a dataset take part in a step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation, ReplaceOne
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sampling.scheme import SamplingScheme
from dpproof.accountant.sampling.without_replacement import WithoutReplacement
from dpproof.mechanisms.learning.records import GridRecords
from dpproof.mechanisms.samplers import poisson_mask, subset_without_replacement
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Batches:
    """The samples of one dataset, drawn afresh for every step of every run.

    A fixed-size sample is drawn from all records of the data, also those that contribute nothing
    because they are blank or malformed: whether a record contributes must not change how the
    others are drawn. Under Poisson sampling it does not, so these take no coins.

    Raises:
        ParameterError: the data has not as many records as the scheme's population.
    """

    scheme: SamplingScheme
    records: GridRecords

    def __post_init__(self) -> None:
        """Refuse another number of records, which is public wherever sizes are fixed."""
        if isinstance(self.scheme, WithoutReplacement):
            population = self.scheme.population_size
            if self.records.total != population:
                raise ParameterError("data", self.records.total, f"{population} records")

    def chosen(self, runs: int, rng: Rng) -> NDArray[np.bool_] | None:
        """Which of the contributing records each run takes: (runs, records); None for all."""
        if self.scheme.sampling_rate == 1:
            return None
        if isinstance(self.scheme, Poisson):
            size = len(self.records)
            mask = poisson_mask(runs * size, self.scheme.sampling_rate, rng)
            return mask.reshape(runs, size)
        drawn = np.zeros((runs, self.records.total), dtype=np.bool_)
        for run in drawn:
            run[subset_without_replacement(len(run), self.scheme.sample_size, rng)] = True
        return drawn[:, self.records.positions]


def scheme_of(rate: Fraction, batch: WithoutReplacement | None) -> SamplingScheme:
    """The scheme that a learner's two parameters stand for."""
    return Poisson(sampling_rate=rate) if batch is None else batch


def fixed_size(batch: object, *, rate: object, relation: Relation) -> WithoutReplacement | None:
    """The scheme of fixed-size batches, or None for Poisson samples of the rate.

    Raises:
        ParameterError: not a scheme, a rate beside it, or another relation than replace-one, under
            which the number of records is not public.
    """
    if batch is None:
        return None
    if not isinstance(batch, WithoutReplacement):
        allowed = "WithoutReplacement(sample_size=..., population_size=...) or None"
        raise ParameterError("batch", batch, allowed, "rate= is for Poisson samples")
    if not isinstance(relation, ReplaceOne):
        raise ParameterError(
            "batch", batch, f"None under {relation}", "give relation=ReplaceOne(), or rate="
        )
    if rate != 1:
        raise ParameterError("rate", rate, "left out with batch=", "the batch has a fixed size")
    return batch
