"""A linear score of all coordinates and their squares, by least squares: no library needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from auditing.binomial import Floats
from auditing.witnesses.witness import Score, Witness

if TYPE_CHECKING:
    from auditing.trials import Training

_MOST_COORDINATES = 512
_RIDGE = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """Weights on standardised coordinates, and on their squares where there are twice as many.

    Rounded, so that outputs which differ by rounding errors alone score the same.
    """

    centre: Floats
    scale: Floats
    weights: Floats

    def __call__(self, features: Floats) -> Floats:
        """Score every row."""
        design = standardised(features, self.centre, self.scale, len(self.weights))
        return np.asarray(np.round(design @ self.weights, 6))

    def __str__(self) -> str:
        squares = " and their squares" if len(self.weights) > len(self.centre) else ""
        return f"a linear score of {len(self.centre)} coordinates{squares}"


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
        finite = np.where(np.isfinite(features[:, :width]), features[:, :width], np.nan)
        with np.errstate(all="ignore"):
            seen = np.isfinite(finite).sum(axis=0)
            centre = np.where(seen > 0, np.nansum(finite, axis=0) / np.maximum(seen, 1), 0.0)
            spread = np.sqrt(np.nansum((finite - centre) ** 2, axis=0) / np.maximum(seen, 1))
        scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
        targets = training.labels - training.labels.mean()
        for columns in (width, 2 * width):
            design = standardised(features, centre, scale, columns)
            gram = design.T @ design
            gram[np.diag_indices_from(gram)] += _RIDGE * len(training)
            yield LinearScore(centre, scale, np.linalg.solve(gram, design.T @ targets))


def standardised(features: Floats, centre: Floats, scale: Floats, columns: int) -> Floats:
    """Coordinates about their training mean in training deviations, clipped; then squares."""
    width = len(centre)
    rows = np.zeros((len(features), width))
    shared = min(width, features.shape[1])
    rows[:, :shared] = features[:, :shared]
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.clip(np.nan_to_num((rows - centre) / scale), -1e6, 1e6)
    return plain if columns == width else np.concatenate([plain, plain * plain], axis=1)
