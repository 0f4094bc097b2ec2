"""Pairs whose K is exact: they need no stand-in from either side."""

from __future__ import annotations

from abc import ABC
from typing import final

from accountant.pairs.pair import Pair


class ExactPair(Pair, ABC):
    """Dominates and is dominated by itself."""

    __slots__ = ()

    @final
    def above(self, count: int) -> Pair:
        """Itself: K is exact."""
        return self

    @final
    def below(self, count: int) -> Pair:
        """Itself: K is exact."""
        return self
