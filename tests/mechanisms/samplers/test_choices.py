"""Randomized response, uniform integers and subsets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import (
    discrete,
    poisson_mask,
    randomized_response,
    subset_without_replacement,
    subsets_without_replacement,
    uniform_below,
)
from dpproof.mechanisms.samplers.rng import ReplayRng
from tests.mechanisms.samplers.support import (
    Scripted,
    digits,
    exactly,
    separate_refinement,
    slow_path,
    split,
)

TOP = 2**64 - 1


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with mpmath.workprec(600):
        yield


@pytest.mark.parametrize(("epsilon", "categories"), [(Fraction(1), 2), (Fraction(7, 3), 10)])
@pytest.mark.parametrize("offset", [-1, 0])
def test_keeping_is_decided_by_late_digits(epsilon: Fraction, categories: int, offset: int) -> None:
    """Digits that agree with the keep probability for 256 places fall as what follows says."""
    power = mpmath.exp(exactly(epsilon))
    words = split(digits(power / (power + categories - 1), 256) + offset, 256)
    ending = TOP if offset == 0 else 0
    rng = Scripted([*words, ending, ending])
    (drawn,) = randomized_response([1], categories, epsilon, rng)
    assert (drawn == 1) == (offset == -1)


def test_slow_path_gives_the_same_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bracket wide open, each coin is decided by integers, and none changes."""
    truth = np.arange(300) % 5
    fast = randomized_response(truth, 5, Fraction(1), ReplayRng(1))
    counted = separate_refinement(monkeypatch, 2)
    slow_path(monkeypatch)
    assert np.array_equal(randomized_response(truth, 5, Fraction(1), ReplayRng(1)), fast)
    assert counted[0] >= 300


def test_a_replaced_response_is_never_the_truth() -> None:
    """With coins that all say replace, every other category occurs and the truth does not."""
    truth = np.repeat(np.arange(4), 200)
    rng = Scripted([TOP] * 800)
    drawn = randomized_response(truth, 4, Fraction(0), rng)
    for value in range(4):
        assert set(drawn[truth == value].tolist()) == set(range(4)) - {value}


def test_responses_keep_their_shape() -> None:
    """Any shape in, the same shape out, int64."""
    drawn = randomized_response(np.zeros((2, 3), dtype=np.uint8), 2, 1, ReplayRng(1))
    assert drawn.shape == (2, 3)
    assert drawn.dtype == np.int64


@given(st.integers(min_value=1, max_value=2**130), st.integers(min_value=0, max_value=2**40))
def test_uniform_integers_are_in_range(bound: int, seed: int) -> None:
    """Every bound, within and beyond 64 bits, is respected."""
    drawn = uniform_below(bound, 5, ReplayRng(seed))
    assert len(drawn) == 5
    assert all(0 <= int(k) < bound for k in drawn)


@pytest.mark.parametrize("bound", [3, 10, 2**63 - 1, 2**63])
def test_blocks_above_the_last_multiple_are_dropped(bound: int) -> None:
    """Words from the limit up are dropped; the largest kept is bound - 1."""
    limit = 2**64 - 2**64 % bound
    dropped = [limit, TOP] if limit <= TOP else []
    drawn = uniform_below(bound, 2, Scripted([*dropped, limit - 1, *dropped, 0]))
    assert [int(k) for k in drawn] == [bound - 1, 0]


def test_large_bounds_use_whole_blocks() -> None:
    """For bounds beyond 2^63 the words are digits of one integer, lowest first."""
    assert int(uniform_below(2**100, 1, Scripted([5, 7]))[0]) == 5 + (7 << 64)
    assert uniform_below(2**100, 0, ReplayRng(1)).shape == (0,)


@given(st.integers(min_value=0, max_value=60), st.data())
def test_subsets_have_the_size_asked(population: int, data: st.DataObject) -> None:
    """The members are distinct, increasing and in range."""
    size = data.draw(st.integers(min_value=0, max_value=population))
    chosen = subset_without_replacement(population, size, ReplayRng(size))
    assert len(set(chosen.tolist())) == len(chosen) == size
    assert chosen.tolist() == sorted(chosen.tolist())
    assert all(0 <= k < population for k in chosen)


def test_the_smallest_words_are_chosen_and_ties_take_more_digits() -> None:
    """Words 5 5 1 5 for two places: record 2, and of the others the smallest second word."""
    rng = Scripted([5, 5, 1, 5, 30, 10, 20])
    assert subset_without_replacement(4, 2, rng).tolist() == [1, 2]
    rng = Scripted([5, 5, 5, 7, 7, 7, 1, 0, 2])
    assert subset_without_replacement(3, 1, rng).tolist() == [1]


def test_rows_of_words_that_tie_at_the_last_place_are_drawn_again() -> None:
    """Two places of four: 5 5 1 5 is open and drawn again after all rows, 5 9 1 9 is settled."""
    rng = Scripted([5, 5, 1, 5, 5, 9, 1, 9, 7, 3, 8, 2])
    assert subsets_without_replacement(4, 2, 2, rng).tolist() == [[1, 3], [0, 2]]


def test_many_subsets_have_the_size_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """All, none and some of the records, many rows or none, in one go or in several."""
    monkeypatch.setattr(discrete, "_WORDS", 40)
    for population, size in ((0, 0), (4, 0), (4, 4), (9, 3), (60, 59)):
        rows = subsets_without_replacement(population, size, 11, ReplayRng(size)).tolist()
        assert len(rows) == 11
        for row in rows:
            assert row == sorted(set(row) & set(range(population)))
            assert len(row) == size
    assert subsets_without_replacement(9, 3, 0, ReplayRng(1)).shape == (0, 3)


def test_masks_are_coins() -> None:
    """A record is kept exactly where its word is below the rate."""
    mask = poisson_mask(3, Fraction(1, 4), Scripted([0, 2**62 - 1, 2**62]))
    assert mask.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: randomized_response([0], 1, 1, ReplayRng(1)), "categories"),
        (lambda: randomized_response([0], 2**62 + 1, 1, ReplayRng(1)), "categories"),
        (lambda: randomized_response([0], 2, -1, ReplayRng(1)), "epsilon"),
        (lambda: randomized_response([0], 2, math.nan, ReplayRng(1)), "epsilon"),
        (lambda: randomized_response([2], 2, 1, ReplayRng(1)), "values"),
        (lambda: randomized_response([-1], 2, 1, ReplayRng(1)), "values"),
        (lambda: randomized_response([0.0], 2, 1, ReplayRng(1)), "values"),
        (lambda: uniform_below(0, 1, ReplayRng(1)), "bound"),
        (lambda: uniform_below(-1, 1, ReplayRng(1)), "bound"),
        (lambda: uniform_below(2, -1, ReplayRng(1)), "size"),
        (lambda: subset_without_replacement(2, 3, ReplayRng(1)), "size"),
        (lambda: subset_without_replacement(-1, 0, ReplayRng(1)), "population"),
        (lambda: subsets_without_replacement(2, 3, 1, ReplayRng(1)), "size"),
        (lambda: poisson_mask(-1, 0.5, ReplayRng(1)), "population"),
        (lambda: poisson_mask(1, 1.5, ReplayRng(1)), "sampling_rate"),
    ],
)
def test_arguments_are_checked(call: Callable[[], object], name: str) -> None:
    """Each argument outside its domain is refused by name."""
    with pytest.raises(ParameterError, match=f"^{name} must"):
        call()
