"""Reading the one categorical value that a local mechanism reports on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.form import DataError
from dpproof.mechanisms.queries.query import Query, whole_values


def one_category(
    query: Query | None, datasets: Sequence[object], categories: int
) -> NDArray[np.int64]:
    """Return the category of each dataset.

    Raises:
        ParameterError: not one whole number from 0 to categories - 1 each.
    Example:
        >>> one_category(None, [2, 0], 3)
        array([2, 0])
    """
    truth = whole_values(query, datasets)
    if truth.ndim != 1 or truth.min() < 0 or truth.max() >= categories:
        raise DataError("value", np.squeeze(truth), f"one category, 0 to {categories - 1}")
    return truth
