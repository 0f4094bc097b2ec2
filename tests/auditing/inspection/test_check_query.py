"""Queries in floating point and in few bits, looked at without statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from dpproof.accountant import L1, L2, AddRemove, LInf, Relation, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import FactKind, Inspection, Pair, check_query
from dpproof.mechanisms import ClippedSum, Count, Scores

Floats = NDArray[np.float64]


def sequential_sum(records: NDArray[np.float32]) -> np.float32:
    """Clipped to [0, 4096] and added one after the other, in float32."""
    total = np.float32(0)
    for record in np.clip(np.nan_to_num(records), 0, 4096):
        total += record
    return total


def kinds(query: Callable[..., Any], data: Any, sensitivity: Any, **options: Any) -> set[str]:  # noqa: ANN401
    """The kinds of facts that a check finds under add-remove."""
    seen = check_query(query, data, sensitivity=sensitivity, **options)
    return {kind.name for kind in seen.kinds}


def test_the_order_of_a_float32_sum() -> None:
    """The same multiset in two orders: 16,777,216 and 16,779,216, where 0 is allowed."""
    big, small = np.full(4096, 4096, dtype=np.float32), np.ones(2000, dtype=np.float32)
    first, other = np.concatenate([big, small]), np.concatenate([small[::-1], big])

    assert (float(sequential_sum(first)), float(sequential_sum(other))) == (16777216.0, 16779216.0)
    assert "ORDER" in kinds(sequential_sum, first, L1(4096), records=())
    seen = check_query(
        sequential_sum,
        first[:0],
        sensitivity=L1(4096, ReplaceOne()),
        pairs=[Pair(first, first, "as it is")],
        records=(),
    )
    assert [(fact.kind, fact.measured) for fact in seen.facts] == [(FactKind.ORDER, 2000.0)]


@pytest.mark.parametrize(
    ("query", "sensitivity", "expected"),
    [
        (lambda r: np.int8(np.uint8(len(r) % 256).astype(np.int8)), L1(1), {"WRAPPED"}),
        (lambda r: np.sum(np.clip(r, 0, 100).astype(np.int8), dtype=np.int8), L1(100), {"WRAPPED"}),
        (lambda r: np.bincount(np.zeros(len(r), dtype=int), minlength=2).astype(np.uint16),
         L1(1), {"WRAPPED"}),
        (np.sum, L1(1), {"SENSITIVITY"}),
        (lambda r: np.mean(np.clip(r, 0, 1)), L1(1), {"NOT_FINITE"}),
        (lambda r: r[0], LInf(2**70), {"RAISED", "ORDER"}),
        (lambda r: np.clip(r[:2], 0, 1), L1(10), {"SHAPE", "ORDER"}),
        (lambda r: -0.0 if len(r) % 2 else 0.0, L1(1), {"SIGNED_ZERO"}),
        (len, L1(1), set()),
        (lambda r: np.int64(np.clip(r, 0, 1).sum()), L1(1), set()),
    ],
    ids=["int8 count", "int8 sum", "uint16 histogram", "no clipping", "mean of nothing",
         "first record", "two records", "sign", "count", "clipped sum"],
)  # fmt: skip
def test_what_is_found(query: Callable[..., Any], sensitivity: Any, expected: set[str]) -> None:  # noqa: ANN401
    """Each way to be wrong has its kind, on whole numbers in an array; sound queries have none."""
    assert kinds(query, np.array([1, 0, 1]), sensitivity) == expected


def test_nan_gets_past_comparisons() -> None:
    """Clipping by comparisons lets nan through, clipping by minimum and maximum does too."""
    data = np.array([0.5, 0.25])

    assert kinds(lambda r: float(np.where(r > 1, 1, r).clip(0).sum()), data, L1(1)) == {
        "NOT_FINITE"
    }
    assert kinds(lambda r: float(np.clip(r, 0, 1).sum()), data, L1(1)) == {"NOT_FINITE"}
    assert kinds(lambda r: float(np.nan_to_num(np.clip(r, 0, 1)).sum()), data, L1(1)) == set()


def test_the_order_may_be_part_of_the_data() -> None:
    """A weighted sum of a time series depends on the order, and may when it is said so."""

    def weighted(records: Floats) -> float:
        return float(sum(w * min(max(r, 0), 1) for w, r in enumerate(records) if w < 2))

    data = np.array([1.0, 0.0])

    assert "ORDER" in kinds(weighted, data, L1(1), records=[0.5])
    assert kinds(weighted, data, L1(1), records=[0.5], ordered=True) == set()


@given(
    data=st.lists(st.floats(width=64), max_size=5),
    record=st.floats(width=64),
    relation=st.sampled_from([AddRemove(), ReplaceOne(), ZeroOut()]),
)
def test_our_queries_are_exact(data: list[float], record: float, relation: Relation) -> None:
    """No fact about ours on any pair that hypothesis finds, at the stated sensitivity."""
    total = ClippedSum(lower=-1, upper=1, granularity=2**-10)
    moved = 2 if isinstance(relation, ReplaceOne) else 1
    seen = _pair_of(total, data, record, L1(moved, relation))
    counted = _pair_of(Count(), data, record, L1(1, relation))

    assert seen.facts == (), str(seen)
    assert counted.facts == (), str(counted)


def _pair_of(
    query: Callable[..., Any], data: list[float], record: float, norm: L1[Any]
) -> Inspection:
    """One pair: the record is replaced, or is the one that is there or not."""
    pair = ([record, *data], [0.0, *data] if not isinstance(norm.relation, AddRemove) else data)
    return check_query(query, [], sensitivity=norm, pairs=[pair], records=(), blank=0.0)


def test_scores_of_candidates() -> None:
    """A vector of scores moves by one in the largest coordinate."""
    scores = Scores(candidates=("tea", "milk"), score=lambda words, c: list(words).count(c))

    assert kinds(scores, ["tea", "milk", "tea"], LInf(1)) == set()
    assert kinds(scores, ["tea", "milk", "tea"], L2(0.5)) == {"SENSITIVITY"}


def test_the_movement_is_measured() -> None:
    """The report has the largest movement, its pair, and what was declared."""
    seen = check_query(lambda r: 2.5 * len(r), [0.0], sensitivity=L1(3), records=[1.0])
    (movement,) = seen.movements

    assert (movement.measured, movement.declared, movement.norm) == (2.5, 3.0, "L1")
    assert seen.seed is None


@pytest.mark.parametrize("sensitivity", [1, None, "L1"])
def test_refuses_what_is_no_sensitivity(sensitivity: Any) -> None:  # noqa: ANN401
    """A number does not say in which norm."""
    with pytest.raises(ParameterError, match="sensitivity"):
        check_query(len, [1], sensitivity=sensitivity)
