"""A witness: a score of outputs, chosen on training samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.counts.counts import PrefixCounts
from dpproof.auditing.trials.sampler import Training

_RATIO = 1.2
_MOST_VALUES = 64
_OVERVIEW = 20


class Score(Protocol):
    """Features of shape (n, coordinates) to scores of shape (n,): no nan, equal rows equal scores.

    Its ``str`` says what it is.
    """

    def __call__(self, features: Floats, /) -> Floats:
        """Score every row by itself."""
        ...


class Witness(ABC):
    """A way to find scores. It sees training samples only.

    Attributes:
        learns: whether its scores are fitted, so that they are ranked on other samples.
    """

    __slots__ = ()

    learns: ClassVar[bool]

    @abstractmethod
    def scores(self, training: Training) -> Iterator[Score]:
        """Yield scores worth trying for these samples, none when the witness does not apply."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Nested events {score >= threshold} (or <=), fixed before the samples are counted.

    Attributes:
        score: the score.
        upwards: whether high scores are in the events, else low ones.
        swapped: whether D and D' change places: the events are hits on D'.
        thresholds: shape (j,), from the smallest event to the largest.
        fitted: whether the score was fitted to training samples.
    """

    score: Score
    upwards: bool
    swapped: bool
    thresholds: Floats
    fitted: bool = False

    @staticmethod
    def about(score: Score, training: Floats, *, upwards: bool, swapped: bool) -> Question:
        """Return a question with thresholds at geometric ranks of the training scores.

        Labels are not used.
        """
        values = np.sort(_signed(score, training, upwards=upwards))[::-1]
        distinct = np.unique(values)[::-1]
        if len(distinct) <= _MOST_VALUES:
            return Question(score, upwards, swapped, distinct)
        steps = int(np.log(len(values)) / np.log(_RATIO)) + 1
        ranks = np.unique(np.minimum(_RATIO ** np.arange(steps), len(values)).astype(int))
        return Question(score, upwards, swapped, np.unique(values[ranks - 1])[::-1])

    @property
    def sides(self) -> tuple[Question, ...]:
        """Return the question itself; a question about both ends of a score returns two."""
        return (self,)

    def overview(self, training: Floats) -> Question:
        """Return the same score with few thresholds that show all of its curve, its tails too."""
        values = np.sort(_signed(self.score, training, upwards=self.upwards))[::-1]
        even = np.linspace(0.0, 1.0, _OVERVIEW, endpoint=False)
        tails = 1 / (1 + np.exp((1 - 2 * even) * np.log(2 * len(values))))
        ranks = (len(values) * np.concatenate([even, tails])).astype(int)
        return replace(self, thresholds=np.unique(values[ranks])[::-1])

    def only(self, position: int | slice) -> Question:
        """Return the question with some of its events."""
        chosen = position if isinstance(position, slice) else slice(position, position + 1)
        return replace(self, thresholds=self.thresholds[chosen])

    def describe(self, position: int) -> str:
        """Return one of the events in words."""
        threshold = float(self.thresholds[position])
        sign = ">=" if self.upwards else "<="
        return f"{self.score} {sign} {threshold if self.upwards else 0.0 - threshold!r}"

    def count(
        self, features: Floats, labels: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of rows in each event, and the number of hits among these.

        Args:
            features: shape (n, coordinates).
            labels: shape (n,), True where the row is from D.
        """
        cell = self.cell(features)
        cells = len(self.thresholds) + 1
        inside = np.bincount(cell, minlength=cells)[:-1].cumsum()
        hits = np.bincount(cell[labels != self.swapped], minlength=cells)[:-1].cumsum()
        return inside, hits

    def cell(self, features: Floats) -> NDArray[np.int64]:
        """Return the position of the smallest event that contains each row.

        The last position is outside of all.
        """
        values = _signed(self.score, features, upwards=self.upwards)
        return np.searchsorted(-self.thresholds, -values, side="left")

    def same_score(self, other: object) -> bool:
        """Return whether two questions differ by their thresholds at most."""
        if not isinstance(other, Question):
            return False
        same_side = self.upwards == other.upwards and self.swapped == other.swapped
        return self.score is other.score and same_side

    def counts(
        self, inside: NDArray[np.int64], hits: NDArray[np.int64], on_data: int, on_neighbour: int
    ) -> PrefixCounts:
        """Return the sums of ``count`` as counts, with the trials in the order of the datasets."""
        first, second = (on_neighbour, on_data) if self.swapped else (on_data, on_neighbour)
        return PrefixCounts(tuple(inside.tolist()), tuple(hits.tolist()), first, second)


def _signed(score: Score, features: Floats, *, upwards: bool) -> Floats:
    values = np.asarray(score(features), dtype=np.float64)
    if values.shape != (len(features),) or np.isnan(values).any():
        raise ParameterError("score", str(score), "one number for every row, none of them nan")
    return values if upwards else -values


def log_odds(on_data: NDArray[Any], on_neighbour: NDArray[Any]) -> Floats:
    """Return smoothed log-odds of counts: half an observation added to each."""
    return np.asarray(np.log(on_data + 0.5) - np.log(on_neighbour + 0.5), dtype=np.float64)
