"""A witness: a score of outputs, chosen on training samples, and its smoothed odds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, ClassVar, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.auditing.counts import Design, Floats, PrefixCounts
from dpproof.auditing.trials.sampler import Training

_RATIO, _MOST_VALUES, _OVERVIEW = 1.2, 64, 20


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
    """Nested events {score >= threshold} (or <=), fixed before the samples are counted."""

    score: Score  # the score
    upwards: bool  # whether high scores are in the events, else low ones
    swapped: bool  # whether D and D' change places: the events are hits on D'
    thresholds: Floats  # shape (j,), from the smallest event to the largest
    fitted: bool = False  # whether the score was fitted to training samples

    @staticmethod
    def about(score: Score, training: Floats, *, upwards: bool, swapped: bool) -> Question:
        """Return a question with thresholds at geometric ranks of the scores, labels unseen."""
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
        """Return the number of rows in each event, and the number of hits among these."""
        cell = self.cell(features)
        cells = len(self.thresholds) + 1
        inside = np.bincount(cell, minlength=cells)[:-1].cumsum()
        hits = np.bincount(cell[labels != self.swapped], minlength=cells)[:-1].cumsum()
        return inside, hits

    def cell(self, features: Floats) -> NDArray[np.int64]:
        """Return the position of the smallest event that contains each row, the last if none."""
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class BothSides:
    """The nested events of two questions about one score, from its two ends, never overlapping."""

    first: Question  # events from one end, where one dataset is guessed
    second: Question  # as many from the other end, where the other dataset is guessed
    fitted: bool = False  # whether the score was fitted to training samples

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


_CELLS = 256
# Where a line may begin to rise, and, mirrored, where it may end: shares of the training scores.
_EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.85, 0.93)
# How likely it is beforehand that a line has no flat parts, or two of the same share.
_STRAIGHT, _EVEN = 0.5, 0.3
_STEPS, _LARGEST_STEP = 12, 1.0
# Keeps the slope finite where a score separates the datasets: as much as a tenth of a trial.
_PENALTY, _MOST_ODDS = 0.1, 50.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class SmoothOdds:
    """Log-odds of D given a score: a mixture of lines that are flat outside of an interval."""

    # Gaussian noise has a straight line, Laplace noise one that is flat at both ends, a rarely
    # sampled record one flat up to the upper tail. Each is fitted by maximum likelihood, and
    # weighted with it. It chooses events and tests nothing: a bad fit is a weak choice.

    left: Floats  # shape (m,), where each line begins to rise
    right: Floats  # shape (m,), where it ends
    centre: Floats  # shape (m,), the score about which its slope is uncertain
    level: Floats  # shape (m,), log-odds there
    slope: Floats  # shape (m,)
    error: Floats  # shape (m,), standard deviation of the slope
    weight: Floats  # shape (m,), sum 1

    @staticmethod
    def of(scores: Floats, labels: NDArray[np.bool_]) -> SmoothOdds | None:
        """Return the fitted odds; None if fewer than two finite scores differ."""
        order = np.argsort(scores, kind="stable")
        order = order[np.isfinite(scores[order])]
        scores, labels = scores[order], labels[order]
        lines = _lines(scores)
        if not lines:
            return None
        left, right, prior = np.array(lines).T
        starts = np.unique(np.linspace(0, scores.size, _CELLS, endpoint=False).astype(int))
        trials = np.diff(starts, append=scores.size).astype(np.float64)
        means = np.add.reduceat(scores, starts) / trials
        hits = np.add.reduceat(labels.astype(np.float64), starts)
        clipped = np.clip(means, left[:, None], right[:, None])
        centre, level, slope, error, fit = _fitted(clipped, trials, hits)
        weight = prior * np.exp(fit - fit.max())
        return SmoothOdds(left, right, centre, level, slope, error, weight / weight.sum())

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the log-odds of every score, and their uncertainty as a standard deviation."""
        mean, square = np.zeros(scores.shape), np.zeros(scores.shape)
        for j in np.flatnonzero(self.weight > 1e-3):
            apart = np.clip(scores, self.left[j], self.right[j]) - self.centre[j]
            odds = self.level[j] + self.slope[j] * apart
            mean += self.weight[j] * odds
            square += self.weight[j] * (odds**2 + (self.error[j] * apart) ** 2)
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))

    def knots(self) -> tuple[Floats, Floats]:
        """Return the bends of the piecewise linear log-odds, and their values there."""
        places = np.unique(np.concatenate([self.left, self.right]))
        return places, self(places)[0]


def _lines(scores: Floats) -> list[tuple[float, float, float]]:
    """Return intervals in which a line may rise, each with its prior; scores increase."""
    last = scores.size - 1
    low = [float(scores[round(share * last)]) for share in _EDGES] if scores.size else []
    high = [float(scores[round((1 - share) * last)]) for share in _EDGES] if scores.size else []
    places = range(len(low))
    pairs = [(i, j) for i, j in product(places, repeat=2) if low[i] < high[j]]
    even = sum(0 < i == j for i, j in pairs)
    uneven = sum(i != j for i, j in pairs)
    lines = []
    for i, j in pairs:
        rest = (1 - _STRAIGHT - _EVEN) / uneven if i != j else _EVEN / max(even, 1)
        lines.append((low[i], high[j], _STRAIGHT if i == j == 0 else rest))
    return lines


def _fitted(
    scores: Floats, trials: Floats, hits: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return centre, level, slope and its error, and log-likelihood of one line a row: Newton."""
    half = 0.5 * trials.sum()
    middle = scores @ trials / trials.sum()
    deviations = scores - middle[:, None]
    scale = np.sqrt(deviations**2 @ trials / trials.sum())
    scale = np.where(scale > 0, scale, 1.0)
    x = deviations / scale[:, None]
    level, slope = np.zeros(len(x)), np.zeros(len(x))
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-_odds(level, slope, x)))
        information = trials * p * (1 - p) + 1e-12
        centre = (information * x).sum(axis=1) / information.sum(axis=1)
        apart = x - centre[:, None]
        precision = (information * apart**2).sum(axis=1) + _PENALTY
        rise = ((hits - trials * p) * apart).sum(axis=1) - _PENALTY * slope
        missing = (half - p @ trials) / information.sum(axis=1)
        step = np.clip(rise / precision, -_LARGEST_STEP, _LARGEST_STEP)
        slope = slope + step
        level = level - centre * step + np.clip(missing, -_LARGEST_STEP, _LARGEST_STEP)
    odds = _odds(level, slope, x)
    fit = odds @ hits - np.logaddexp(0, odds) @ trials
    at_centre = level + slope * centre
    return middle + scale * centre, at_centre, slope / scale, 1 / (np.sqrt(precision) * scale), fit


def _odds(level: Floats, slope: Floats, x: Floats) -> Floats:
    return np.clip(level[:, None] + slope[:, None] * x, -_MOST_ODDS, _MOST_ODDS)
