"""Name what most pairs (P, Q) have in common; a pair states it by inheriting."""

from __future__ import annotations

from abc import ABC
from typing import final

from dpproof.accountant.pairs.pair import Pair


class CommonSupport(Pair, ABC):
    """A pair whose P and Q have the same support, so that no loss is infinite."""

    __slots__ = ()

    @property
    def infinite_mass(self) -> float:
        """Return 0: both laws have the same support."""
        return 0.0


class Reflected(Pair, ABC):
    """A pair whose P and Q are exchanged by a reflection of the outcomes."""

    __slots__ = ()

    def swapped(self) -> Pair:
        """Return the pair itself, which is symmetric."""
        return self


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
