"""A smooth guess of how a score tells two datasets apart, to choose where to look."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.auditing.counts.binomial import Floats

_CELLS = 256
# Where a line may begin to rise, and, mirrored, where it may end: shares of the training scores.
_EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.85, 0.93)
# How likely it is beforehand that a line has no flat parts, or two of the same share.
_STRAIGHT, _EVEN = 0.5, 0.3
_STEPS = 12
_LARGEST_STEP = 1.0
# Keeps the slope finite where a score separates the datasets: as much as a tenth of a trial.
_PENALTY = 0.1
_MOST_ODDS = 50.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class SmoothOdds:
    """Log-odds of D given a score: a mixture of lines that are flat outside of an interval.

    Gaussian noise has a straight line, Laplace noise one that is flat at both ends, a record that
    is rarely sampled one that is flat up to the upper tail. Each is fitted by maximum likelihood,
    given that half of all trials are on D, and weighted with it. It chooses events and tests
    nothing: a bad fit is a weak choice.

    Attributes:
        left: shape (m,), where each line begins to rise.
        right: shape (m,), where it ends.
        centre: shape (m,), the score about which its slope is uncertain.
        level: shape (m,), log-odds there.
        slope: shape (m,).
        error: shape (m,), standard deviation of the slope.
        weight: shape (m,), sum 1.
    """

    left: Floats
    right: Floats
    centre: Floats
    level: Floats
    slope: Floats
    error: Floats
    weight: Floats

    @staticmethod
    def of(scores: Floats, labels: NDArray[np.bool_]) -> SmoothOdds | None:
        """Return the odds fitted to training samples.

        They are None where fewer than two finite scores differ.
        """
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
