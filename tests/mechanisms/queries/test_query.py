"""From data to the values that noise is added to."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.queries.query import real_values, require_query, whole_values


def test_values_are_stacked() -> None:
    """One row for each dataset; a query is applied to each."""
    assert real_values(None, [1.5, 2.5]).tolist() == [1.5, 2.5]
    assert real_values(sum, [[1, 2], [3]]).tolist() == [3.0, 3.0]
    assert whole_values(len, ["ab", "abc"]).tolist() == [2, 3]
    assert whole_values(None, [np.zeros((2, 3), dtype=np.int8)]).shape == (1, 2, 3)


def test_values_are_exact() -> None:
    """float32 keeps its own value; a number that binary64 cannot hold is refused."""
    assert real_values(None, [np.float32(0.1)])[0] == float(np.float32(0.1))
    assert real_values(None, [Fraction(1, 8)])[0] == 0.125
    assert real_values(None, [2**53])[0] == 2.0**53
    assert real_values(None, [[1, 0.5, np.float32(0.1), np.int8(3)]]).shape == (1, 4)
    inexact = (2**53 + 1, [2**53 + 1, 0.5], Fraction(1, 3), 10**400, np.longdouble(1) / 3)
    for value in inexact:
        with pytest.raises(ParameterError, match="exactly a binary64"):
            real_values(None, [value])


def test_whole_values_keep_64_bits() -> None:
    """Integers up to 2^62 are exact."""
    assert whole_values(None, [2**62, -(2**62)]).tolist() == [2**62, -(2**62)]
    assert whole_values(None, [np.uint64(5)]).tolist() == [5]
    for value in (2**62 + 1, 1.0, Fraction(2), True, np.array([True]), [1, True]):
        with pytest.raises(ParameterError, match="integers"):
            whole_values(None, [value])


def test_one_shape() -> None:
    """Values of different shapes are refused: the shape itself would be released."""
    with pytest.raises(ParameterError, match="shape"):
        real_values(None, [[1.0], [1.0, 2.0]])


def test_a_query_is_a_function() -> None:
    """Anything callable, or None."""
    assert require_query(len) is len
    assert require_query(None) is None
    with pytest.raises(ParameterError, match="query"):
        require_query("len")
