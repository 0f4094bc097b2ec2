"""One number a record, each read by itself."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant import AddRemove
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import ClippedSum, Count, Histogram, Scores, bound_contributions
from dpproof.mechanisms.queries import real_column, real_values, require_query, whole_values


def test_numbers_of_any_size_are_read() -> None:
    """No number makes a release fail, and none changes how the others are read."""
    read = real_column([1, 2**70, -(10**400), Fraction(1, 3), 2**53 + 1])

    assert read.tolist() == [1.0, 2.0**70, -np.inf, 1 / 3, 2.0**53]


@pytest.mark.parametrize("data", [["4711"], [4711.0, None], [[4711.0]], [4711.0, [4711.0]], 4711])
def test_refusals_show_no_record(data: object) -> None:
    """What is no column of numbers is refused by its type, without the values."""
    with pytest.raises(ParameterError, match="a sequence of real numbers") as refused:
        real_column(data)

    assert "4711" not in str(refused.value)


RECORDS = st.lists(st.floats(width=64), max_size=20)


def test_count() -> None:
    """Records of any kind are counted."""
    assert Count()([]) == 0
    assert Count()(np.zeros((4, 2))) == 4


@given(RECORDS, st.randoms())
def test_order_does_not_matter(records: list[float], random: Random) -> None:
    """The same records in another order give the same sum, bit for bit."""
    query = ClippedSum(lower=-1, upper=3, granularity=2**-10)
    shuffled = list(records)
    random.shuffle(shuffled)

    assert query(records) == query(shuffled)


@given(RECORDS, st.floats(width=64), st.floats(width=64))
def test_sensitivity_is_exact(records: list[float], record: float, other: float) -> None:
    """One record moves the sum by at most the stated sensitivity, without any slack."""
    query = ClippedSum(lower=-1, upper=3, granularity=2**-10)
    with_one = Fraction(query([*records, record]))

    assert abs(with_one - Fraction(query(records))) <= 3
    assert abs(with_one - Fraction(query([*records, other]))) <= 4
    assert abs(with_one - Fraction(query([*records, float("nan")]))) <= 3


def test_sums_what_it_says() -> None:
    """Clip, round to the grid, add; nan counts as the bound nearest to 0, infinities clip."""
    query = ClippedSum(lower=-1, upper=2, granularity=0.25)

    assert (
        query([0.3, 5.0, -7.0, float("nan"), float("inf"), -math.inf]) == 0.25 + 2 - 1 + 0 + 2 - 1
    )
    assert query([]) == 0.0


def test_refuses_what_it_cannot_add_exactly() -> None:
    """Bounds off the grid, an empty interval, a grid that is no power of two, too many records."""
    for arguments in (
        {"lower": 1, "upper": 1},
        {"lower": 2, "upper": 1},
        {"lower": 0, "upper": 0.1},
        {"lower": float("nan"), "upper": 1},
        {"lower": 0, "upper": 1, "granularity": 0.3},
        {"lower": 0, "upper": 2**33, "granularity": 1},
    ):
        with pytest.raises(ParameterError):
            ClippedSum(**arguments)
    query = ClippedSum(lower=0, upper=2**32, granularity=1)
    with pytest.raises(ParameterError, match="records must be"):
        query([2.0**32] * 2**21 + [2.0**32])


def test_scores() -> None:
    """One score for each candidate, in order; candidates and score are required."""
    query = Scores(candidates=[1, 2, 3], score=lambda records, c: records.count(c))

    assert query([3, 3, 1]) == [1, 0, 2]
    nothing: Any = None
    with pytest.raises(ParameterError, match="candidates"):
        Scores(candidates=[], score=lambda _, c: c)
    with pytest.raises(ParameterError, match="score"):
        Scores(candidates=[1], score=nothing)


@given(samples=st.lists(st.lists(st.floats(), max_size=4), min_size=1, max_size=6))
@settings(max_examples=50)
def test_many_samples_together_are_each_by_itself(samples: list[list[float]]) -> None:
    """Sums and counts of many samples, as arrays or as lists, are those of each; () sums to 0."""
    total = ClippedSum(lower=-1, upper=2, granularity=2**-3)
    arrays = [np.array(one, dtype=float) for one in samples]

    assert total.on_each(arrays).tolist() == [total(one) for one in samples]
    assert total.on_each(samples).tolist() == [total(one) for one in samples]
    assert Count().on_each(arrays).tolist() == [len(one) for one in samples]


CELLS = ("a", "b", "c")


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("once", [True, False])
def test_a_user_moves_at_most_so_many_records(most: int, *, once: bool) -> None:
    """Over all sequences of four records of two users: the other's records stay as they are."""
    pairs = list(itertools.product((1, 2), CELLS))
    largest = 0
    for records in itertools.product(pairs, repeat=4):
        kept = bound_contributions(records, most, once=once)
        other = [record for record in records if record[0] != 1]
        alone = bound_contributions(other, most, once=once)
        counts = np.array([[list(part).count(cell) for cell in CELLS] for part in (kept, alone)])
        moved = counts[0] - counts[1]

        assert (moved >= 0).all()
        assert moved.sum() <= most
        assert not once or moved.max() <= 1
        largest = max(largest, int(moved.sum()))
    assert largest == most


