"""Broadcasting, and grid steps as numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpproof.mechanisms.samplers.arrays import add_whole, as_floats, repeated_values


def test_values_are_repeated_along_a_new_axis() -> None:
    """Shape (datasets, count, ...)."""
    repeated = repeated_values(np.array([[1, 2], [3, 4]]), 2)

    assert repeated.tolist() == [[[1, 2], [1, 2]], [[3, 4], [3, 4]]]


def test_steps_become_numbers() -> None:
    """Exact while binary64 can, nearest beyond, infinite past its range."""
    assert as_floats(np.array([3, -1]), Fraction(1, 4)).tolist() == [0.75, -0.25]
    big = np.array([[2**80, -1]], dtype=object)
    assert as_floats(big, Fraction(1, 2)).tolist() == [[2.0**79, -0.5]]
    assert as_floats(np.array([2**2000, -(2**2000)], dtype=object), Fraction(1)).tolist() == [
        np.inf,
        -np.inf,
    ]
    assert as_floats(np.array([1]), Fraction(1, 2**2000)).tolist() == [0.0]


def test_sums_do_not_overflow() -> None:
    """Large integers become Python integers."""
    assert add_whole(np.array([[1, 2]]), np.array([10, -10])).tolist() == [[11, -8]]
    for noise in (np.array([2**63 - 1]), np.array([-(2**63)]), np.array([2**90], dtype=object)):
        assert add_whole(np.array([2**62]), noise).tolist() == [2**62 + int(noise[0])]
