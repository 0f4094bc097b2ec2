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


@final
@dataclass(frozen=True, slots=True)
class WithReplacement(Readable):
    """``sample_size`` independent uniform draws of the records, each counted as often as drawn."""

    sample_size: int
    population_size: int

    def __init__(self, *, sample_size: int, population_size: int) -> None:
        """Keep both whole numbers; there are at least two records."""
        object.__setattr__(self, "sample_size", arguments.count(sample_size=sample_size))
        population = arguments.count(population_size=population_size)
        if population == 1:
            raise ParameterError("population_size", 1, "at least 2")
        object.__setattr__(self, "population_size", population)


@final
@dataclass(frozen=True, slots=True)
class TruncatedPoisson(Readable):
    """A Poisson sample, cut to a uniform subset of ``largest`` records where it has more.

    ``population_size`` is the number of records at hand.
    """

    sampling_rate: Fraction
    largest: int
    population_size: int

    def __init__(self, *, sampling_rate: Number, largest: int, population_size: int) -> None:
        """Keep the exact rate, below 1, and both whole numbers."""
        rate = arguments.rate(sampling_rate=sampling_rate)
        if rate == 1:
            hint = "WithoutReplacement(sample_size=...) draws a subset of all records"
            raise ParameterError("sampling_rate", sampling_rate, "below 1", hint)
        object.__setattr__(self, "sampling_rate", rate)
        object.__setattr__(self, "largest", arguments.count(largest=largest))
        size = arguments.count(population_size=population_size)
        object.__setattr__(self, "population_size", size)


@final
@dataclass(frozen=True, slots=True)
class UserPoisson(Readable):
    """``contributions`` chances of every record to count, each taken with ``sampling_rate``.

    As many Poisson samples are drawn, and a record counts as often as it is in one of them:
    micro-batches that are added up before noise is added. A user who owns at most so many records
    of one Poisson sample counts at most as often.
    """

    sampling_rate: Fraction
    contributions: int

    def __init__(self, *, sampling_rate: Number, contributions: int) -> None:
        """Keep the exact rate, in (0, 1), and the whole number."""
        rate = arguments.rate(sampling_rate=sampling_rate)
        if rate == 1:
            hint = "at rate 1 nothing is drawn: state the sensitivity of all contributions"
            raise ParameterError("sampling_rate", sampling_rate, "below 1", hint)
        object.__setattr__(self, "sampling_rate", rate)
        object.__setattr__(self, "contributions", arguments.count(contributions=contributions))


CountedScheme = UserPoisson | WithReplacement | TruncatedPoisson
"""Schemes under which a record counts several times, or pushes another one out."""

OneStepScheme = WithoutReplacement | CountedScheme
SamplingScheme = Poisson | OneStepScheme


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


@final
@dataclass(frozen=True, slots=True)
class RandomAllocation(Readable):
    """A scheme in which every record joins ``chosen`` of ``steps`` rounds, uniformly, by itself.

    No record's rounds depend on another's, so that the sizes of batches are random.
    ``.repeat(E)`` draws new rounds E times.
    """

    steps: int
    chosen: int

    def __init__(self, *, steps: int, chosen: int = 1) -> None:
        """Keep both whole numbers, from 1, with chosen at most steps."""
        total, some = arguments.count(steps=steps), arguments.count(chosen=chosen)
        if some > total:
            raise ParameterError("chosen", chosen, f"at most steps = {total}")
        object.__setattr__(self, "steps", total)
        object.__setattr__(self, "chosen", some)


@final
@dataclass(frozen=True, slots=True)
class BallsInBins(Readable):
    """A scheme in which every record joins one of ``steps`` rounds, by itself, for ``epochs``.

    The round is drawn once and kept, so that all epochs have the same batches; a
    ``RandomAllocation`` that is repeated draws anew.
    """

    steps: int
    epochs: int

    def __init__(self, *, steps: int, epochs: int) -> None:
        """Keep both whole numbers, from 1."""
        object.__setattr__(self, "steps", arguments.count(steps=steps))
        object.__setattr__(self, "epochs", arguments.count(epochs=epochs))


@final
@dataclass(frozen=True, slots=True)
class CyclicPoisson(Readable):
    """A scheme in which every record belongs to one of ``cycle`` parts, and round i asks one part.

    That is part i mod ``cycle``, and every record of it enters the round independently with
    probability ``sampling_rate``: the rate within the part, batch size times cycle over records.
    """

    sampling_rate: Fraction
    cycle: int

    def __init__(self, *, sampling_rate: Number, cycle: int) -> None:
        """Keep the exact rate, below 1, and the whole number of parts."""
        rate = arguments.rate(sampling_rate=sampling_rate)
        if rate == 1:
            hint = "at rate 1 nothing is drawn: MinSeparation(cycle) says when a record takes part"
            raise ParameterError("sampling_rate", sampling_rate, "below 1", hint)
        object.__setattr__(self, "sampling_rate", rate)
        object.__setattr__(self, "cycle", arguments.count(cycle=cycle))


EpochScheme = ShuffledBatches | RandomAllocation | BallsInBins


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
