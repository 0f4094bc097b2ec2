"""Counts of an event on each of two datasets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError


@final
class Design(Enum):
    """The rule that assigns trials to the two datasets, and the definition of a hit."""

    COIN = "a fair coin for every trial"
    FIXED = "numbers fixed in advance"
    GUESSES = "a fair coin for every trial; hits are right guesses of it, of either dataset"
    ONE_RUN = "a fair coin for every canary of one run; hits are right guesses of it"

    def marked(self, delta: Number) -> Fraction:
        """Return the largest probability that a coin trial is a hit which only delta explains.

        Raises:
            ParameterError: there were no coins.
        """
        if self is Design.FIXED:
            raise ParameterError("counts.design", self, "by coins", "use Rectangle or TwoSample")
        return arguments.probability(delta=delta) / (2 if self is Design.COIN else 1)

    def compare(self) -> None:
        """Make sure that hits and other hits are of one event on two datasets.

        Raises:
            ParameterError: they are guesses.
        """
        if self in (Design.GUESSES, Design.ONE_RUN):
            raise ParameterError("counts.design", self, "one event", "use RandomisedLabel")


@final
@dataclass(frozen=True, slots=True)
class EventCounts:
    """Trials of an event S that was fixed before they were drawn.

    Attributes:
        hits: trials on D whose output was in S.
        trials: trials on D.
        other_hits: trials on D' whose output was in S.
        other_trials: trials on D'.
        design: whether the numbers of trials were drawn by coins or fixed. Of guesses, the hits
            are right and the other hits wrong, and only the sum of the trials means anything.
    """

    hits: int
    trials: int
    other_hits: int
    other_trials: int
    design: Design = Design.COIN

    def __post_init__(self) -> None:
        for name in ("trials", "other_trials", "hits", "other_hits"):
            arguments.whole(**{name: getattr(self, name)})
        if self.design is Design.ONE_RUN:
            raise ParameterError("design", self.design, "of trials", "use PrefixCounts")
        if self.hits > self.trials:
            raise ParameterError("hits", self.hits, f"at most {self.trials} trials")
        if self.other_hits > self.other_trials:
            raise ParameterError("other_hits", self.other_hits, f"at most {self.other_trials}")

    @property
    def total(self) -> int:
        """Return the number of trials on both datasets."""
        return self.trials + self.other_trials

    def reversed(self) -> EventCounts:
        """Return the same event with the datasets exchanged."""
        return EventCounts(self.other_hits, self.other_trials, self.hits, self.trials, self.design)

    def complement(self) -> EventCounts:
        """Return the counts of the complementary event."""
        return EventCounts(
            self.trials - self.hits,
            self.trials,
            self.other_trials - self.other_hits,
            self.other_trials,
            self.design,
        )


@final
@dataclass(frozen=True, slots=True)
class PrefixCounts:
    """Coin trials sorted into nested events S_1 < S_2 < ... that were fixed in advance.

    Attributes:
        inside: trials in S_j, increasing; a function of the outputs alone.
        hits: those of them that were on D.
        trials: all trials on D.
        other_trials: all trials on D'.
        design: ``COIN``, ``GUESSES`` or ``ONE_RUN``; only ``COIN`` tells the trials apart.
    """

    inside: tuple[int, ...]
    hits: tuple[int, ...]
    trials: int
    other_trials: int
    design: Design = Design.COIN

    def __post_init__(self) -> None:
        self.design.marked(0)
        if len(self.inside) != len(self.hits) or list(self.inside) != sorted(self.inside):
            raise ParameterError("inside", self.inside, "increasing, one number for each event")
        steps = zip((0, *self.inside), self.inside, (0, *self.hits), self.hits, strict=False)
        if any(not 0 <= h2 - h1 <= k2 - k1 for k1, k2, h1, h2 in steps):
            raise ParameterError("hits", self.hits, "counted inside the same nested events")

    @property
    def total(self) -> int:
        """Return the number of trials on both datasets."""
        return self.trials + self.other_trials

    def event(self, position: int) -> EventCounts:
        """Return the counts of one of the events; to test it, it has to be chosen in advance."""
        hits = self.hits[position]
        return EventCounts(
            hits, self.trials, self.inside[position] - hits, self.other_trials, self.design
        )

    def plus(self, more: PrefixCounts) -> PrefixCounts:
        """Return the counts with further trials of the same events added."""
        return PrefixCounts(
            tuple(a + b for a, b in zip(self.inside, more.inside, strict=True)),
            tuple(a + b for a, b in zip(self.hits, more.hits, strict=True)),
            self.trials + more.trials,
            self.other_trials + more.other_trials,
            self.design,
        )


@final
@dataclass(frozen=True, slots=True)
class BinCounts:
    """Trials in every bin of a partition that was fixed before they were drawn.

    Attributes:
        hits: for every bin, trials on D whose output was in it.
        other_hits: for every bin, trials on D' whose output was in it.
    """

    hits: tuple[int, ...]
    other_hits: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("hits", "other_hits"):
            for number in getattr(self, name):
                arguments.whole(**{name: number})
        if not self.hits or len(self.hits) != len(self.other_hits):
            raise ParameterError("hits", self.hits, "one number for each bin, on either dataset")

    @staticmethod
    def between(counts: PrefixCounts) -> BinCounts:
        """Return the bins between nested events, and the rest outside of all."""
        counts.design.compare()
        others = [inside - hit for inside, hit in zip(counts.inside, counts.hits, strict=True)]
        return BinCounts(
            _differences([*counts.hits, counts.trials]),
            _differences([*others, counts.other_trials]),
        )

    @property
    def trials(self) -> int:
        """Return the number of trials on D."""
        return sum(self.hits)

    @property
    def other_trials(self) -> int:
        """Return the number of trials on D'."""
        return sum(self.other_hits)

    def reversed(self) -> BinCounts:
        """Return the same bins with the datasets exchanged."""
        return BinCounts(self.other_hits, self.hits)


def _differences(increasing: list[int]) -> tuple[int, ...]:
    return tuple(last - first for first, last in pairwise([0, *increasing]))
