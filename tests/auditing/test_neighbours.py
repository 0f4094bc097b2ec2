"""Pairs of neighbours worth trying."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import auditing
from accountant import AddRemove, Relation, ReplaceOne, ZeroOut
from accountant.errors import ParameterError
from auditing import Outcome, all_differ, neighbours, permuted

RECORDS = st.lists(st.integers(-5, 5), max_size=4)
OTHERS = ["a new key", 10**9, (1, 2)]


def distance(one: Sequence[Any], other: Sequence[Any], relation: Relation) -> int:
    """How many records are added, removed or replaced, by brute force."""
    if isinstance(relation, AddRemove):
        left = list(other)
        extra = 0
        for record in one:
            if record in left:
                left.remove(record)
            else:
                extra += 1
        return extra + len(left)
    assert len(one) == len(other)
    return sum(a != b for a, b in zip(one, other, strict=True))


@given(data=RECORDS, relation=st.sampled_from([AddRemove(), ReplaceOne(), ZeroOut()]))
def test_pairs_are_neighbours(data: list[int], relation: Relation) -> None:
    """Every pair is at distance one, or equal where the replaced record is the same."""
    pairs = list(neighbours(data, relation=relation, records=OTHERS, blank="blank"))

    assert pairs or (isinstance(relation, ReplaceOne) and not data)
    assert all(distance(pair.data, pair.neighbour, relation) <= 1 for pair in pairs)
    assert len({pair.name for pair in pairs}) >= len(OTHERS) * bool(pairs)


def test_every_kind_is_there() -> None:
    """Extremes, nan, infinities, duplicates, the empty dataset; orders; values that all move."""
    pairs = list(neighbours([1.0, 2.0], relation=AddRemove()))
    added = [pair.data[-1] for pair in pairs]

    assert math.inf in added
    assert any(math.isnan(value) for value in added)
    assert any(pair.neighbour == [] for pair in pairs)
    assert [pair.neighbour for pair in permuted([1, 2, 3])] == [[3, 2, 1], [2, 3, 1]]
    assert [pair.neighbour for pair in all_differ([0.0, 0.0], 2.0)] == [
        [2.0, 2.0],
        [-2.0, -2.0],
        [2.0, -2.0],
    ]


def test_a_nan_finds_what_a_number_does_not() -> None:
    """A sum clipped by comparisons lets nan through; the nan pair refutes it, 1e6 does not."""

    def clipped(records: list[float], size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
        total = sum(record if not (record > 1 or record < 0) else 1.0 for record in records)
        return np.rint((total + rng.laplace(size=size)) * 2**30) / 2**30

    outcomes = {
        pair.name: auditing.audit(clipped, pair, (1, 0), samples=500, significance=1e-6).outcome
        for pair in neighbours([0.5], relation=AddRemove(), records=[math.nan, 1e6])
    }

    assert outcomes["nan added"] is Outcome.VIOLATION
    assert outcomes["1000000.0 added"] is not Outcome.VIOLATION


def test_refuses_what_is_no_relation() -> None:
    """A relation is one of the three."""
    with pytest.raises(ParameterError):
        list(neighbours([1], relation="add-remove"))  # type: ignore[arg-type]
