"""Randomised response."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, ReplaceOne, ZeroOut
from dpproof.mechanisms import RandomizedResponse
from tests.contracts.mechanism_contract import (
    NOT_POSITIVE,
    ExactLawContract,
    MechanismContract,
    one_bad,
)

EPSILON = 1.25
CATEGORIES = 5


def majority(votes: Sequence[int]) -> int:
    """The most frequent category, the smallest of several, 0 of none."""
    return int(np.bincount(np.asarray(votes, dtype=np.int64), minlength=1).argmax())


class TestRandomizedResponse(ExactLawContract):
    """On one categorical value."""

    def mechanism(self) -> RandomizedResponse[AddRemove]:
        """Five categories."""
        return RandomizedResponse(epsilon=EPSILON, categories=CATEGORIES, relation=AddRemove())

    def data(self) -> object:
        """One category."""
        return 3

    def neighbour(self) -> object:
        """Another category."""
        return 0

    def increasing_noise(self) -> Sequence[RandomizedResponse[AddRemove]]:
        """Epsilon from 3 down to 1/10."""
        return [
            RandomizedResponse(epsilon=e, categories=3, relation=AddRemove()) for e in (3, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            RandomizedResponse,
            good={"epsilon": 1, "categories": 3, "relation": AddRemove()},
            bad={
                "epsilon": (*NOT_POSITIVE, 1025),
                "categories": (1, 0, -2, 2.0, "3", True, None, 2**62 + 1),
                "relation": ("replace-one", None),
                "query": (3,),
            },
        )

    def shift(self) -> int:
        """Any other category is as far as the next."""
        return 1

    def window_start(self) -> int:
        """The first category."""
        return 0

    def law(self, value: int) -> NDArray[np.float64]:
        """e^epsilon for the value, 1 for the others, normalised."""
        weights = np.ones(CATEGORIES)
        weights[value] = math.exp(EPSILON)
        return np.asarray(weights / weights.sum(), dtype=np.float64)


class TestRandomizedResponseOnRecords(MechanismContract):
    """Carrying its query."""

    def mechanism(self) -> RandomizedResponse[AddRemove]:
        """The majority, randomised."""
        return RandomizedResponse(epsilon=1, categories=3, query=majority, relation=AddRemove())

    def data(self) -> object:
        """Votes."""
        return [2, 2, 1, 0]

    def increasing_noise(self) -> Sequence[RandomizedResponse[AddRemove]]:
        """Epsilon from 3 down to 1/10."""
        return [
            RandomizedResponse(epsilon=e, query=majority, relation=AddRemove()) for e in (3, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A query that is not one."""
        return one_bad(
            RandomizedResponse,
            good={"epsilon": 1, "relation": AddRemove()},
            bad={"query": ("majority", 3)},
        )


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne(), ZeroOut()])
def test_pure_epsilon_under_every_relation(relation: AddRemove | ReplaceOne | ZeroOut) -> None:
    """One value out of k may become any other: epsilon-DP, whatever the relation."""
    guarantee = RandomizedResponse(epsilon=0.5, categories=7, relation=relation).guarantee()

    assert 0.5 in guarantee.epsilon(delta=0)
    assert guarantee.relation == relation


@pytest.mark.parametrize("value", [-1, 5, 1.0, "a", None, True, [0, 1], [[2]]])
def test_refuses_what_is_not_one_category(value: object) -> None:
    """A list of answers would release how many there are."""
    with pytest.raises(ParameterError, match="value must be"):
        RandomizedResponse(epsilon=1, categories=5, relation=AddRemove()).release(value)
