"""Votes of code that nobody trusts."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, BoundedRange, ReplaceOne
from dpproof.mechanisms import Aggregated, aggregated
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad


def most_frequent(records: Sequence[int]) -> int:
    """The first of the most frequent records; it raises if there are none."""
    return max(sorted(set(records)), key=list(records).count)


GOOD: dict[str, Any] = {"vote": most_frequent, "epsilon": 1, "blocks": 2, "candidates": 3}


class TestAggregated(MechanismContract):
    """Two blocks, three candidates."""

    def mechanism(self) -> Aggregated[Any]:
        """Return the mechanism at epsilon 1."""
        return aggregated(**GOOD, relation=AddRemove())

    def data(self) -> list[int]:
        """A few of each."""
        return [0, 1, 2, 2, 1, 2, 0, 2]

    def increasing_noise(self) -> Sequence[Aggregated[Any]]:
        """Epsilon from 4 to a tenth."""
        return [aggregated(**{**GOOD, "epsilon": e}, relation=AddRemove()) for e in (4, 1, 0.1)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "vote": (3, None),
            "epsilon": NOT_POSITIVE,
            "blocks": (0, 2.5, 2**21),
            "candidates": (0, "3"),
            "relation": ("add-remove", None),
        }
        return one_bad(aggregated, good={**GOOD, "relation": AddRemove()}, bad=bad)


def hostile(records: Sequence[int]) -> object:
    """Wrong numbers, no numbers and errors, depending on the records."""
    return [7, "x", -1, None, 1][sum(records) % 5] if len(records) % 3 else 1 // 0


class Unsound(int):
    """A number that fails when it is read."""

    def __int__(self) -> int:
        """Raise."""
        raise ValueError


@pytest.mark.parametrize("fails", [sys.exit, lambda: Unsound(1)], ids=["exit", "unsound"])
def test_votes_that_exit_or_cannot_be_read_do_not_vote(fails: Callable[[], object]) -> None:
    """A block that exits, or returns a number that raises, changes the counts and nothing else."""

    def vote(records: Sequence[int]) -> object:
        return fails() if 2 in records else 0

    pick = aggregated(**{**GOOD, "vote": vote}, relation=AddRemove())
    assert pick._counts([2, 1, 1], np.array([0, 1, 1])).tolist() == [1, 0, 0]


def test_one_record_moves_two_counts_by_one() -> None:
    """Over all splits of three records into two blocks, whatever votes, for both relations."""
    for vote in (most_frequent, hostile):
        pick = aggregated(**{**GOOD, "vote": vote, "blocks": 2}, relation=AddRemove())
        for records in itertools.product(range(3), repeat=3):
            for place in itertools.product(range(2), repeat=3):
                whole = pick._counts(list(records), np.array(place))
                less = pick._counts(list(records[:-1]), np.array(place[:-1]))
                other = pick._counts([*records[:-1], 1], np.array(place))
                for moved in (whole - less, whole - other):
                    assert np.abs(moved).max() <= 1
                    assert np.abs(moved).sum() <= 2


def test_price_and_pick() -> None:
    """Bounded range of epsilon under every relation, and the common vote wins."""
    assert aggregated(**GOOD, relation=AddRemove()).guarantee() == BoundedRange(epsilon=1)
    replaced = aggregated(**GOOD, relation=ReplaceOne())
    assert replaced.guarantee() == BoundedRange(epsilon=1, relation=ReplaceOne())
    wide = aggregated(**{**GOOD, "blocks": 120}, relation=AddRemove())
    assert wide.release([0, 1, 1, 1] * 600) == 1
