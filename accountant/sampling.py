"""Schemes that draw the records of a run."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable

MOST_RECORDS: Final = 10**8  # Of the shuffle model, so that tables stay short.


@final
@dataclass(frozen=True, slots=True)
class Poisson(Readable):
    """A scheme in which every record enters independently with probability ``sampling_rate``.

    The batch size is random; a shuffled or fixed-size batch is a different scheme.
    """

    sampling_rate: Fraction

    def __init__(self, *, sampling_rate: Number) -> None:
        """Keep the exact rate, in (0, 1]."""
        object.__setattr__(self, "sampling_rate", arguments.rate(sampling_rate=sampling_rate))


@final
@dataclass(frozen=True, slots=True)
class WithoutReplacement(Readable):
    """A uniformly random subset of exactly ``sample_size`` of the ``population_size`` records."""

    sample_size: int
    population_size: int

    def __init__(self, *, sample_size: int, population_size: int) -> None:
        """Keep both whole numbers, with sample_size at most population_size."""
        size = arguments.count(sample_size=sample_size)
        population = arguments.count(population_size=population_size)
        if size > population:
            raise ParameterError(
                "sample_size", sample_size, f"at most population_size = {population}"
            )
        object.__setattr__(self, "sample_size", size)
        object.__setattr__(self, "population_size", population)

    @property
    def sampling_rate(self) -> Fraction:
        """Return the probability that a given record is in the sample."""
        return Fraction(self.sample_size, self.population_size)


SamplingScheme = Poisson | WithoutReplacement


@final
@dataclass(frozen=True, slots=True)
class ShuffledBatches(Readable):
    """A scheme in which a random order of all records fills ``batches`` batches, one after another.

    Every record is in exactly one batch of an epoch. The order is kept for ``epochs`` epochs;
    ``.repeat(E)`` draws a new one E times, as ``DataLoader(shuffle=True)`` does.
    """

    batches: int
    epochs: int

    def __init__(self, *, batches: int, epochs: int = 1) -> None:
        """Keep both whole numbers, from 1."""
        object.__setattr__(self, "batches", arguments.count(batches=batches))
        object.__setattr__(self, "epochs", arguments.count(epochs=epochs))


EpochScheme = ShuffledBatches


@final
@dataclass(frozen=True, slots=True)
class Shuffle(Readable):
    """A scheme in which every one of ``records`` persons reports alone, in a random order.

    Of the reports nothing is revealed but their uniformly random order: who sent which is not.
    """

    records: int

    def __init__(self, *, records: int) -> None:
        """Keep the public number of records, from 1 to 10^8."""
        total = arguments.count(records=records)
        if total > MOST_RECORDS:
            raise ParameterError("records", records, f"at most {MOST_RECORDS}")
        object.__setattr__(self, "records", total)
