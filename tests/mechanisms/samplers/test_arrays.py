"""Integer arrays leave int64 rather than wrap; searches find the step from anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from dpproof.mechanisms.samplers.arrays import (
    Integers,
    first_accepted,
    largest_size,
    multiply_add,
    patched,
    subtract,
)
from dpproof.mechanisms.samplers.rng import largest

INT64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)


@given(st.integers(min_value=0, max_value=2**80), INT64, INT64)
@example(2**70, 0, 1)
def test_multiply_add_is_exact(factor: int, value: int, offset: int) -> None:
    """The result is that of Python's integers, at the edges too."""
    result = multiply_add(factor, np.array([value]), np.array([offset]))
    assert int(result[0]) == factor * value + offset


@given(INT64, INT64)
def test_subtract_is_exact(left: int, right: int) -> None:
    """The difference of any two int64 values is right."""
    assert int(subtract(np.array([left]), np.array([right]))[0]) == left - right


def test_largest_size_of_the_least_integer() -> None:
    """|-2^63| does not wrap, and an empty array has size 0."""
    assert largest_size(np.array([-(2**63), 5])) == 2**63
    assert largest_size(np.zeros(0, dtype=np.int64)) == 0


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**63, -(2**63) - 1])
def test_patched_keeps_every_value(value: int) -> None:
    """int64 is left exactly when a value does not fit, and the input is not changed."""
    fast = np.array([1, 2])
    result = patched(fast, {1: value})
    assert [int(k) for k in result] == [1, value]
    assert (result.dtype == np.int64) == (-(2**63) <= value < 2**63)
    assert fast.tolist() == [1, 2]


def test_first_accepted_keeps_the_order_and_drops_the_surplus() -> None:
    """The result is the start of the accepted sequence, whatever the size of the rounds."""
    made = 0

    def draw(proposals: int) -> Integers:
        nonlocal made
        numbers = np.arange(made, made + proposals)
        made += proposals
        kept: Integers = numbers[numbers % 50 == 0]
        return kept.astype(np.object_) if made > 3000 else kept

    result = first_accepted(100, draw, rate=1.0)
    assert [int(k) for k in result] == [50 * i for i in range(100)]


@given(
    st.integers(min_value=-(10**30), max_value=10**30),
    st.integers(min_value=-(10**30), max_value=10**30),
)
def test_largest_finds_the_step_from_any_guess(step: int, guess: int) -> None:
    """The answer does not depend on the guess, and distance costs logarithmically."""
    calls = 0

    def at_least(k: int) -> bool:
        nonlocal calls
        calls += 1
        return k <= step

    assert largest(at_least, guess) == step
    assert calls <= 2 * abs(step - guess).bit_length() + 4
