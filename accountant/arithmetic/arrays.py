"""Sort arrays of points without repeats."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def distinct(points: NDArray[T]) -> NDArray[T]:
    """Return the points in increasing order, each once.

    This is numpy.unique, whose first call imports other modules and is slow for that reason.
    """
    ordered = np.sort(points)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
