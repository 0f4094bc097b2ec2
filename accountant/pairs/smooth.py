"""Pairs whose losses have a density and whose K is exact."""

from __future__ import annotations

from abc import ABC
from typing import final

from accountant.pairs.pair import Exponentials, Lattice, Pair


class SmoothPair(Pair, ABC):
    """The contour serves as it is: there is no lattice, no finite sum, and no table is needed."""

    __slots__ = ()

    @final
    def lattice(self, c: float) -> Lattice | None:
        """None: the loss has a density."""
        return None

    @final
    def exponentials(self) -> Exponentials | None:
        """None is known."""
        return None

    @final
    def above(self, count: int) -> Pair:
        """Itself: K is exact."""
        return self

    @final
    def below(self, count: int) -> Pair:
        """Itself: K is exact."""
        return self
