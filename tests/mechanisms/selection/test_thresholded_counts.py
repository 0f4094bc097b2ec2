"""Noisy counts above a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.mechanisms import ReplayRng, ThresholdedCounts
from dpproof.mechanisms.noise.histogram import Noise
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad


@pytest.mark.slow
class TestThresholdedCounts(MechanismContract):
    """On counts of which some are published."""

    def mechanism(self) -> ThresholdedCounts[AddRemove]:
        """Laplace noise, two partitions a record."""
        return ThresholdedCounts(scale=2, delta=1e-9, contributions=2, relation=AddRemove())

    def data(self) -> object:
        """None, one, and about the threshold of 42."""
        return [0, 1, 45, 40]

    def neighbour(self) -> object:
        """One more record, in two partitions."""
        return [1, 1, 46, 40]

    def increasing_noise(self) -> Sequence[ThresholdedCounts[AddRemove]]:
        """More and more."""
        return [ThresholdedCounts(scale=b, delta=1e-9, relation=AddRemove()) for b in (1, 4, 20)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            ThresholdedCounts,
            good={"scale": 1, "delta": 0.01, "relation": AddRemove()},
            bad={
                "scale": NOT_POSITIVE,
                "delta": (0, 0.75, -1, "1", 2.0**-201),
                "noise": ("uniform", None),
                "contributions": (0, -1, 1.5, None),
                "relation": (AddRemove, None),
                "query": ([1, 2],),
            },
        )


@pytest.mark.slow
class TestThresholdedCountsReplaced(TestThresholdedCounts):
    """With Gaussian noise, under replace-one."""

    def mechanism(self) -> Any:  # noqa: ANN401 - of another relation
        """Four counts move."""
        return ThresholdedCounts(
            scale=4, delta=1e-9, noise="gaussian", contributions=2, relation=ReplaceOne()
        )

    def neighbour(self) -> object:
        """One record enters two partitions and leaves two."""
        return [1, 0, 46, 39]


def law(count: int, threshold: int, noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(not published), P(threshold), P(threshold + 1), ... of one count; noise from -300 on."""
    if count == 0:
        return np.array([1.0, *[0.0] * 300])
    first = threshold - count + 300
    return np.array([noise[:first].sum(), *noise[first : first + 299], noise[first + 299 :].sum()])


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_pair_is_above_what_happens(noise: Noise) -> None:
    """By enumeration, of one count that moves and of two that move, one of them from 0."""
    z = np.arange(-300, 601)
    mass = np.exp(-np.abs(z) / 3) if noise == "laplace" else np.exp(-(z**2) / 18)
    mass /= mass.sum()
    one, two = (
        ThresholdedCounts(scale=3, delta=1e-3, noise=noise, contributions=k, relation=AddRemove())
        for k in (1, 2)
    )
    reached = law(1, one.threshold, mass)[1:].sum()
    assert 2e-4 < reached <= 1e-3
    epsilons = (-1.0, 0.0, 0.2, 0.4)
    allowed = {
        (m.contributions, e): m.guarantee().delta(epsilon=e).upper
        for m, e in product((one, two), epsilons)
    }
    for epsilon, count in product(epsilons, (0, 1, 5, 12, 20)):
        p, q = (law(n, one.threshold, mass) for n in (count, count + 1))
        p2, q2 = (law(n, two.threshold, mass) for n in (count, count + 1))
        r2, s2 = (law(n, two.threshold, mass) for n in (0, 1))
        cases = [(one, p, q), (two, np.outer(p2, r2), np.outer(q2, s2))]
        cases.append((two, np.outer(p2, s2), np.outer(q2, r2)))
        for mechanism, here, there in cases:
            stated = allowed[mechanism.contributions, epsilon]
            for left, right in ((here, there), (there, here)):
                found = np.maximum(left - math.exp(epsilon) * right, 0).sum()
                assert found <= stated + 1e-12


def test_the_threshold_is_the_least_for_laplace_noise() -> None:
    """One below, a single record is published too often."""
    mechanism = ThresholdedCounts(
        scale=Fraction(7, 2), delta=1e-5, contributions=3, relation=AddRemove()
    )
    often = [
        3 * math.exp(-(t - 1) / 3.5) / (1 + math.exp(-1 / 3.5))
        for t in (mechanism.threshold - 1, mechanism.threshold)
    ]

    assert often[1] <= 1e-5 < often[0]


def test_keys_are_published_with_counts() -> None:
    """Those that many records have, each record in as many as it may be; never what nobody has."""
    mechanism = ThresholdedCounts(scale=2, delta=1e-6, contributions=2, relation=AddRemove())
    records = [["a", "b", "c"]] * 500 + [["d"]]
    found = mechanism.keys(records, rng=ReplayRng(1))

    assert sorted(found) == ["a", "b"]
    assert all(abs(size - 500) < 60 for size in found.values())
    assert mechanism.keys([]) == {}
    assert mechanism.release_many([0], 50).max() == 0
    with pytest.raises(ParameterError, match="each at least 0"):
        mechanism.release([-1, 5])


def test_a_negative_count_is_told_by_its_place() -> None:
    """The refusal says where the first negative count is, and shows no count."""
    with pytest.raises(DataError, match="at position 1") as refusal:
        ThresholdedCounts(scale=1, delta=1e-6, relation=AddRemove()).release([17, -3, 403])

    assert not any(shown in str(refusal.value) for shown in ("17", "-3", "403"))
