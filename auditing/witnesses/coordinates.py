"""Thresholds of what is released: each coordinate and its spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.smoothed_odds import SmoothOdds
from dpproof.auditing.witnesses.witness import Score, Witness

MOST_COORDINATES = 16


@final
@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate; nan below everything."""

    index: int

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return without_nan(column(features, self.index))

    def __str__(self) -> str:
        return f"output[{self.index}]"


@final
@dataclass(frozen=True, slots=True)
class FarFrom:
    """A score: distance of a coordinate from the training median.

    It finds noise of a wrong scale.
    """

    index: int
    centre: float

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return without_nan(np.abs(column(features, self.index) - self.centre))

    def __str__(self) -> str:
        return f"|output[{self.index}] - {self.centre:.6g}|"


@final
@dataclass(frozen=True, slots=True)
class Thresholds(Witness):
    """Scores: coordinates up to a number, and their distances from the middle."""

    learns: ClassVar[bool] = False

    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield the scores named in the class docstring."""
        width = training.features.shape[1]
        for index in range(min(width, self.most)):
            yield Coordinate(index)
            finite = training.features[:, index][np.isfinite(training.features[:, index])]
            if len(finite):
                yield FarFrom(index, float(np.median(finite)))


def column(features: Floats, index: int) -> Floats:
    """Return one column, nan where the outputs are shorter than in training."""
    if index < features.shape[1]:
        return np.asarray(features[:, index])
    return np.full(len(features), np.nan)


def without_nan(values: Floats) -> Floats:
    """Replace nan by -inf."""
    return np.where(np.isnan(values), -np.inf, values)


@final
@dataclass(frozen=True, slots=True)
class LowestBit:
    """Minus the exponent of the lowest set bit of a coordinate: how fine a grid it needs.

    A sum fl(f(D) + noise) lies on the grid of the last bit of the larger of the two, so the
    grid tells how large f(D) is: adding 1 to a small noise wipes out its low bits, adding 0
    does not (Mironov, CCS 2012; Haney et al., arXiv:2207.13793).
    """

    index: int

    def __call__(self, features: Floats) -> Floats:
        """Score every row; 0 and what is not finite need no grid at all: -2000."""
        return -lowest_bit(column(features, self.index))

    def __str__(self) -> str:
        return f"-lowest_bit(output[{self.index}])"


def lowest_bit(values: Floats) -> Floats:
    """Return the largest e for which a float is a multiple of 2^e; 2000 for 0, nan, infinities.

    Example:
        >>> lowest_bit(np.array([1.0, 0.75, 6.0, 0.0, 5e-324])).tolist()
        [0.0, -2.0, 1.0, 2000.0, -1074.0]
    """
    ordinary = np.isfinite(values) & (values != 0)
    mantissa, exponent = np.frexp(np.where(ordinary, values, 1.0))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64))
    return np.where(ordinary, exponent - 53 + lowest, 2000.0)


@final
@dataclass(frozen=True, slots=True)
class FloatGrid(Witness):
    """The lowest set bit of every coordinate up to a number."""

    learns: ClassVar[bool] = False

    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield one score for each coordinate whose values are not all on one grid."""
        for index in range(min(training.features.shape[1], self.most)):
            bits = lowest_bit(training.features[:, index])
            if np.ptp(bits) > 0:
                yield LowestBit(index)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SumOfOdds:
    """Log-odds of each coordinate, added; 0 for nan. Rounded, as ``LinearScore``.

    Attributes:
        bends: of each coordinate its index, where its odds bend, and the odds there.
    """

    bends: tuple[tuple[int, Floats, Floats], ...]

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        total = np.zeros(len(features))
        for index, places, odds in self.bends:
            total += np.nan_to_num(np.interp(column(features, index), places, odds))
        return np.asarray(np.round(total, 6))

    def __str__(self) -> str:
        return f"the summed log-odds of {len(self.bends)} coordinates"


@final
@dataclass(frozen=True, slots=True)
class Independent(Witness):
    """Naive Bayes with smooth odds: they saturate, as those of Laplace noise do.

    Args:
        most: how many coordinates.
    """

    learns: ClassVar[bool] = True

    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield one score when at least two coordinates vary."""
        fitted = [
            (index, SmoothOdds.of(training.features[:, index], training.labels))
            for index in range(min(training.features.shape[1], self.most))
        ]
        bends = tuple((index, *smooth.knots()) for index, smooth in fitted if smooth is not None)
        if len(bends) > 1:
            yield SumOfOdds(bends)
