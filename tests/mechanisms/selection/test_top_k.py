"""Peeling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import (
    ExponentialMechanism,
    Laplace,
    PermuteAndFlip,
    ReplayRng,
    ReportNoisyMax,
    TopK,
)
from tests.contracts.mechanism_contract import MechanismContract, one_bad


class TestTopK(MechanismContract):
    """Two of four candidates."""

    def mechanism(self) -> TopK[AddRemove]:
        """By the exponential mechanism."""
        return TopK(ExponentialMechanism(epsilon=0.5, sensitivity=LInf(1)), k=2)

    def data(self) -> object:
        """Scores."""
        return [1.0, 3.0, 0.0, 2.5]

    def neighbour(self) -> object:
        """Each score moves by 1."""
        return [2.0, 2.0, 1.0, 1.5]

    def increasing_noise(self) -> Sequence[TopK[AddRemove]]:
        """Smaller and smaller epsilons."""
        return [
            TopK(PermuteAndFlip(epsilon=epsilon, sensitivity=LInf(1)), k=2)
            for epsilon in (2, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Another mechanism, and numbers that are none."""
        return one_bad(
            TopK,
            good={"pick": PermuteAndFlip(epsilon=1, sensitivity=LInf(1)), "k": 2},
            bad={"pick": (Laplace(scale=1, sensitivity=L1(1)), None), "k": (0, -1, 1.5, "2")},
        )


@pytest.mark.parametrize(
    "pick",
    [
        ExponentialMechanism(epsilon=1, sensitivity=LInf(1)),
        ReportNoisyMax(epsilon=1, noise="gumbel", sensitivity=LInf(1)),
        ReportNoisyMax(epsilon=1, noise="laplace", sensitivity=LInf(1)),
    ],
)
def test_is_a_pick_from_those_left(pick: Any) -> None:  # noqa: ANN401
    """No candidate twice, and for Gumbel noise the law of picking without replacement."""
    scores = [0.0, 1.0, 2.0, 0.5]
    drawn = np.asarray(TopK(pick, k=3).release_many(scores, 40_000, rng=ReplayRng(2)))

    assert all(len(set(row)) == 3 for row in np.unique(drawn, axis=0).tolist())
    if pick == ReportNoisyMax(epsilon=1, noise="laplace", sensitivity=LInf(1)):
        return
    weights = [math.exp(score / 2) for score in scores]
    for order in itertools.permutations(range(4), 3):
        left, mass = sum(weights), 1.0
        for one in order:
            mass, left = mass * weights[one] / left, left - weights[one]
        found = (drawn == order).all(axis=1).mean()
        assert abs(found - mass) < 0.019  # Hoeffding at 1e-12 for these fixed draws


def test_costs_what_as_many_picks_do() -> None:
    """The guarantee of repetition; one pick is the mechanism itself."""
    pick = PermuteAndFlip(epsilon=0.5, sensitivity=LInf(1))

    assert TopK(pick, k=5).guarantee() == pick.repeat(5).guarantee()
    assert TopK(pick, k=1).guarantee() == pick.guarantee()
    with pytest.raises(ParameterError, match="at least 5 candidates"):
        TopK(pick, k=5).release([1, 2, 3])


def test_acts_on_records_by_its_query() -> None:
    """The query is asked once for all picks."""
    asked: list[int] = []

    def scores(records: Sequence[float]) -> list[float]:
        asked.append(len(records))
        return [0.0, 500.0 * len(records), 900.0 * len(records)]

    best = TopK(PermuteAndFlip(epsilon=1, query=scores, sensitivity=LInf(1)), k=2)
    assert best.acts_on_records
    assert best.release([1.0, 2.0]).tolist() == [2, 1]
    assert asked == [2]
