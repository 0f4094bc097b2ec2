"""Selections from samples: verified, and as close to the library as few ratios allow.

The checker bounds both terms of a selection apart, which costs up to 7e-5 of epsilon, in
as many blocks as its work allows. The library bounds them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpproof.accountant import L1, AddRemove, FixedRuns, Poisson, PoissonRuns
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.mechanisms import DiscreteLaplace, Laplace, Mechanism, RandomizedResponse
from tests.accountant.certificates.selections import GEOMETRIC, check_law

RARE = Poisson(sampling_rate=0.1)
SAMPLES: dict[str, tuple[Callable[[], Mechanism[Any]], RunLaw, float]] = {
    "answers": (
        lambda: RandomizedResponse(epsilon=1, categories=2, relation=AddRemove()),
        GEOMETRIC,
        1e-4,
    ),
    "whole": (lambda: DiscreteLaplace(scale=4, sensitivity=L1(3)), GEOMETRIC, 1e-4),
    "dense": (lambda: Laplace(scale=2, sensitivity=L1(1)), GEOMETRIC, 2e-3),
    "categories": (
        lambda: RandomizedResponse(epsilon=1, categories=4, relation=AddRemove()),
        PoissonRuns(rate=5),
        1e-4,
    ),
    "fixed": (lambda: DiscreteLaplace(scale=2, sensitivity=L1(1)), FixedRuns(count=10), 1e-3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_from_one_sample(name: str) -> None:
    """Both directions of the finite pair are dense, and the base's losses its corners."""
    make, law, room = SAMPLES[name]
    check_law(make().subsample(RARE).select(law, score=len).guarantee(), room)


@pytest.mark.parametrize("name", ["answers", pytest.param("whole", marks=pytest.mark.slow)])
def test_from_many_samples(name: str) -> None:
    """The base is one finite sum, or one line serves many epsilons."""
    make, law, _ = SAMPLES[name]
    check_law(make().subsample(RARE).repeat(10).select(law, score=len).guarantee(), 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dense", "answers", "whole"])
def test_the_first_above_a_threshold_from_one_sample(name: str) -> None:
    """Cells are cut as far out as the bound reaches, beyond the losses of the direction."""
    make, law, _ = SAMPLES[name]
    tuned = make().subsample(RARE).select_above(law, threshold=1, score=len)
    check_law(tuned.guarantee(), 3e-3)
