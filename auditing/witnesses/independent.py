"""The sum of every coordinate's smooth odds: the best score where coordinates are independent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.training import Training
from dpproof.auditing.witnesses.coordinates import MOST_COORDINATES, column
from dpproof.auditing.witnesses.smoothed_odds import SmoothOdds
from dpproof.auditing.witnesses.witness import Score, Witness


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
        """One score when at least two coordinates vary."""
        fitted = [
            (index, SmoothOdds.of(training.features[:, index], training.labels))
            for index in range(min(training.features.shape[1], self.most))
        ]
        bends = tuple((index, *smooth.knots()) for index, smooth in fitted if smooth is not None)
        if len(bends) > 1:
            yield SumOfOdds(bends)
