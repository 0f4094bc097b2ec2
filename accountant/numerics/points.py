"""Points in order, each once."""

from __future__ import annotations

import numpy as np

from accountant.numerics.enclosure import Reals


def distinct(points: Reals) -> Reals:
    """Sort points and leave out repeats, as numpy.unique does, which first imports much."""
    ordered = np.sort(points)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
