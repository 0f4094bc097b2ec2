"""Points in order, each once."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def distinct(points: NDArray[T]) -> NDArray[T]:
    """Sort points and leave out repeats, as numpy.unique does, which first imports much."""
    ordered = np.sort(points)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
