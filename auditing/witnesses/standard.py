"""Coordinates on one scale, learned from training samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.coordinates import Coordinate, FarFrom, LowestBit, SumOfOdds
from dpproof.auditing.witnesses.histogram import AtomOdds, BinOdds, Unusual
from dpproof.auditing.witnesses.summaries import Summary
from dpproof.auditing.witnesses.witness import Score, Witness


@final
@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """The training mean and standard deviation of each coordinate.

    Attributes:
        centre: mean of the finite values.
        scale: their standard deviation, 1 where there is none.
        most: standardised values are cut to [-most, most]; nan becomes 0.
    """

    centre: Floats
    scale: Floats
    most: float

    @staticmethod
    def of(features: Floats, *, width: int, most: float) -> Standard:
        """Return the standardisation of the first ``width`` coordinates."""
        finite = np.where(np.isfinite(features[:, :width]), features[:, :width], np.nan)
        with np.errstate(all="ignore"):
            seen = np.isfinite(finite).sum(axis=0)
            centre = np.where(seen > 0, np.nansum(finite, axis=0) / np.maximum(seen, 1), 0.0)
            spread = np.sqrt(np.nansum((finite - centre) ** 2, axis=0) / np.maximum(seen, 1))
        scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
        return Standard(centre, scale, most)

    def __call__(self, features: Floats) -> Floats:
        """Return rows of training deviations; coordinates that a row does not have are 0."""
        width = len(self.centre)
        rows = np.full((len(features), width), np.nan)
        shared = min(width, features.shape[1])
        rows[:, :shared] = features[:, :shared]
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = (rows - self.centre) / self.scale
        return np.clip(np.nan_to_num(deviations), -self.most, self.most)


_MOST_COORDINATES = 512
_MOST_DEVIATIONS = 1e6
_RIDGE = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """Weights on standardised coordinates, and on their squares where there are twice as many.

    Rounded, so that outputs which differ by rounding errors alone score the same.
    """

    standard: Standard
    weights: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        design = _design(self.standard(features), len(self.weights))
        return np.asarray(np.round(design @ self.weights, 6))

    def __str__(self) -> str:
        width = len(self.standard.centre)
        squares = " and their squares" if len(self.weights) > width else ""
        return f"a linear score of {width} coordinates{squares}"


@final
@dataclass(frozen=True, slots=True)
class LinearDiscriminant(Witness):
    """Fisher's discriminant: least squares of the labels, with and without squares."""

    learns: ClassVar[bool] = True

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield two scores when there are at least two coordinates."""
        features = training.features
        width = min(features.shape[1], _MOST_COORDINATES)
        if width < 2 or len(training) < 8:
            return
        standard = Standard.of(features, width=width, most=_MOST_DEVIATIONS)
        plain = standard(features)
        targets = training.labels - training.labels.mean()
        for columns in (width, 2 * width):
            design = _design(plain, columns)
            gram = design.T @ design
            gram[np.diag_indices_from(gram)] += _RIDGE * len(training)
            yield LinearScore(standard, np.linalg.solve(gram, design.T @ targets))


def _design(plain: Floats, columns: int) -> Floats:
    """Return coordinates, then their squares where twice as many columns are wanted."""
    return plain if columns == plain.shape[1] else np.concatenate([plain, plain * plain], axis=1)


def meaning(score: Score) -> str:
    """Return what a score looks at in words; empty if it is another's.

    Example:
        >>> meaning(LowestBit(0))
        'the lowest bit of number 0 of an output'
    """
    match score:
        case LowestBit(index=index):
            return f"the lowest bit of number {index} of an output"
        case Coordinate(index=index):
            return f"how large number {index} of an output is"
        case FarFrom(index=index):
            return f"how far number {index} of an output is from its usual place"
        case AtomOdds():
            return "values that come up on one dataset more than on the other"
        case BinOdds(index=index):
            return f"where number {index} of an output lies, by bins"
        case Unusual():
            return "whether an output is released that is not the usual one"
        case Summary():
            return score.meaning
        case LinearScore() | SumOfOdds():
            return "many numbers of an output together"
        case _:
            return ""
