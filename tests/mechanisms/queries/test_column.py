"""One number a record, each read by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.queries.column import real_column


def test_numbers_of_any_size_are_read() -> None:
    """No number makes a release fail, and none changes how the others are read."""
    read = real_column([1, 2**70, -(10**400), Fraction(1, 3), 2**53 + 1])

    assert read.tolist() == [1.0, 2.0**70, -np.inf, 1 / 3, 2.0**53]


@pytest.mark.parametrize("data", [["4711"], [4711.0, None], [[4711.0]], [4711.0, [4711.0]], 4711])
def test_refusals_show_no_record(data: object) -> None:
    """What is no column of numbers is refused by its type, without the values."""
    with pytest.raises(ParameterError, match="a sequence of real numbers") as refused:
        real_column(data)

    assert "4711" not in str(refused.value)
