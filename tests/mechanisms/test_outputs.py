"""Outputs as arrays."""

from __future__ import annotations

import numpy as np

from mechanisms.outputs import flatten, join, unpack


def test_join_keeps_every_part() -> None:
    """A structured array has one field a part, with the part's own type and shape."""
    joined = join([np.arange(6.0).reshape(3, 2), np.arange(3)], axes=1)

    assert joined.shape == (3,)
    assert joined["0"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert joined["1"].dtype == np.int64


def test_unpack_gives_plain_python() -> None:
    """Numbers, arrays and nested tuples."""
    inner = join([np.ones(4), np.arange(4)], axes=1)
    nested = join([inner, np.zeros((4, 2))], axes=1)
    (one, index), zeros = unpack(nested[3])

    assert (one, index) == (1.0, 3)
    assert isinstance(index, int)
    assert zeros.tolist() == [0.0, 0.0]
    assert unpack(np.array(2**70, dtype=object)) == 2**70


def test_flatten_is_a_matrix_of_floats() -> None:
    """Scalars stay flat; everything else becomes columns, in order."""
    assert flatten(np.arange(3)).tolist() == [0.0, 1.0, 2.0]
    assert flatten(np.array([2**70], dtype=object)).tolist() == [2.0**70]
    inner = join([np.arange(2.0), 10 + np.arange(2)], axes=1)
    repeated = np.stack([inner, inner], axis=1)

    assert flatten(repeated).tolist() == [[0, 10, 0, 10], [1, 11, 1, 11]]
    assert flatten(join([repeated, np.ones((2, 1, 2))], axes=1)).shape == (2, 6)
