"""The rounds that one record can take part in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Final, TypeAlias, final

from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable
from dpproof.mechanisms import parameters
from dpproof.mechanisms.parameters import named

Pattern: TypeAlias = tuple[int, ...]


@final
@frozen
class Schedule:
    """What a participation allows in a number of rounds."""

    rounds: int  # their number
    separation: int  # two rounds of a record are at least so far apart
    participations: int  # a record takes part in at most so many
    fixed: bool  # whether they are a multiple of it apart

    def patterns(self) -> Iterator[Pattern]:
        """Yield sets of rounds, counted from 0, of which every allowed one is a subset."""
        if self.fixed:
            for first in range(self.separation):
                yield tuple(range(first, self.rounds, self.separation))
            return
        stack: list[Pattern] = [(place,) for place in reversed(range(self.rounds))]
        while stack:
            pattern = stack.pop()
            after = range(pattern[-1] + self.separation, self.rounds)
            if len(pattern) == self.participations or not after:
                yield pattern
            else:
                stack.extend((*pattern, place) for place in reversed(after))

    def words(self) -> str:
        """Return it for people."""
        often = "1 round" if self.participations == 1 else f"{self.participations} rounds"
        if self.participations == 1:
            return often
        apart = "a multiple of" if self.fixed else "at least"
        return f"{often} {apart} {self.separation} apart"


class Participation(Readable, ABC):
    """Which rounds one record can take part in."""

    __slots__ = ()

    @abstractmethod
    def within(self, rounds: int) -> Schedule:
        """Return what it allows in so many rounds; refuse a number that does not fit."""


@final
@frozen
class SingleParticipation(Participation):
    """A record takes part in one round at most."""

    def within(self, rounds: int) -> Schedule:
        """Return that."""
        return Schedule(rounds, rounds, 1, fixed=False)


@final
@frozen(field_transformer=named)
class FixedEpochs(Participation):
    """A record takes part once in every epoch, always in the same batch, or in fewer epochs.

    Example:
        >>> list(FixedEpochs(2).within(6).patterns())
        [(0, 3), (1, 4), (2, 5)]
    """

    epochs: int = field(converter=parameters.count)

    def within(self, rounds: int) -> Schedule:
        """Return rounds that are an epoch apart."""
        if rounds % self.epochs:
            raise ParameterError(
                "epochs",
                self.epochs,
                f"a divisor of rounds = {rounds}",
                "MinSeparation(rounds) takes epochs that end within a batch",
            )
        return Schedule(rounds, rounds // self.epochs, self.epochs, fixed=True)


@final
@frozen(field_transformer=named)
class MinSeparation(Participation):
    """A record takes part in rounds that are at least ``rounds`` apart.

    Example:
        >>> list(MinSeparation(3).within(5).patterns())
        [(0, 3), (0, 4), (1, 4), (2,), (3,), (4,)]
    """

    rounds: int = field(converter=parameters.count)
    participations: int | None = field(
        default=None, kw_only=True, converter=parameters.optional_count
    )

    def within(self, rounds: int) -> Schedule:
        """Return as many participations as fit, or are allowed."""
        separation = min(self.rounds, rounds)
        most = -(-rounds // separation)
        allowed = most if self.participations is None else min(self.participations, most)
        return Schedule(rounds, separation, allowed, fixed=False)


PARTICIPATIONS: Final = "SingleParticipation(), FixedEpochs(epochs) or MinSeparation(rounds)"
