"""Directions to the cells of the surface of a cube: they cover the sphere evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import CalibrationError
from dpproof.mechanisms.learning.covers.cover import Cover, checked_dimension, checked_size
from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.planning.least import least_count

_MOST_CELLS: Final = 10**8


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CubeSurface(Cover):
    """Directions to the centres of cells on the 2 k faces of the cube [-1, 1]^k.

    Statement: every face is cut into cells^(k - 1) equal cubes, and every point of the sphere is
        within a chord of sqrt(k - 1)/cells of the direction to some centre.
    Proof: scale a direction to the surface of the cube, where it is in some cell, within
        sqrt(k - 1)/cells of its centre; projecting two points outside the unit ball on the sphere
        brings them nearer.

    Args:
        dimension: k, from 1.
        cells: along each edge of a face.
    Raises:
        ParameterError: not counts, or more than 10^8 directions.
    Example:
        >>> CubeSurface(dimension=3, cells=4).size
        96
    """

    dimension: int
    cells: int

    def __post_init__(self) -> None:
        """Refuse what is not a count, and covers that are too large."""
        object.__setattr__(self, "dimension", checked_dimension(self.dimension))
        object.__setattr__(self, "cells", check.count(cells=self.cells))
        digits = (self.dimension - 1) * math.log10(self.cells)
        checked_size(self.size if digits < 9 else 10**9)

    @property
    def size(self) -> int:
        """Twice the dimension, times the cells of a face."""
        return int(2 * self.dimension * self.cells ** (self.dimension - 1))

    @property
    def radius(self) -> float:
        """The chord within which every direction has one of the cover."""
        return _radius(self.dimension, self.cells)

    @staticmethod
    def needed(*, dimension: int, radius: Number) -> int:
        """How many cells along an edge are enough: the least for which ``radius`` is as stated.

        Args:
            dimension: k.
            radius: the chord within which every direction is to have one of the cover.
        Raises:
            ParameterError: an argument outside its domain.
            CalibrationError: 10^8 cells are too few.
        Example:
            >>> CubeSurface.needed(dimension=4, radius=0.2)
            9
        """
        width, chord = checked_dimension(dimension), check.positive(radius=radius)
        found = least_count(lambda cells: _radius(width, cells) <= chord, _MOST_CELLS)
        if found is None:
            raise CalibrationError(f"{_MOST_CELLS} cells are too few; allow a larger radius")
        return found

    @property
    def paired(self) -> bool:
        """A cell is followed by the opposite one."""
        return True

    @property
    def description(self) -> str:
        """Name the numbers."""
        return f"CubeSurface in {self.dimension} dimensions, {self.cells} cells along an edge"

    def _rows(self, start: int, stop: int) -> Vectors:
        # Integers: the centre of cell c on the interval [-1, 1] is (2 c + 1 - cells) / cells.
        numbers = np.arange(start, stop)
        face, cell = np.divmod(numbers, self.cells ** (self.dimension - 1))
        rows = np.empty((len(numbers), self.dimension))
        for place in range(self.dimension - 1):
            cell, digit = np.divmod(cell, self.cells)
            rows[:, place] = 2 * digit + 1 - self.cells
        rows[:, -1] = self.cells
        columns = (
            np.arange(self.dimension)[np.newaxis, :] - face[:, np.newaxis] - 1
        ) % self.dimension
        return np.take_along_axis(rows, columns, axis=1)


def _radius(dimension: int, cells: int) -> float:
    """Return the chord from a point of the sphere to the direction of its cell's centre."""
    return math.sqrt(dimension - 1) / cells
