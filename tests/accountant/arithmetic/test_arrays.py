"""Points in order, each once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from dpproof.accountant.arithmetic.arrays import distinct

NUMBERS = st.lists(st.floats(allow_nan=False), max_size=12)


@given(NUMBERS)
def test_as_numpy_does(numbers: list[float]) -> None:
    """The same points as numpy's own function finds, which takes long to import."""
    points = np.array(numbers + numbers[::2], dtype=float)

    assert distinct(points).tolist() == np.unique(points).tolist()
