"""Guessing both datasets at once: D where a score is high, D' where it is low."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.counts.counts import Design, PrefixCounts
from dpproof.auditing.witnesses.witness import Question, Score


@final
@dataclass(frozen=True, slots=True, eq=False)
class BothSides:
    """The nested events of two questions about one score, from its two ends, never overlapping.

    A hit is a right guess. Where both ends tell as much, that is twice the counts of one.

    Attributes:
        first: events from one end, where one dataset is guessed.
        second: as many from the other end, where the other dataset is guessed.
        fitted: whether the score was fitted to training samples.
    """

    first: Question
    second: Question
    fitted: bool = False

    @property
    def score(self) -> Score:
        """Return the score whose two ends are used."""
        return self.first.score

    @property
    def thresholds(self) -> Floats:
        """Return the thresholds of the first question, one for each pair of events."""
        return self.first.thresholds

    @property
    def sides(self) -> tuple[Question, ...]:
        """Return the two questions, one for each end."""
        return self.first, self.second

    @property
    def swapped(self) -> bool:
        """Return whether the first question guesses D'."""
        return self.first.swapped

    def only(self, position: int | slice) -> BothSides:
        """Return the question with some of its pairs of events."""
        return BothSides(self.first.only(position), self.second.only(position), self.fitted)

    def overview(self, training: Floats) -> Question:
        """Return a question with all of the score's curve, from the first end."""
        return self.first.overview(training)

    def describe(self, position: int) -> str:
        """Return one of the pairs of events in words."""
        return f"{self.first.describe(position)} or {self.second.describe(position)}"

    def count(
        self, features: Floats, labels: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of guesses with each pair, and the number of right ones among these."""
        first, second = (side.count(features, labels) for side in (self.first, self.second))
        return first[0] + second[0], first[1] + second[1]

    def counts(
        self, inside: NDArray[np.int64], hits: NDArray[np.int64], on_data: int, on_neighbour: int
    ) -> PrefixCounts:
        """Return the counts that ``count`` found in all."""
        wrong = int((inside - hits).max(initial=0))
        total = on_data + on_neighbour
        return PrefixCounts(
            tuple(inside.tolist()), tuple(hits.tolist()), total - wrong, wrong, Design.GUESSES
        )


Ranked = tuple[Question, PrefixCounts]


def both_sides(ranked: Sequence[Ranked]) -> list[tuple[BothSides, PrefixCounts]]:
    """Return pairs of facing questions about one score, as far as they do not overlap."""
    tables = []
    for (first, one), (second, other) in combinations(ranked, 2):
        facing = first.upwards != second.upwards and first.swapped != second.swapped
        if first.score is not second.score or not facing:
            continue
        size = min(len(first.thresholds), len(second.thresholds))
        # One counts thresholds of the score, the other of minus the score.
        apart = first.thresholds[:size] > -second.thresholds[:size]
        if not apart.any():
            continue
        size = size if apart.all() else int(np.argmin(apart))
        if size == 0:
            continue
        sides = BothSides(first.only(slice(size)), second.only(slice(size)), first.fitted)
        inside = np.array(one.inside[:size]) + np.array(other.inside[:size])
        hits = np.array(one.hits[:size]) + np.array(other.hits[:size])
        tables.append((sides, sides.counts(inside, hits, one.trials, one.other_trials)))
    return tables
