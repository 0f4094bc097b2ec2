"""Several covers as one, each after a map of its own: choosing among them costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.covers.cover import Cover, checked_size
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CoverUnion:
    """The candidates of several covers, numbered one cover after the other.

    An exponential mechanism over all of them picks the map and the direction at once, at the price
    of one pick.

    Args:
        covers: at least one.
        maps: one for each cover, None for the identity; None if no cover has a map of its own.
            Their rows have one width.
    Raises:
        ParameterError: not covers and maps, widths that do not fit, or more than 10^8 candidates.
    Example:
        >>> from dpproof.mechanisms.learning.covers.polygon import Polygon
        >>> CoverUnion(covers=(Polygon(corners=8), Polygon(corners=64))).size
        72
    """

    covers: tuple[Cover, ...]
    maps: tuple[FeatureMap | None, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        covers: object = self.covers
        if not isinstance(covers, tuple) or not covers:
            raise ParameterError("covers", covers, "a tuple of at least one cover")
        for cover in covers:
            if not isinstance(cover, Cover):
                raise ParameterError("covers", cover, "covers such as RandomDirections(...)")
        checked_size(self.size)
        maps: object = self.maps
        if maps is None:
            return
        if not isinstance(maps, tuple) or len(maps) != len(covers):
            raise ParameterError("maps", maps, f"a tuple of {len(covers)}, one for each cover")
        for plan in maps:
            if plan is not None and not isinstance(plan, FeatureMap):
                raise ParameterError("maps", plan, "feature maps, or None for the identity")

    @property
    def size(self) -> int:
        """All candidates."""
        return sum(cover.size for cover in self.covers)

    @property
    def description(self) -> str:
        """Name the covers and their maps."""
        said = [
            f"{cover.description}, on {'rows as they are' if plan is None else plan.description}"
            for cover, plan in zip(self.covers, self.maps or [None] * len(self.covers), strict=True)
        ]
        return "the union of " + "; ".join(said)
