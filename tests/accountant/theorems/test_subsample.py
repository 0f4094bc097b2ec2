"""Sampling theorems at their ends; tests/mechanisms/test_subsampled.py compares with what runs."""

from __future__ import annotations

import pytest

from accountant import (
    GDP,
    Bound,
    Guarantee,
    Poisson,
    PureDP,
    Relation,
    ReplaceOne,
    WithoutReplacement,
)
from accountant.theorems.subsample_poisson import subsample_poisson
from accountant.theorems.subsample_without_replacement import subsample_without_replacement


@pytest.mark.parametrize("nothing", [GDP(mu=0), PureDP(epsilon=0)])
def test_a_sample_of_what_reveals_nothing_reveals_nothing(nothing: Guarantee[Relation]) -> None:
    """A product without factors stays one."""
    sampled = subsample_poisson(nothing, Poisson(sampling_rate=0.1))
    assert sampled.forward.factors == sampled.backward.factors == ()
    assert sampled.epsilon(delta=1e-6) == sampled.advantage() == Bound.exactly(0.0)


def test_a_fixed_size_sample_of_what_reveals_nothing_reveals_nothing() -> None:
    """The same without replacement."""
    sampled = subsample_without_replacement(
        GDP(mu=0, relation=ReplaceOne()), WithoutReplacement(sample_size=1, population_size=10)
    )
    assert sampled.epsilon(delta=1e-6) == Bound.exactly(0.0)
