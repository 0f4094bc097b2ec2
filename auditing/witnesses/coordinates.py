"""Thresholds of what is released: each coordinate, the extremes, the spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.training import Training
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
class Largest:
    """The largest coordinate, nan left out."""

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return np.asarray(np.max(without_nan(features), axis=1))

    def __str__(self) -> str:
        return "max(output)"


@final
@dataclass(frozen=True, slots=True)
class Smallest:
    """Minus the smallest coordinate, nan left out."""

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return np.asarray(np.max(without_nan(-features), axis=1))

    def __str__(self) -> str:
        return "-min(output)"


@final
@dataclass(frozen=True, slots=True)
class FarFrom:
    """How far a coordinate is from the training median: noise of the wrong scale."""

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
    """Every coordinate up to a number, its distance from the middle, and the extremes."""

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
        if width > 1:
            yield Largest()
            yield Smallest()


def column(features: Floats, index: int) -> Floats:
    """One column, nan where the outputs are shorter than in training."""
    if index < features.shape[1]:
        return np.asarray(features[:, index])
    return np.full(len(features), np.nan)


def without_nan(values: Floats) -> Floats:
    """Replace nan by -inf."""
    return np.where(np.isnan(values), -np.inf, values)
