"""Labelled records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, Poisson
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import BatchPerceptron, Records, ReplayRng, blocks
from dpproof.mechanisms.learning import records as module
from dpproof.mechanisms.learning.records import on_grid


def known(labels: Any) -> Any:  # noqa: ANN401
    """Labels 0 and up are classes."""
    return labels.astype(np.int64)


def test_records_are_cut_like_a_sequence() -> None:
    """One index is a pair; slices and index arrays are Records."""
    data = Records([[1, 2], [3, 4], [5, 6]], [0, 1, 0])

    assert data[1][0].tolist() == [3, 4]
    assert data[1][1] == 1
    assert data[:-1].rows.tolist() == [[1, 2], [3, 4]]
    assert data.cut(np.array([2, 0])).labels.tolist() == [0, 0]
    assert len(data[[True, False, True]]) == 2


@pytest.mark.parametrize(
    ("rows", "labels"),
    [([1.0, 2.0], [1, 1]), ([[1.0], [2.0]], [1]), ([["a"]], [1]), ([[1j]], [1]), ([[1.0]], ["a"])],
)
def test_other_shapes_and_types_are_refused(rows: Any, labels: Any) -> None:  # noqa: ANN401
    """Rows are a matrix and labels a vector of numbers, as long as the matrix."""
    with pytest.raises(ParameterError, match="must be"):
        Records(rows, labels)


def test_samples_of_records_are_records() -> None:
    """``subsample`` cuts Records, and refuses two columns, which are not two records."""
    learner = BatchPerceptron(margin=0.1, steps=1, sigma=1, features=2, relation=AddRemove())
    sampled = learner.subsample(Poisson(sampling_rate=0.5))
    data = Records(np.eye(2), [1, -1])

    assert sampled.release(data, rng=ReplayRng(1)).weights.shape == (2,)
    with pytest.raises(ParameterError, match=r"Records\(X, y\)"):
        sampled.release((data.rows, data.labels))


def test_too_many_records_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 2^29 records a sum of integers might be rounded."""
    assert blocks.MOST_RECORDS * 2**24 == 2**53
    monkeypatch.setattr(module, "MOST_RECORDS", 2)
    with pytest.raises(ParameterError, match="at most 2 records"):
        on_grid(Records(np.eye(3), [0, 0, 0]), known, norm=1.0, features=None)


def test_wide_integers_and_short_floats_are_read() -> None:
    """Any real type is read; a number too large for binary64 is infinite, and its row left out."""
    wide = np.array([[2**60, 0], [1, 1]])
    longest = np.array([[np.finfo(np.longdouble).max, 0], [1, 1]], dtype=np.longdouble)
    short = np.array([[np.inf, 0], [1, 1]], dtype=np.float16)
    for rows, left in ((wide, 2), (short, 1), (wide > 0, 2), (longest, 1)):
        assert len(on_grid(Records(rows, [0, 1]), known, norm=None, features=2)) == left
