"""Objects as rows of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import ObjectFeatures, Outcome
from tests.auditing import samplers


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
