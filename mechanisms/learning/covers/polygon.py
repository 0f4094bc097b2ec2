"""The corners of a regular polygon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.covers.cover import Cover, checked_size
from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.maps.turns import cosine, sine

_LEAST: Final = 4


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Polygon(Cover):
    """The corners of a regular polygon: every direction of the plane has one within pi / corners.

    ``CircleExponential`` picks from the same polygon, faster where there are many corners and few
    records; this is the one to unite with other covers. The circle itself has arcs whose ends are
    irrational, and as floats would tell of the data.

    Args:
        corners: even, from 4 to 10^8.
    Raises:
        ParameterError: another number.
    Example:
        >>> Polygon(corners=4).directions(0, 2).round(6) + 0.0
        array([[-0.707107, -0.707107],
               [ 0.707107,  0.707107]])
    """

    corners: int

    def __post_init__(self) -> None:
        """Refuse odd numbers."""
        number = checked_size(check.count(corners=self.corners))
        if number % 2 or number < _LEAST:
            raise ParameterError("corners", self.corners, f"even, at least {_LEAST}")
        object.__setattr__(self, "corners", number)

    @property
    def size(self) -> int:
        """As many as there are corners."""
        return self.corners

    @property
    def dimension(self) -> int:
        """A plane has two."""
        return 2

    @property
    def paired(self) -> bool:
        """A corner is followed by the opposite one."""
        return True

    @property
    def description(self) -> str:
        """Name the number."""
        return f"Polygon of {self.corners} corners"

    def _rows(self, start: int, stop: int) -> Vectors:
        turns = (np.arange(start, stop) + 0.5) / self.corners - 0.5
        return np.column_stack([cosine(turns), sine(turns)])
