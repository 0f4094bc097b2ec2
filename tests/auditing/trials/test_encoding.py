"""Outputs as rows of numbers: no row tells what else was drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import ObjectFeatures, Outcome
from dpproof.auditing.trials.encoding import encode, hashed
from tests.auditing import samplers

ITEMS: list[Any] = [
    1,
    2.5,
    True,
    None,
    "a",
    "2.5",
    b"a",
    float("nan"),
    1j,
    2**63,
    2**64,
    2**2000,
    Fraction(1, 2),
    np.float32(0.1),
    [],
    [1.0, 2.0],
    [1.0, None],
    [2**64, 1],
    (1, [2, 3]),
    {"a": 1},
    {3, 1},
    np.array([1.0, 2.0]),
    np.array([1.0, None], dtype=object),
    np.array(["a", "b"]),
]


def same(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Whether rows are equal when the shorter one is filled with nan."""
    width = max(len(first), len(second))
    one, other = (np.pad(r, (0, width - len(r)), constant_values=np.nan) for r in (first, second))
    return np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: repr(item)[:30])
def test_rows_do_not_depend_on_the_rest_of_the_batch(item: object) -> None:
    """Beside any other output an output has the row that it has alone."""
    alone = encode([item], 1)[0]

    for other in ITEMS:
        together = encode([other, item], 2)
        assert same(together[1], alone), repr(other)


def test_lists_and_arrays_of_objects_are_alike() -> None:
    """Whether a sampler collects its outputs in a list or in an array of objects."""
    outputs = [1.0, None, "a"]

    assert np.array_equal(
        encode(outputs, 3), encode(np.array(outputs, dtype=object), 3), equal_nan=True
    )


def test_fields_keep_their_columns() -> None:
    """Words have three columns in every batch, numbers one, complex numbers two."""
    kinds = np.dtype([("word", object), ("number", "f8"), ("both", "c16")])
    rows = encode(np.array([("a", 1.0, 2j), (3.0, 4.0, 5.0)], dtype=kinds), 2)

    assert rows[:, 3:].tolist() == [[1.0, 0.0, 2.0], [4.0, 5.0, 0.0]]
    assert rows[0, 0] == hashed("'a'")


def test_sets_have_no_order() -> None:
    """Equal sets that were filled in another order have equal rows."""
    rows = encode([{8, 0}, {0, 8}, frozenset({0, 8})], 3)

    assert rows[0].tolist() == rows[1].tolist() != rows[2].tolist()


def test_nothing_is_a_row_too() -> None:
    """Empty outputs have one column, so that they can be audited."""
    assert np.isnan(encode([[], []], 2)).tolist() == [[True], [True]]
    assert np.isnan(encode(np.zeros((2, 0)), 2)).tolist() == [[True], [True]]


@pytest.mark.parametrize(
    "outputs", [{"a": 1.0}, "a", b"a", {1.0}], ids=["mapping", "text", "bytes", "set"]
)
def test_one_output_is_not_taken_for_many(outputs: Any) -> None:  # noqa: ANN401
    """What has a length but is no list of outputs is refused."""
    with pytest.raises(ParameterError, match="a list or an array"):
        encode(outputs, 1)


def test_refuses_another_number_of_outputs() -> None:
    """An output that a sampler left out would be a trial that was not counted."""
    with pytest.raises(ParameterError, match="2 outputs"):
        encode([1.0], 2)


@pytest.mark.parametrize("wrapped", [lambda o: o, lambda o: [o], lambda o: {"a": o}, lambda o: {o}])
def test_refuses_addresses(wrapped: Any) -> None:  # noqa: ANN401
    """Where an object is stored depends on what was drawn before it."""
    with pytest.raises(ParameterError, match="address"):
        encode([wrapped(object())], 1)
    with pytest.raises(ParameterError, match="address"):
        auditing.ObjectFeatures()([wrapped(object())])


def test_words_may_look_like_addresses() -> None:
    """A text is what it says."""
    assert encode(["stack at 0x1f"], 1).shape == (1, 3)


def test_errors_that_delta_allows_do_not_alarm() -> None:
    """One output in 25 is an error on D alone, as (0, 0.05) allows: wrong once in 10^9 runs.

    Were whole batches of D described because of one error in them, it would be certain.
    """

    def rarely(data: float, rng: np.random.Generator) -> float:
        if data == 1 and rng.random() < 0.04:
            raise ValueError
        return float(np.round(rng.laplace(), 6))

    report = auditing.audit(
        auditing.OneAtATime(rarely), (1.0, 0.0), (0, 0.05), samples=2_000, significance=1e-9
    )

    assert report.outcome is not Outcome.VIOLATION, str(report)


@dataclass(frozen=True)
class Answer:
    """A release with parts."""

    total: float
    labels: tuple[str, ...]


DIFFERENT: list[Any] = [
    0.0, 1.0, math.nan, math.inf, 10**400, True, None, "", "a", b"a", [], [1.0], [1.0, 1.0], [2.0],
    {}, {"a": 1.0}, {"b": 1.0}, {"a": 2.0}, {"a": 1.0, "b": 1.0}, {"a": [1.0]}, {1}, {1, 2},
    Answer(1.0, ("x",)), Answer(1.0, ("y",)), Answer(2.0, ("x",)),
]  # fmt: skip


def test_different_objects_have_different_rows() -> None:
    """Numbers, words, keys, lengths, types and fields all count; nothing is nan or infinite."""
    rows = ObjectFeatures(width=256)(DIFFERENT)

    assert len({row.tobytes() for row in rows}) == len(DIFFERENT)
    assert np.isfinite(rows).all()


def test_equal_objects_have_equal_rows() -> None:
    """The order of keys and of sets does not matter, nor whose number type it is."""
    rows = ObjectFeatures()([{"a": 1, "b": 2.0}, {"b": np.float64(2.0), "a": np.int64(1)}])
    sets = ObjectFeatures()([{"a", "b", "c"}, {"c", "b", "a"}])

    assert (rows[0] == rows[1]).all()
    assert (sets[0] == sets[1]).all()
    assert (ObjectFeatures()([np.ones(2)]) == ObjectFeatures()([[1.0, 1.0]])).all()


def test_a_new_key_is_found() -> None:
    """Ten samples show that a histogram releases the keys that are there."""
    report = auditing.audit(
        samplers.present_keys,
        (["a"], ["a", "b"]),
        (1, 0),
        samples=30,
        features=ObjectFeatures(),
        seed=1,
    )

    assert report.outcome is Outcome.VIOLATION


@pytest.mark.parametrize("width", [0, -1, 1.5, "8"])
def test_refuses_no_columns(width: Any) -> None:  # noqa: ANN401
    """A whole number from 1."""
    with pytest.raises(ParameterError):
        ObjectFeatures(width=width)
