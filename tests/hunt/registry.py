"""The families of cases, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from tests.hunt.case import Case
from tests.hunt.draw import Draw
from tests.hunt.families import (
    adaptive,
    certificates,
    conversions,
    data,
    extremes,
    formulas,
    lower_certificates,
    mechanisms,
    mixed,
    products,
    run_laws,
    samples,
    schemes,
    selections,
    two_ways,
)


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
    "formulas": Family(formulas.draw, 800),
    "sampled-formulas": Family(formulas.draw_sampled, 400),
    "run-laws": Family(run_laws.draw, 600),
    "conversions": Family(conversions.draw, 100),
    "converted-groups": Family(conversions.draw_grouped, 30),
    "certificates": Family(certificates.draw, 10),
    "lower-certificates": Family(lower_certificates.draw, 10),
    "selected-certificates": Family(certificates.draw_selected, 5),
    "extremes": Family(extremes.draw, 50),
    "mixed": Family(mixed.draw, 100),
    "mechanisms": Family(mechanisms.draw, 100),
    "filters": Family(adaptive.draw, 100),
    "odometers": Family(adaptive.draw_odometer, 50),
    "learners": Family(adaptive.draw_learner, 100),
    "products": Family(products.draw, 100),
    "samples": Family(samples.draw, 100),
    "repeated-samples": Family(samples.draw_repeated, 4),
    "data": Family(data.draw, 50),
    "data-twice": Family(data.draw_sampled_twice, 4),
    "selections": Family(selections.draw, 2),
    "renyi-selections": Family(selections.draw_renyi, 30),
    "thresholds": Family(selections.draw_threshold, 1),
    "one-step": Family(schemes.draw_one_step, 30),
    "allocation": Family(schemes.draw_allocation, 30),
    "shuffled": Family(schemes.draw_shuffled, 30),
    "shuffle-model": Family(schemes.draw_reports, 20),
    "matrix": Family(schemes.draw_matrix, 30),
    "parts-in-turn": Family(schemes.draw_cyclic, 30),
    "two-ways": Family(two_ways.draw, 100),
}
