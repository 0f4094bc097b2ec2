"""Metric differential privacy along paths."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.guarantees.pure_dp import MetricDP, PureDP
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.theorems.conversion import convert
from tests.contracts.guarantee_contract import GuaranteeContract, each

EPSILONS = np.linspace(-1.5, 1.5, 13)


class TestMetricDP(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[MetricDP[AddRemove]]:
        """Small, usual and large."""
        return (MetricDP(epsilon=0.1), MetricDP(epsilon=2))

    def replace_one(self) -> MetricDP[ReplaceOne]:
        """Under the other relation."""
        return MetricDP(epsilon=1, relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (-0.5, float("nan"), float("inf"), "1", None, True, 1j)
        return each(lambda value: MetricDP(epsilon=value), bad)

    def test_is_pure_at_the_same_epsilon(self) -> None:
        """The ends of a path are at distance 1."""
        assert convert(MetricDP(epsilon=2), to=PureDP) == PureDP(epsilon=2)


def path(ticks: int, steps: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    """Laws on ``ticks`` outputs, each from the last by e^{rates} up to a factor, and their length.

    Within a step the law at time u is in proportion to law e^{u rate}, and the log mass of an
    event moves at a speed of at most max |rate - E_u rate|, which is largest at an end of the step
    as E_u rate grows. Most rates are +1 on one half of the mass and -1 on the other: the extremes.
    """
    laws, length = [rng.dirichlet(np.full(ticks, 0.5)) + 1e-12], 0.0
    laws[0] /= laws[0].sum()
    for _ in range(steps):
        law = laws[-1]
        order = rng.permutation(ticks)
        rate = np.where(law[order].cumsum() <= 0.5, 1.0, -1.0)[np.argsort(order)] / steps
        if rng.random() < 0.3:
            rate *= rng.random(ticks)
        moved = law * np.exp(rate)
        moved /= moved.sum()
        means = np.array([law @ rate, moved @ rate])
        length += float(np.abs(rate[:, None] - means).max())
        laws.append(moved)
    return np.array([laws[0], laws[-1]]), length


def excess(count: int, seed: int) -> float:
    """The largest excess over the stated profile of random paths, at the epsilon that they have."""
    rng = np.random.default_rng(seed)
    worst = -math.inf
    for _ in range(count):
        laws, length = path(int(rng.integers(2, 7)), int(rng.integers(1, 40)), rng)
        if not length:
            continue
        upper = LaplacePair(epsilon=Fraction(length)).profile(EPSILONS)[1]
        for one, other in ((laws[0], laws[-1]), (laws[-1], laws[0])):
            found = np.maximum(one - np.exp(EPSILONS)[:, None] * other, 0).sum(axis=1)
            worst = max(worst, float((found - upper).max()))
    return worst


def test_random_paths_stay_below() -> None:
    """Paths of exponential tilts are never above the Laplace pair of their length."""
    assert excess(60, 7) <= 1e-12


@pytest.mark.slow
def test_thousands_of_random_paths_stay_below() -> None:
    """The same, of five thousand."""
    assert excess(5_000, 8) <= 1e-12


def test_pure_dp_alone_is_not_enough() -> None:
    """Randomised response is epsilon-DP, and above the Laplace pair: the path is needed."""
    answer = PureDP(epsilon=1).delta(epsilon=0)

    assert answer.lower > MetricDP(epsilon=1).delta(epsilon=0).upper
