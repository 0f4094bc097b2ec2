"""Queries that compute exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import ClippedSum, Count, Scores

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