def test_histograms_of_users() -> None:
    """Inside a query, the histogram's contributions are those of a user."""

    def table(visits: list[tuple[str, str]]) -> list[int]:
        return [bound_contributions(visits, 2, once=True).count(cell) for cell in CELLS]

    counts = Histogram(scale=1, contributions=2, query=table, relation=AddRemove())
    visits = [("ann", cell) for cell in "aaab"] * 50 + [("bob", "c")]

    assert counts.cells == 2
    assert np.abs(counts.release(visits) - np.array([1, 1, 1])).max() < 12


def test_refuses_a_limit_that_is_none() -> None:
    """At least one record."""
    for most in (0, 1.5, None):
        with pytest.raises(ParameterError, match="most"):
            bound_contributions([], most)  # type: ignore[arg-type]


def test_values_are_stacked() -> None:
    """One row for each dataset; a query is applied to each."""
    assert real_values(None, [1.5, 2.5]).tolist() == [1.5, 2.5]
    assert real_values(sum, [[1, 2], [3]]).tolist() == [3.0, 3.0]
    assert whole_values(len, ["ab", "abc"]).tolist() == [2, 3]
    assert whole_values(None, [np.zeros((2, 3), dtype=np.int8)]).shape == (1, 2, 3)


def test_values_are_exact() -> None:
    """float32 keeps its own value; a number that binary64 cannot hold is refused."""
    assert real_values(None, [np.float32(0.1)])[0] == float(np.float32(0.1))
    assert real_values(None, [Fraction(1, 8)])[0] == 0.125
    assert real_values(None, [2**53])[0] == 2.0**53
    assert real_values(None, [[1, 0.5, np.float32(0.1), np.int8(3)]]).shape == (1, 4)
    inexact = (2**53 + 1, [2**53 + 1, 0.5], Fraction(1, 3), 10**400, np.longdouble(1) / 3)
    for value in inexact:
        with pytest.raises(ParameterError, match="exactly a binary64"):
            real_values(None, [value])


def test_whole_values_keep_64_bits() -> None:
    """Integers up to 2^62 are exact."""
    assert whole_values(None, [2**62, -(2**62)]).tolist() == [2**62, -(2**62)]
    assert whole_values(None, [np.uint64(5)]).tolist() == [5]
    for value in (2**62 + 1, 1.0, Fraction(2), True, np.array([True]), [1, True]):
        with pytest.raises(ParameterError, match="integers"):
            whole_values(None, [value])


def test_one_shape() -> None:
    """Values of different shapes are refused: the shape itself would be released."""
    with pytest.raises(ParameterError, match="shape"):
        real_values(None, [[1.0], [1.0, 2.0]])


def test_a_query_is_a_function() -> None:
    """Anything callable, or None."""
    assert require_query(len) is len
    assert require_query(None) is None
    with pytest.raises(ParameterError, match="query"):
        require_query("len")
