"""What a cover is: a public list of directions, each a function of its number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable
from dpproof.mechanisms.learning.grid import STATE_BITS, WIDEST, Vectors, unit_rows

MOST_CANDIDATES: Final = 10**8


class Cover(Readable, ABC):
    """A public list of directions: a frozen value, its seed a field.

    A pick among them is private whatever they are, as long as they were fixed without looking at
    the data; how well they lie decides how few mistakes the best of them makes.

    Laws: ``directions`` of a range is that range of ``directions`` of all, bit for bit.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """How many directions there are, from 1 to 10^8."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many coordinates a direction has."""

    @property
    @abstractmethod
    def paired(self) -> bool:
        """Whether every direction of odd number is the opposite of the one before it."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The cover in words, with everything that decides it, for derivations and certificates."""

    @abstractmethod
    def _rows(self, start: int, stop: int) -> Vectors:
        """Vectors of the directions, none of them zero, of any length; if paired every other one.

        Args:
            start: number of a direction; if paired, of a pair.
            stop: one beyond the last.
        """

    @final
    def on_grid(self, start: int, stop: int) -> Vectors:
        """Directions, if paired one of each pair, as integers in units of 2^-28 of length 1."""
        return unit_rows(self._rows(start, stop), STATE_BITS)

    @final
    def directions(self, start: int, stop: int) -> Vectors:
        """Return the directions from ``start`` to ``stop - 1``: shape (count, dimension).

        Raises:
            ParameterError: not a range of numbers of directions.
        """
        if not 0 <= start < stop <= self.size:
            raise ParameterError("start, stop", (start, stop), f"a range within 0 to {self.size}")
        if not self.paired:
            return self.on_grid(start, stop) * 2.0**-STATE_BITS
        halves = self.on_grid(start // 2, -(-stop // 2)) * 2.0**-STATE_BITS
        both = np.stack([halves, -halves], axis=1).reshape(-1, self.dimension)
        return both[start % 2 :][: stop - start]


def checked_dimension(dimension: object) -> int:
    """The number of coordinates of a direction.

    Raises:
        ParameterError: not a count, or more than learners take.
    """
    width = check.count(dimension=dimension)
    if width > WIDEST:
        raise ParameterError("dimension", width, f"at most {WIDEST}")
    return width


def checked_size(size: object) -> int:
    """The number of directions.

    Raises:
        ParameterError: not a count, or more than can be looked at.
    """
    number = check.count(size=size)
    if number > MOST_CANDIDATES:
        raise ParameterError("size", number, f"at most {MOST_CANDIDATES} candidates")
    return number
