"""Pairs of neighbours worth trying."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof import auditing
from dpproof.accountant import AddRemove, Relation, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Outcome, all_differ, crowded, neighbours, permuted, records_like

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


@given(data=RECORDS.filter(bool), relation=st.sampled_from([AddRemove(), ReplaceOne(), ZeroOut()]))
def test_crowds_are_neighbours(data: list[int], relation: Relation) -> None:
    """However many records there are, one differs."""
    pairs = list(crowded(data, relation=relation, records=OTHERS, sizes=(3, 7), blank="blank"))

    assert len(pairs) == 3 * len(OTHERS) + 2
    assert all(distance(pair.data, pair.neighbour, relation) <= 1 for pair in pairs)


def test_crowds_have_their_size() -> None:
    """The default sizes are those after which 8 and 16 bits go round."""
    pairs = list(crowded([1, 2], relation=AddRemove(), records=()))

    assert [len(pair.neighbour) for pair in pairs] == [127, 255, 32767, 65535]
    with pytest.raises(ParameterError, match="at least one record"):
        list(crowded([], relation=AddRemove()))


@pytest.mark.parametrize(
    ("data", "present", "absent"),
    [
        ([1.5], [0.0, math.inf], [2**31 - 1]),
        ([1], [2**31 - 1, -(2**63), math.inf], []),
        (np.array([1], dtype=np.int8), [127, -128, 1], []),
        (["b", "a"], ["", "b, and not"], ["b", "a"]),
        ([(1.0, 2.0)], [(1e6, 1e6), (1e6, 2.0)], [1e6]),
        ([], [0.0, math.inf], []),
        ([None], [], [0.0]),
    ],
    ids=["floats", "whole numbers", "int8", "keys", "rows", "nothing", "other things"],
)
def test_records_are_like_the_data(data: Any, present: list[Any], absent: list[Any]) -> None:  # noqa: ANN401
    """Numbers, ends of types, new keys, and rows, as the first record is."""
    records = records_like(data)

    assert all(record in records for record in present)
    assert not any(record in records for record in absent)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64, "U1", object])
def test_arrays_give_arrays(dtype: Any) -> None:  # noqa: ANN401
    """Every side has the type of the data, and nothing was rounded into it."""
    data = np.array(["1", "2"] if dtype == "U1" else [1, 2], dtype=dtype)
    pairs = list(neighbours(data, relation=AddRemove())) + list(permuted(data))

    assert len(pairs) >= 4
    for side in (side for pair in pairs for side in (pair.data, pair.neighbour)):
        assert isinstance(side, np.ndarray)
        assert side.dtype.kind == data.dtype.kind
    if dtype is np.int8:
        assert max(pair.data.max() for pair in pairs) == 127
        assert not any("inf" in pair.name for pair in pairs)


def test_rows_of_arrays() -> None:
    """A matrix gives matrices, of the same width."""
    pairs = list(neighbours(np.zeros((3, 2)), relation=AddRemove()))

    assert {pair.data.shape for pair in pairs} == {(4, 2), (1, 2)}
    assert {pair.neighbour.shape for pair in pairs} == {(3, 2), (0, 2)}


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


def test_labels_alone_are_replaced() -> None:
    """Under replace-label the features of a row stay, for rows of arrays and pairs (x, y)."""
    rows = np.array([[0.5, 1.0], [0.25, -1.0]])
    pairs = list(neighbours(rows, relation=ReplaceLabel()))

    assert pairs
    assert all((pair.data[:, 0] == rows[:, 0]).all() for pair in pairs)
    found = list(neighbours([("a", 1)], relation=ReplaceLabel(), records=[("b", -1)]))
    assert [pair.data for pair in found] == [[("a", -1)], [("a", 1)]]
    assert not list(neighbours([1.0], relation=ReplaceLabel()))
