"""Rows without labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.records import GridRecords, Records, as_records, on_grid


def rows_on_grid(data: object, *, norm: float | None, features: int | None) -> GridRecords:
    """Read rows, and put each on the grid in units of the norm bound; all are of class 0.

    A row that is not finite, or zero on the grid, contributes nothing and is left out.

    Args:
        data: an array of shape (records, features), ``Records``, whose labels do not matter, or a
            sequence of rows.
        norm: rows are clipped to this Euclidean norm; None scales every row to norm 1.
        features: how wide a row is; None takes the width of the array, which is public.
    Raises:
        ParameterError: not rows, another width than ``features``, more than 2^29 records, or more
            than 2^24 features.
    Laws: what becomes of one row does not depend on the others, bit for bit.
    Example:
        >>> rows_on_grid([[3.0, 4.0]], norm=10.0, features=2).vectors / 2**24
        array([[0.29999995, 0.39999998]])
    """
    return on_grid(_unlabelled(data, features), _no_class, norm=norm, features=features)


def _unlabelled(data: object, features: int | None) -> Records:
    """Return rows with the label 0 each; a malformed row of a sequence becomes nan."""
    if isinstance(data, Records):
        return Records(data.rows, np.zeros(len(data)))
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return Records(data, np.zeros(len(data)))
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        allowed = "an array of shape (records, features), Records, or a sequence of rows"
        raise ParameterError("data", type(data).__name__, allowed)
    return as_records([(row, 0) for row in data], features)


def _no_class(labels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return class 0 for every row."""
    return np.zeros(len(labels), dtype=np.int64)
