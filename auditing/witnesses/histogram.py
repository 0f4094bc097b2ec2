"""Likelihood ratios counted in training: one a value, or one a bin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.coordinates import MOST_COORDINATES, column
from dpproof.auditing.witnesses.witness import Score, Witness, log_odds

_MOST_ATOMS = 4096


@final
@dataclass(frozen=True, slots=True, eq=False)
class AtomOdds:
    """Log-odds of every output that repeated in training; 0 for what was not seen there."""

    keys: NDArray[np.void]
    odds: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        rows = row_keys(features, self.keys.dtype.itemsize // 8)
        place = np.minimum(np.searchsorted(self.keys, rows), len(self.keys) - 1)
        return np.where(self.keys[place] == rows, self.odds[place], 0.0)

    def __str__(self) -> str:
        return f"log-odds of {len(self.keys)} values"


@final
@dataclass(frozen=True, slots=True, eq=False)
class BinOdds:
    """Log-odds of the training bin that a coordinate falls into."""

    index: int
    edges: Floats
    odds: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return np.asarray(self.odds[_bins(column(features, self.index), self.edges)])

    def __str__(self) -> str:
        return f"log-odds of {len(self.odds)} bins of output[{self.index}]"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Unusual:
    """One for an output that is not the usual one, zero for the usual one."""

    usual: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        width = len(self.usual)
        other = row_keys(features, width) != row_keys(self.usual[None], width)
        return np.asarray(other, dtype=np.float64)

    def __str__(self) -> str:
        return "[output is not the usual one]"


@final
@dataclass(frozen=True, slots=True)
class Histogram(Witness):
    """Whole outputs where they repeat, quantile bins of each coordinate where they do not.

    Args:
        bins: how many bins a coordinate.
        most: how many coordinates.
    """

    learns: ClassVar[bool] = True

    bins: int = 16
    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield atoms when at most half of the training outputs are distinct, else bins."""
        features, labels = training.features, training.labels
        keys, place = np.unique(row_keys(features, features.shape[1]), return_inverse=True)
        if len(keys) <= min(_MOST_ATOMS, max(len(training) // 2, 2)):
            yield AtomOdds(keys, _odds(place, labels, len(keys)))
            return
        for index in range(min(features.shape[1], self.most)):
            values = features[:, index]
            finite = values[np.isfinite(values)]
            if len(finite) > self.bins:
                edges = np.unique(np.quantile(finite, np.linspace(0, 1, self.bins + 1)[1:-1]))
                odds = _odds(_bins(values, edges), labels, len(edges) + 2)
                yield BinOdds(index, edges, odds)


def _odds(place: NDArray[np.int64], labels: NDArray[np.bool_], cells: int) -> Floats:
    return log_odds(
        np.bincount(place[labels], minlength=cells), np.bincount(place[~labels], minlength=cells)
    )


def _bins(values: Floats, edges: Floats) -> NDArray[np.int64]:
    """Bin of every value; nan has a bin of its own, the last."""
    place = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, place)


def row_keys(features: Floats, width: int) -> NDArray[np.void]:
    """Return rows as opaque values of ``width`` numbers; -0.0 is 0.0 and all nans are equal."""
    rows = np.full((len(features), width), np.nan)
    shared = min(width, features.shape[1])
    rows[:, :shared] = features[:, :shared] + 0.0
    rows[np.isnan(rows)] = np.nan
    return np.ascontiguousarray(rows).view(np.dtype((np.void, 8 * width))).ravel()
