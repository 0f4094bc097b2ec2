"""Choosing among losses that records move by different amounts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, BoundedRange, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import GeneralisedExponential
from tests.contracts.mechanism_contract import MechanismContract, one_bad

MOVED = [1, 3, 0.5]
GOOD: dict[str, Any] = {"epsilon": 1, "sensitivities": MOVED}


class TestGeneralisedExponential(MechanismContract):
    """Three losses, which all rise with a record."""

    def mechanism(self) -> GeneralisedExponential[AddRemove]:
        """Monotone."""
        return GeneralisedExponential(**GOOD, monotone=True, relation=AddRemove())

    def data(self) -> list[float]:
        """Three losses."""
        return [4, 2, 5]

    def neighbour(self) -> list[float]:
        """As far away as may be."""
        return [4, 5, 5]

    def increasing_noise(self) -> Sequence[GeneralisedExponential[AddRemove]]:
        """From epsilon 4 to 1/50."""
        return [
            GeneralisedExponential(**{**GOOD, "epsilon": e}, relation=AddRemove())
            for e in (4, 1, 0.02)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "epsilon": (0, -1, None, float("inf")),
            "sensitivities": ([], [1, 0], [1, -2], [1, float("nan")], None, 3, "ab"),
            "failure": (0, 1, None),
            "monotone": (1, None),
        }
        refused = {**GOOD, "monotone": True, "relation": ReplaceOne()}
        return [
            *one_bad(GeneralisedExponential, good={**GOOD, "relation": AddRemove()}, bad=bad),
            lambda: GeneralisedExponential(**refused),
        ]


def worst(pick: GeneralisedExponential[Any], moves: Sequence[Sequence[float]]) -> float:
    """The longest interval of log ratios over many losses and the given moves of each."""
    rng, found = np.random.default_rng(3), 0.0
    for _ in range(20):
        losses = (rng.integers(0, 30, size=3) * rng.choice([0.1, 1])).tolist()
        for move in itertools.product(*moves):
            one, other = (
                pick.scores(x) for x in (losses, [a + b for a, b in zip(losses, move, strict=True)])
            )
            gaps = [float(a - b) for a, b in zip(one, other, strict=True)]
            found = max(found, float(pick.epsilon) * (max(gaps) - min(gaps)) / 2)
    return found


def test_the_range_is_epsilon_and_is_attained_nearly() -> None:
    """Exact scores on random losses: monotone moves, and moves in both directions."""
    up = [[0, moved] for moved in MOVED]
    both = [[-moved, 0, moved] for moved in MOVED]
    rising = GeneralisedExponential(**GOOD, monotone=True, relation=AddRemove())
    summed = GeneralisedExponential(**GOOD, relation=AddRemove())

    assert 0.75 < worst(rising, up) <= 1
    assert 0.75 < worst(summed, both) <= 1
    assert worst(rising, both) > 1.1  # why replace-one is refused


def test_probabilities_are_those_of_the_scores() -> None:
    """Twenty thousand draws within five standard deviations, missed with probability below 1e-5."""
    pick = GeneralisedExponential(epsilon=2, sensitivities=MOVED, failure=0.5, relation=AddRemove())
    weights = np.exp([-float(score) for score in pick.scores([4, 2, 5])])
    law = weights / weights.sum()
    drawn = pick.release_many([4, 2, 5], 20_000, rng=np.random.default_rng(7))
    shares = np.bincount(drawn, minlength=3) / 20_000

    assert (np.abs(shares - law) < 5 * np.sqrt(law * (1 - law) / 20_000)).all()


def test_the_pick_is_as_good_as_stated() -> None:
    """The excess over every candidate fails at most with the stated probability."""
    pick = GeneralisedExponential(
        epsilon=1, sensitivities=[1, 50], failure=0.1, relation=AddRemove()
    )
    losses = [20, 3]
    weights = [math.exp(-float(score) / 2) for score in pick.scores(losses)]
    failed = sum(
        weight
        for i, weight in enumerate(weights)
        if any(losses[i] > losses[j] + pick.excess(j) for j in range(2))
    )

    assert failed <= 0.1 * sum(weights)
    with pytest.raises(ParameterError, match="candidate must be"):
        pick.excess(2)


def test_refusals() -> None:
    """Losses outside their domain are named."""
    for losses in ([1, 2], [1, 2, float("nan")], [1, 2, "3"], 7):
        with pytest.raises(ParameterError, match="losses must be"):
            GeneralisedExponential(**GOOD, relation=AddRemove()).release(losses)
    assert GeneralisedExponential(**GOOD, relation=AddRemove()).scores(
        np.array([1, 2, 3])
    ) == GeneralisedExponential(**GOOD, relation=AddRemove()).scores([Fraction(1), 2.0, 3])
    assert isinstance(
        GeneralisedExponential(**GOOD, relation=AddRemove()).guarantee(), BoundedRange
    )
