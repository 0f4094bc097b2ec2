"""The families of cases, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tests.hunt.case import Case
from tests.hunt.draw import Draw
from tests.hunt.families import data, products, samples


@final
@dataclass(frozen=True)
class Family:
    """A kind of cases.

    Attributes:
        draw: makes a case.
        weight: how many of the families' sum of weights; slow ones have small weights.
    """

    draw: Callable[[Draw], Case]
    weight: int


FAMILIES: dict[str, Family] = {
    "products": Family(products.draw, 200),
    "samples": Family(samples.draw, 200),
    "repeated-samples": Family(samples.draw_repeated, 10),
    "data": Family(data.draw, 100),
    "data-twice": Family(data.draw_sampled_twice, 10),
}
