"""Means of clipped numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.side_conditions import BLANK_IGNORED
from dpproof.mechanisms import BoundedMean, BoundedSum, Gaussian
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.statistics.neighbouring_columns import BOUNDS, RELATIONS, neighbours


class TestBoundedMean(MechanismContract):
    """Gaussian noise on two sums."""

    def mechanism(self) -> BoundedMean[AddRemove]:
        """Values from 2 to 4."""
        return BoundedMean(scale=3, lower=2, upper=4, relation=AddRemove())

    def data(self) -> object:
        """Some inside, some outside, one blank."""
        return [2.5, -4.0, math.nan, 9.0]

    def increasing_noise(self) -> Sequence[BoundedMean[AddRemove]]:
        """From half the sensitivity to ten times."""
        return [BoundedMean(scale=s, lower=2, upper=4, relation=AddRemove()) for s in (1, 4, 20)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "scale": NOT_POSITIVE,
            "lower": (2, 3, math.nan),
            "upper": (-1, 1, math.inf, None),
            "noise": ("uniform", None),
            "relation": (AddRemove,),
        }
        return one_bad(
            BoundedMean, good={"scale": 1, "lower": 1, "upper": 2, "relation": AddRemove()}, bad=bad
        )


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
    noise = Gaussian(sigma=1, sensitivity=L2(width, relation))

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
    both = BoundedMean(scale=2 / epsilon, lower=-1, upper=1, noise="laplace", relation=AddRemove())
    means = both.release_many(data, 20_000, rng=noise)["value"]
    alone = noise.laplace(scale=2 * 1 / epsilon, size=20_000) / 1000

    assert np.std(means) / np.std(alone) == pytest.approx(1 / math.sqrt(2), rel=0.05)


class TestBoundedSum(MechanismContract):
    """Laplace noise on a sum."""

    def mechanism(self) -> BoundedSum[AddRemove]:
        """Values from -1 to 3."""
        return BoundedSum(scale=5, lower=-1, upper=3, noise="laplace", relation=AddRemove())

    def data(self) -> object:
        """Some inside, some outside, one blank."""
        return [0.5, -4.0, math.nan, 9.0]

    def increasing_noise(self) -> Sequence[BoundedSum[AddRemove]]:
        """From a third of the sensitivity to ten times."""
        return [BoundedSum(scale=s, lower=-1, upper=3, relation=AddRemove()) for s in (1, 4, 30)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "scale": NOT_POSITIVE,
            "lower": (2, 3, math.nan, -math.inf, -(2.0**251), "0"),
            "upper": (-1, 1, math.inf, None),
            "noise": ("uniform", None, ["laplace"]),
            "relation": (AddRemove, "add-remove"),
        }
        return one_bad(
            BoundedSum, good={"scale": 1, "lower": 1, "upper": 2, "relation": AddRemove()}, bad=bad
        )


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_bounded_sum_the_sensitivity_is_attained_and_never_exceeded(
    relation: Relation, lower: float, upper: float
) -> None:
    """Over all neighbours, sums move by the stated sensitivity, but for a step of the grid."""
    total = BoundedSum(scale=1, lower=lower, upper=upper, relation=relation)
    moved = max(abs(total.total(x) - total.total(y)) for x, y in neighbours(relation))
    width, largest = Fraction(upper) - Fraction(lower), Fraction(max(abs(lower), abs(upper)))
    stated = width if isinstance(relation, ReplaceOne) else largest
    noise = Gaussian(sigma=1, sensitivity=L2(stated, relation))

    assert moved <= stated
    assert moved >= stated * (1 - Fraction(1, 2**22))
    assert total.guarantee() == noise.guarantee()


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_sums_are_exact(relation: Relation) -> None:
    """With next to no noise: the sum of the clipped values, a blank near 0."""
    total = BoundedSum(scale=Fraction(1, 2**30), lower=-1, upper=3, relation=relation)

    assert total.release([0.5, -4.0, math.nan, 9.0, 1.25]) == pytest.approx(3.75, abs=1e-7)


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_a_blank_is_as_good_as_no_record_where_samples_assume_it(
    lower: float, upper: float
) -> None:
    """Under zero-out a sum with a blank is that without, as theorems about samples take it."""
    total = BoundedSum(scale=1, lower=lower, upper=upper, relation=ZeroOut())
    sampled = total.subsample(Poisson(sampling_rate=0.25)).guarantee()

    assert BLANK_IGNORED() in sampled.derivation.all_assumptions()
    assert total.total([1.75, math.nan, -2.5]) == total.total([1.75, -2.5])
