"""The search for a bound of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, Relation
from dpproof.mechanisms import BoundedMean, Chained, MagnitudeBound, WithinBound, compose
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.statistics.neighbouring_columns import RELATIONS


@pytest.mark.slow
class TestMagnitudeBound(MechanismContract):
    """The first power of two that at most two values exceed."""

    def mechanism(self) -> MagnitudeBound[AddRemove]:
        """Powers from 1/2 to 8."""
        bounds: dict[str, int] = {"smallest": -1, "largest": 3}
        return MagnitudeBound(
            threshold_scale=2, query_scale=3, outside=2, **bounds, relation=AddRemove()
        )

    def data(self) -> object:
        """Values between the powers, and on one."""
        return [0.3, -0.5, 0.6, -3.0, 100.0, math.nan, math.inf]

    def increasing_noise(self) -> Sequence[MagnitudeBound[AddRemove]]:
        """From one record to thirty."""
        return [
            MagnitudeBound(threshold_scale=s, query_scale=s, outside=5, relation=AddRemove())
            for s in (1, 4, 30)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "threshold_scale": NOT_POSITIVE,
            "query_scale": NOT_POSITIVE,
            "outside": (-1, 0.5, None),
            "smallest": (-250, 41, 0.5, True, "0"),
            "largest": (250, -21, None),
            "relation": (AddRemove,),
        }
        good = {"threshold_scale": 1, "query_scale": 1, "outside": 3}
        return one_bad(MagnitudeBound, good={**good, "relation": AddRemove()}, bad=bad)


def test_counts_of_large_values() -> None:
    """A value on a power of two does not exceed it; infinities always do, nan never."""
    bound = MagnitudeBound(
        threshold_scale=1, query_scale=1, outside=0, smallest=0, largest=2, relation=AddRemove()
    )
    assert bound.inside([1.0, -2.0, 2.5, math.inf, math.nan, -9.0]) == [-4, -3, -2]


def test_an_unbounded_mean_finds_its_bound() -> None:
    """The bound is near the largest values but a few, and the chain is what compose says."""
    bound = MagnitudeBound(threshold_scale=1, query_scale=2, outside=60, relation=AddRemove())
    then = WithinBound(statistic="mean", noise_multiplier=2, relation=AddRemove())
    chain = Chained(first=bound, then=then)
    rng = np.random.default_rng(8)
    data = rng.normal(5, 1, size=3000)
    found = chain.release_many(data, 50, rng=rng)

    assert set(found["0"]) <= {4.0, 8.0}
    assert np.mean(found["0"] == 8) > 0.5
    assert np.abs(found["1"]["value"][found["0"] == 8] - 5).max() < 0.1
    stated = compose(
        bound, BoundedMean(scale=4, lower=-1, upper=1, relation=AddRemove())
    ).guarantee()
    assert chain.guarantee().epsilon(delta=1e-6) == stated.epsilon(delta=1e-6)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("bound", [2.0**-249, 0.5, 1.0, 2.0**40, 2.0**249])
def test_noise_grows_with_the_bound(relation: Relation, bound: float) -> None:
    """Whatever bound was released, the guarantee is the one that was stated."""
    families: tuple[WithinBound[Relation], ...] = (
        WithinBound(statistic="sum", noise_multiplier=3, relation=relation),
        WithinBound(statistic="mean", noise_multiplier=3, noise="laplace", relation=relation),
    )
    for then in families:
        stated = then.guarantee().epsilon(delta=1e-6)
        assert then.at(bound).guarantee().epsilon(delta=1e-6) == stated


def test_refuses_what_it_cannot_follow() -> None:
    """Another statistic, and outputs that are no bounds."""
    with pytest.raises(ParameterError, match="one of sum, mean"):
        WithinBound(statistic="median", noise_multiplier=1, relation=AddRemove())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="MagnitudeBound"):
        WithinBound(statistic="sum", noise_multiplier=1, relation=AddRemove()).draw(
            [1.0],
            np.zeros((2, 2)),
            np.random.default_rng(1),  # type: ignore[arg-type]
        )


@pytest.mark.parametrize("statistic", ["sum", "mean"])
def test_multipliers_serve_every_bound(statistic: Literal["sum", "mean"]) -> None:
    """What could fail once a bound is released is refused before."""
    for multiplier in (Fraction(1, 2**50), 2**50):
        follow_up = WithinBound(
            statistic=statistic, noise_multiplier=multiplier, relation=AddRemove()
        )
        assert all(follow_up.at(2.0**exponent) for exponent in (-249, 249))
    for outside in (1e-80, 1e80):
        with pytest.raises(ParameterError, match="noise_multiplier"):
            WithinBound(statistic=statistic, noise_multiplier=outside, relation=AddRemove())
