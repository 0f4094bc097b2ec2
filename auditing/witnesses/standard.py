"""Coordinates on one scale, learned from training samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.auditing.counts.binomial import Floats


@final
@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Where each coordinate lies in training, and how far it is spread.

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
        """From the first ``width`` coordinates."""
        finite = np.where(np.isfinite(features[:, :width]), features[:, :width], np.nan)
        with np.errstate(all="ignore"):
            seen = np.isfinite(finite).sum(axis=0)
            centre = np.where(seen > 0, np.nansum(finite, axis=0) / np.maximum(seen, 1), 0.0)
            spread = np.sqrt(np.nansum((finite - centre) ** 2, axis=0) / np.maximum(seen, 1))
        scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
        return Standard(centre, scale, most)

    def __call__(self, features: Floats) -> Floats:
        """Rows of training deviations; coordinates that a row does not have are 0."""
        width = len(self.centre)
        rows = np.full((len(features), width), np.nan)
        shared = min(width, features.shape[1])
        rows[:, :shared] = features[:, :shared]
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = (rows - self.centre) / self.scale
        return np.clip(np.nan_to_num(deviations), -self.most, self.most)
