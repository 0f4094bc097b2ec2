"""Trials that may be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.auditing.trials.encoding import Features
from dpproof.auditing.trials.trial_store import Labels


@final
@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Trials to look at freely: they choose a test and are never tested.

    Attributes:
        features: shape (trials, coordinates).
        labels: shape (trials,), True where the trial was on D.
    """

    features: Features
    labels: Labels

    def __len__(self) -> int:
        """The number of trials."""
        return len(self.labels)

    def halves(self) -> tuple[Training, Training]:
        """Two disjoint halves, every second trial each."""
        return (
            Training(self.features[0::2], self.labels[0::2]),
            Training(self.features[1::2], self.labels[1::2]),
        )

    def joined(self, other: Training) -> Training:
        """Return both sets of trials together."""
        return Training(
            np.concatenate([self.features, other.features]),
            np.concatenate([self.labels, other.labels]),
        )
