"""Labelled records: rows of numbers, and one label each."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.mechanisms.learning.grid import RECORD_BITS, WIDEST, Vectors, clipped_rows, unit_rows

# Soundness: a sum of so many coordinates of size 2^24 stays below 2^53, exact in binary64.
MOST_RECORDS: Final = 2**29

_DATA: Final = (
    "Records(X, y), a pair (X, y) of arrays, an array whose last column is the label, or a "
    "sequence of (x, y)"
)

# From a label column to class numbers, -1 for a label that is none of the learner's.
Encoder = Callable[[NDArray[np.float64]], NDArray[np.int64]]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """Rows with labels, as one value that can be cut: sampling schemes and audits do that.

    Attributes:
        rows: float64, shape (n, d).
        labels: float64, shape (n,): class numbers, or +1 and -1.
    Laws: ``records[i]`` is the i-th pair (row, label); a slice or an index array gives Records.
    Example:
        >>> data = Records([[0.5, 1.0], [0.0, -1.0]], [1, -1])
        >>> len(data[:1]), float(data[1][1])
        (1, -1.0)
    """

    rows: Vectors
    labels: NDArray[np.float64]

    @withholding
    def __init__(self, rows: ArrayLike, labels: ArrayLike) -> None:
        row_array, label_array = np.asarray(rows), np.asarray(labels)
        if row_array.dtype.kind not in "fiub" or row_array.ndim != 2:
            raise ParameterError("rows", row_array.shape, "numbers of shape (records, features)")
        if label_array.dtype.kind not in "fiub" or label_array.shape != row_array.shape[:1]:
            raise ParameterError(
                "labels", label_array.shape, "one number per row, shape (records,)"
            )
        with np.errstate(over="ignore"):
            object.__setattr__(self, "rows", row_array.astype(np.float64))
            object.__setattr__(self, "labels", label_array.astype(np.float64))

    def __repr__(self) -> str:
        """Return the number of records and of features."""
        return f"<{len(self)} records of {self.rows.shape[1]} features>"

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.labels)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  # a pair or Records, as for arrays
        """Return one pair for an integer, Records for a slice or an index array."""
        if isinstance(index, numbers.Integral):
            return self.rows[index], self.labels[index]
        return Records(self.rows[index], self.labels[index])

    def cut(self, indices: NDArray[np.int64]) -> Records:
        """Return the records at these indices."""
        return Records(self.rows[indices], self.labels[indices])


@final
@dataclass(frozen=True, slots=True, repr=False)
class GridRecords:
    """The records that contribute: on the grid of ``grid``, blank and malformed ones left out.

    Attributes:
        vectors: integers as float64, shape (n, d); row norms are at most 2^24.
        classes: class numbers, shape (n,).
        positions: the position of each of them in the data, increasing.
        total: the number of records of the data, with those left out.
    """

    vectors: Vectors
    classes: NDArray[np.int64]
    positions: NDArray[np.int64]
    total: int

    def __len__(self) -> int:
        """Return the number of records that contribute."""
        return len(self.classes)


def on_grid(
    data: object, encode: Encoder, *, norm: float | None, features: int | None
) -> GridRecords:
    """Read labelled records, and put each on the grid in units of the norm bound.

    A record contributes nothing, and is left out, if a number of it is nan or infinite, its width
    is wrong, its label is unknown, or its row is zero on the grid: that is also what a blank record
    looks like. No record raises an error; the shapes of whole arrays do.

    Args:
        data: ``Records``, a pair (X, y) of arrays, an array of shape (records, features + 1) whose
            last column is the label, or a sequence of pairs (x, y).
        encode: from labels to class numbers, -1 if unknown; one label at a time.
        norm: rows are clipped to this Euclidean norm; None scales every row to norm 1.
        features: the width of a row; None takes the width of the array, which is public.
    Raises:
        ParameterError: not records, another width than ``features``, more than 2^29 records, or
            more than 2^24 features.
    Laws: what becomes of one record does not depend on the others, bit for bit.
    Example:
        >>> data = ([[0.5, 0.0], [float("nan"), 0.0]], [1, 1])
        >>> records = on_grid(Records(*data), lambda y: y.astype(int), norm=1.0, features=None)
        >>> records.vectors / 2**24
        array([[0.5, 0. ]])
    """
    records = as_records(data, features)
    if len(records) > MOST_RECORDS:
        raise ParameterError("data", len(records), f"at most {MOST_RECORDS} records")
    width = records.rows.shape[1]
    if not 1 <= width <= WIDEST or width != (width if features is None else features):
        allowed = f"{features} wide" if features is not None else f"1 to {WIDEST} wide"
        raise ParameterError("rows", width, allowed)
    finite = np.isfinite(records.rows).all(axis=1) & np.isfinite(records.labels)
    rows, classes = records.rows[finite], encode(records.labels[finite])
    steps = unit_rows(rows, RECORD_BITS) if norm is None else clipped_rows(rows, norm, RECORD_BITS)
    present = (classes >= 0) & steps.any(axis=1)
    return GridRecords(
        np.ascontiguousarray(steps[present]),
        classes[present],
        np.flatnonzero(finite)[present],
        len(records),
    )


def class_numbers(labels: NDArray[np.float64], classes: int) -> NDArray[np.int64]:
    """Return the labels that are class numbers from 0 to classes - 1, and -1 for all others.

    Example:
        >>> class_numbers(np.array([0.0, 2.0, 0.5, 3.0]), 3).tolist()
        [0, 2, -1, -1]
    """
    known = (labels >= 0) & (labels < classes) & (labels == np.trunc(labels))
    return np.where(known, labels, -1).astype(np.int64)


def as_records(data: object, features: int | None) -> Records:
    """Return the data in one form, as real numbers; a malformed pair of a sequence becomes nan.

    Args:
        data: as for ``on_grid``.
        features: the width of a row; needed for a sequence of pairs.
    Raises:
        ParameterError: not labelled rows.
    """
    if isinstance(data, Records):
        return data
    if isinstance(data, tuple) and len(data) == 2 and getattr(data[0], "ndim", 0) == 2:
        return Records(*data)
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] >= 2:
        return Records(data[:, :-1], data[:, -1])
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        raise ParameterError("data", type(data).__name__, _DATA)
    if features is None:
        raise ParameterError(
            "features", None, "given for a sequence of records", "it does not say how wide they are"
        )
    read = [_pair(record, features) for record in data]
    rows = np.array([row for row, _ in read], dtype=np.float64).reshape(len(read), features)
    return Records(rows, np.array([label for _, label in read], dtype=np.float64))


def _pair(record: Any, features: int) -> tuple[NDArray[np.float64], float]:  # noqa: ANN401
    """Return one record's numbers; nan if it is malformed."""
    try:
        row, label = record
        numbers_ = np.asarray(row, dtype=np.float64)
        if numbers_.shape == (features,):
            return numbers_, float(label)
    except (TypeError, ValueError, OverflowError):
        pass
    return np.full(features, np.nan), np.nan
