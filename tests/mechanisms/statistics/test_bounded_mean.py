"""Means of clipped numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne
from dpproof.accountant.sensitivity import L2
from dpproof.mechanisms import BoundedMean, Gaussian
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.statistics.neighbouring_columns import BOUNDS, RELATIONS, neighbours


class TestBoundedMean(MechanismContract):
    """Gaussian noise on two sums."""

    def mechanism(self) -> BoundedMean[AddRemove]:
        """Values from 2 to 4."""
        return BoundedMean(scale=3, lower=2, upper=4)

    def data(self) -> object:
        """Some inside, some outside, one blank."""
        return [2.5, -4.0, math.nan, 9.0]

    def increasing_noise(self) -> Sequence[BoundedMean[AddRemove]]:
        """From half the sensitivity to ten times."""
        return [BoundedMean(scale=s, lower=2, upper=4) for s in (1, 4, 20)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "scale": NOT_POSITIVE,
            "lower": (2, 3, math.nan),
            "upper": (-1, 1, math.inf, None),
            "noise": ("uniform", None),
            "relation": (AddRemove,),
        }
        return one_bad(BoundedMean, good={"scale": 1, "lower": 1, "upper": 2}, bad=bad)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_the_sensitivity_is_attained_and_never_exceeded(
    relation: Relation, lower: float, upper: float
) -> None:
    """Over all neighbours, the sums with noise move by the width, but for a step of the grid."""
    mean = BoundedMean(scale=1, lower=lower, upper=upper, relation=relation)
    noisy = 1 if isinstance(relation, ReplaceOne) else 2
    moved = max(
        np.abs(mean.sums(x)[:noisy] - mean.sums(y)[:noisy]).sum() for x, y in neighbours(relation)
    )
    width = Fraction(upper) - Fraction(lower)
    noise = Gaussian(sigma=1, sensitivity=L2(width), relation=relation)

    assert width * (1 - Fraction(1, 2**22)) <= moved <= width
    assert mean.guarantee() == noise.guarantee()


@pytest.mark.parametrize(
    ("relation", "value", "count"), [(AddRemove(), 3.75 / 4, 4), (ReplaceOne(), 4.75 / 5, 5)]
)
def test_means_converge(relation: Relation, value: float, count: int) -> None:
    """With next to no noise: the mean of the clipped values, and their number."""
    mean = BoundedMean(scale=Fraction(1, 2**30), lower=-1, upper=3, relation=relation)
    found = mean.release([0.5, -4.0, math.nan, 9.0, 1.25])

    assert found.value == pytest.approx(value, abs=1e-7)
    assert found.count == pytest.approx(count, abs=1e-7)


def test_half_a_budget_each_needs_twice_the_noise() -> None:
    """The standard deviation of a mean's numerator, against sum and count by themselves."""
    noise = np.random.default_rng(3)
    data, epsilon = [0.0] * 1000, 0.5
    both = BoundedMean(scale=2 / epsilon, lower=-1, upper=1, noise="laplace")
    means = both.release_many(data, 20_000, rng=noise)["value"]
    alone = noise.laplace(scale=2 * 1 / epsilon, size=20_000) / 1000

    assert np.std(means) / np.std(alone) == pytest.approx(1 / math.sqrt(2), rel=0.05)
