"""What a private estimator warns of."""

from __future__ import annotations

from typing import final


@final
class PredictableNoise(UserWarning):
    """The noise follows from a seed: whoever knows the seed knows the data. Tests only."""


@final
class SecondRelease(UserWarning):
    """An estimator was fitted again: on the same records, both fits cost, and their costs add."""
