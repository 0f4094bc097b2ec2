"""Vectors on an integer grid."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.mechanisms.learning.records import (
    RECORD_BITS,
    STATE_BITS,
    Vectors as Rows,
    clipped_rows,
    unit_rows,
)


def squared(rows: Rows) -> list[int]:
    """Squared norms, in Python's integers."""
    return [sum(int(x) ** 2 for x in row) for row in rows]


def awkward(features: int) -> Rows:
    """Rows of every magnitude: tiny, huge, equal coordinates, one coordinate, random."""
    rng = np.random.default_rng(features)
    random = rng.normal(size=(40, features)) * 10.0 ** rng.integers(-300, 300, size=(40, 1))
    mixed = rng.normal(size=(40, features)) * 10.0 ** rng.integers(-200, 200, size=(40, features))
    even = np.outer([1.0, 1e-320, 1e308, 1 / 3], np.ones(features))
    return np.concatenate([random, mixed, even, np.eye(features)[:5], np.zeros((1, features))])


@pytest.mark.some(4)
@pytest.mark.parametrize("features", [1, 2, 3, 100, 5_000])
@pytest.mark.parametrize("bits", [RECORD_BITS, STATE_BITS])
def test_norms_never_exceed_the_bound(features: int, bits: int) -> None:
    """In exact integers, and stay within the truncation of every coordinate."""
    rows = awkward(features)
    for steps in (unit_rows(rows, bits), clipped_rows(rows, 3.0, bits)):
        assert (steps == np.trunc(steps)).all()
        assert max(squared(steps)) <= 4**bits
    lengths = np.sqrt([float(s) for s in squared(unit_rows(rows, bits)[:-1])])

    assert lengths.min() >= 2.0**bits - 2 * np.sqrt(features) - 1


def test_clipping_keeps_what_is_short() -> None:
    """A short row on the grid is kept exactly, a long one keeps its direction."""
    rows = np.array([[0.25, -0.5], [3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    kept = clipped_rows(rows, 1.0, RECORD_BITS) / 2**RECORD_BITS

    assert kept[[0, 2, 3]].tolist() == rows[[0, 2, 3]].tolist()
    assert kept[1] == pytest.approx([0.6, 0.8], abs=2**-23)
    assert clipped_rows(rows, 8.0, RECORD_BITS)[1].tolist() == [3 * 2.0**21, 2.0**23]


def test_a_row_does_not_depend_on_the_others() -> None:
    """Every row by itself gives the same bits as among all."""
    rows = awkward(37)
    unit, clipped = unit_rows(rows, RECORD_BITS), clipped_rows(rows, 2.5, RECORD_BITS)
    for i in range(len(rows)):
        alone = rows[i : i + 1]

        assert (unit_rows(alone, RECORD_BITS) == unit[i]).all()
        assert (clipped_rows(alone, 2.5, RECORD_BITS) == clipped[i]).all()


@pytest.mark.parametrize("features", [1, 7, 64, 784])
def test_products_are_exact(features: int) -> None:
    """Matrix products of records and states are the integers that they stand for."""
    rng = np.random.default_rng(1)
    records = unit_rows(rng.normal(size=(65, features)), RECORD_BITS)
    states = unit_rows(np.concatenate([rng.normal(size=(3, features)), records[:2]]), STATE_BITS)
    exact = [
        [sum(int(a) * int(b) for a, b in zip(r, s, strict=True)) for s in states] for r in records
    ]

    assert (records @ states.T).astype(np.int64).tolist() == exact
