"""A halfspace among public candidates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, BoundedRange, ReplaceOne
from dpproof.mechanisms import Records
from experiments.mistake_exponential import CandidateExponential
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad
from tests.contracts.weakened import assert_caught

CANDIDATES = [[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0], [0.6, -0.8]]
GOOD: dict[str, Any] = {"candidates": CANDIDATES, "margin": 0.1, "epsilon": 1}


class TestCandidateExponential(MechanismContract):
    """Four directions in the plane."""

    def mechanism(self) -> CandidateExponential[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return CandidateExponential(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Rows on every side."""
        return Records([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[CandidateExponential[AddRemove]]:
        """Epsilon from 4 to a hundredth."""
        return [
            CandidateExponential(**{**GOOD, "epsilon": e}, relation=AddRemove())
            for e in (4, 1, 0.1, 0.01)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "candidates": ([], [1.0, 2.0], [[0.0, 0.0]], [[np.nan, 1]], "ab", [[1], [1, 2]], None),
            "margin": (-0.1, float("nan"), None),
            "epsilon": NOT_POSITIVE,
            "norm": (0, -1, "1"),
            "relation": ("add-remove", None),
        }
        return one_bad(CandidateExponential, good={**GOOD, "relation": AddRemove()}, bad=bad)


def test_mistakes_move_by_one_in_the_same_direction() -> None:
    """On all datasets of two records of a grid; a bounded range of epsilon, half the factor RO."""
    pick = CandidateExponential(**GOOD, relation=AddRemove())
    universe = [
        (row, label)
        for row in ([1.0, 0.0], [0.05, 0.9], [-3.0, 4.0], [0.0, 0.0], [np.nan, 0.0])
        for label in (1, -1, 0)
    ]
    moved = [
        pick.mistakes([one, two]) - pick.mistakes([one])
        for one, two in itertools.product(universe, repeat=2)
    ]

    assert {int(x) for move in moved for x in move} == {0, 1}
    assert pick.guarantee() == BoundedRange(epsilon=1)
    replaced = CandidateExponential(**GOOD, relation=ReplaceOne())
    assert replaced.guarantee() == BoundedRange(epsilon=1, relation=ReplaceOne())


def test_picks_have_the_stated_probabilities() -> None:
    """Proportional to e^(-epsilon mistakes), half of it under replace-one."""
    data = Records([[1.0, 0.0]] * 2 + [[0.0, 1.0]], [1, 1, 1])
    for relation, factor in ((AddRemove(), 1.0), (ReplaceOne(), 0.5)):
        pick = CandidateExponential(**GOOD, relation=relation)
        weights = np.exp(-factor * np.array([1, 2, 3, 1]))
        expected = weights / weights.sum()
        seen = np.bincount(pick.release_many(data, 20_000)["index"], minlength=4) / 20_000

        assert pick.mistakes(data).tolist() == [1, 2, 3, 1]
        assert seen == pytest.approx(expected, abs=0.03)


def test_the_margin_is_in_data_units() -> None:
    """Margin and rows scale together; rows longer than the norm are clipped."""
    near = Records([[2.0, 1.0], [2.0, 5.0], [300.0, 400.0]], [1, 1, 1])
    pick = CandidateExponential(
        candidates=[[3, 0], [0, 1]], margin=2.5, epsilon=1, norm=10, relation=AddRemove()
    )

    assert pick.mistakes(near).tolist() == [2, 1]


def test_weakened_copies_are_caught() -> None:
    """Four times the epsilon; and the factor of add-remove, claimed under replace-one."""
    row, flipped = (Records([[1.0, 0.0]], [label]) for label in (1, -1))
    given: dict[str, Any] = {"candidates": [[1, 0], [0, 1], [-1, 0]], "margin": 0}
    claim = BoundedRange(epsilon=0.7, relation=ReplaceOne())

    assert_caught(
        CandidateExponential(**given, epsilon=2, relation=AddRemove()),
        CandidateExponential(**given, epsilon=0.5, relation=AddRemove()).guarantee(),
        (row, row[:0]),
    )
    assert_caught(
        CandidateExponential(**given, epsilon=0.7, relation=AddRemove()),
        claim,
        (row, flipped),
        8_000,
    )
