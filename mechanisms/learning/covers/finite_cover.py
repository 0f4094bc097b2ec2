"""Directions given one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from dpproof.mechanisms.learning.candidate_exponential import finite_directions
from dpproof.mechanisms.learning.covers.cover import Cover, checked_size
from dpproof.mechanisms.learning.grid import Vectors


@final
@dataclass(frozen=True, slots=True, init=False)
class FiniteCover(Cover):
    """The directions of some public vectors.

    Args:
        candidates: shape (candidates, dimension), finite and none of them zero, chosen without
            looking at the data.
    Raises:
        ParameterError: not such a matrix.
    Example:
        >>> FiniteCover([[1, 0], [3, 4]]).directions(0, 2).round(6)
        array([[1. , 0. ],
               [0.6, 0.8]])
    """

    candidates: tuple[tuple[float, ...], ...]

    def __init__(self, candidates: ArrayLike) -> None:
        rows = finite_directions(candidates)
        checked_size(len(rows))
        object.__setattr__(self, "candidates", tuple(tuple(row) for row in rows.tolist()))

    @property
    def size(self) -> int:
        """As many as were given."""
        return len(self.candidates)

    @property
    def dimension(self) -> int:
        """How long each of them is."""
        return len(self.candidates[0])

    @property
    def paired(self) -> bool:
        """They come in any order."""
        return False

    @property
    def description(self) -> str:
        """Say how many there are."""
        return f"FiniteCover of {self.size} public directions in {self.dimension} dimensions"

    def _rows(self, start: int, stop: int) -> Vectors:
        return np.array(self.candidates[start:stop])
