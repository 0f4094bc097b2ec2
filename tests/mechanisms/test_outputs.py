"""Outputs as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant.relation import AddRemove
from dpproof.accountant.run_counts.law import FixedRuns
from dpproof.accountant.sensitivity import L1
from dpproof.mechanisms import DiscreteGaussian, DiscreteLaplace, Histogram, Mechanism, ReplayRng
from dpproof.mechanisms.mechanism import flatten, join, unpack


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


@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteGaussian(sigma=1e20, sensitivity=L1(1)),
        DiscreteLaplace(scale=1e20, sensitivity=L1(1)),
        Histogram(scale=1e20, relation=AddRemove()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_integers_beyond_64_bits_are_released_and_chosen(mechanism: Mechanism[AddRemove]) -> None:
    """A release of one number, the best of runs and the first good run are plain integers."""
    best = mechanism.select(FixedRuns(count=3))
    first = mechanism.select_above(FixedRuns(count=3), threshold=-1e30)
    for seed in range(20):
        values = [one.release(5, rng=ReplayRng(seed)) for one in (mechanism, best)]
        found, value = first.release(5, rng=ReplayRng(seed))

        assert found
        assert {type(number) for number in (*values, value)} == {int}
        assert max(map(abs, (*values, value))) > 2**63
