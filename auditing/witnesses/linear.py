"""A linear score of all coordinates and their squares, by least squares: no library needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.training import Training
from dpproof.auditing.witnesses.standard import Standard
from dpproof.auditing.witnesses.witness import Score, Witness

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
        """Two scores when there are at least two coordinates."""
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
    """Coordinates, then their squares where twice as many columns are wanted."""
    return plain if columns == plain.shape[1] else np.concatenate([plain, plain * plain], axis=1)
