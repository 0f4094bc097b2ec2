"""The two datasets of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from accountant.errors import ParameterError


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two datasets that the claim's relation makes neighbours, in either order.

    Whether they are neighbours is the caller's word: an audit sees outputs only.

    Attributes:
        data: D.
        neighbour: D'.
        name: what the report calls it.
    """

    data: Any
    neighbour: Any
    name: str = "pair"

    @staticmethod
    def of(pair: Pair | tuple[Any, ...]) -> Pair:
        """A pair from itself or from a tuple of two datasets."""
        if isinstance(pair, Pair):
            return pair
        if len(pair) != 2:
            raise ParameterError("pair", pair, "a Pair or a tuple (data, neighbour)")
        return Pair(pair[0], pair[1])
