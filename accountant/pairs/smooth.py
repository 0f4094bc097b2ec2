"""Pairs whose losses have a density and no known finite sum."""

from __future__ import annotations

from abc import ABC
from typing import final

from accountant.pairs.exact import ExactPair
from accountant.pairs.pair import Exponentials, Lattice


class SmoothPair(ExactPair, ABC):
    """A pair answered by a closed profile or by the contour."""

    __slots__ = ()

    @final
    def lattice(self, c: float) -> Lattice | None:
        """Return None: the loss has a density."""
        return None

    @final
    def exponentials(self) -> Exponentials | None:
        """Return None: M is no known finite sum of exponentials."""
        return None
