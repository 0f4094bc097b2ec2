"""Pairs whose K is exact, so that they need no approximation from either side."""

from __future__ import annotations

from abc import ABC
from typing import final

from dpproof.accountant.pairs.pair import Pair


class ExactPair(Pair, ABC):
    """A pair that dominates itself and is dominated by itself, with an exact K."""

    __slots__ = ()

    @final
    def above(self, count: int) -> Pair:
        """Return the pair itself: K is exact."""
        return self

    @final
    def below(self, count: int) -> Pair:
        """Return the pair itself: K is exact."""
        return self
