"""Rows shortened to a public norm, each by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def clipped_to_norm(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Shorten every row that is longer than ``norm``; one that is not finite becomes nan.

    Laws: a row of the result depends on that row of the input alone, bit for bit. Sums along rows
        are made in one order only if the rows are contiguous, whatever the order of the input is.
    Example:
        >>> clipped_to_norm(np.array([[3.0, 4.0], [0.0, 0.5]]), 1.0)
        array([[0.6, 0.8],
               [0. , 0.5]])
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    kept = np.where(finite[:, np.newaxis], rows, 0.0)
    largest = np.abs(kept).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    directions = kept / unit[:, np.newaxis]
    lengths = np.linalg.norm(directions, axis=1)
    with np.errstate(over="ignore"):
        longer = np.asarray(lengths * unit > norm)
    shortened = directions * (norm / np.maximum(lengths, 1.0))[:, np.newaxis]
    clipped = np.where(longer[:, np.newaxis], shortened, kept)
    return np.where(finite[:, np.newaxis], clipped, np.nan)
