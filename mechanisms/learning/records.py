"""Labelled records: rows of numbers, and one label each."""

from __future__ import annotations

import functools
import importlib
import numbers
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import MOST_RECORDS, Blocks
from dpproof.mechanisms.learning.grid import WIDEST, Integers, Vectors, grid_rows

_DATA: Final = (
    "Records(X, y), a pair (X, y) of arrays, an array whose last column is the label, or a "
    "sequence of (x, y)"
)

# A float64 array, or a CSR array of scipy, of shape (records, features).
Matrix: TypeAlias = Any
# Bounds the memory of the dense rows of a sparse matrix: entries at a time.
_ENTRIES: Final = 2**22
# Numbers that are put on the grid, or multiplied with a state, at a time: they fit a processor's
# cache. Heuristic.
_PIECE: Final = 2**16

# From a label column to class numbers, -1 for a label that is none of the learner's.
Encoder = Callable[[Vectors], Integers]


@functools.cache
def _sparse() -> Any:  # noqa: ANN401  # a module
    """Import scipy's matrices where there are some: the import takes longer than all of ours."""
    return importlib.import_module("scipy.sparse")


def is_sparse(rows: object) -> bool:
    """Return whether rows are a sparse matrix or array of scipy."""
    return "scipy.sparse" in sys.modules and bool(_sparse().issparse(rows))


def with_column(rows: Matrix, column: Vectors) -> Matrix:
    """Append one more feature to rows, which stay sparse if they are."""
    stack: Any = _sparse().hstack if is_sparse(rows) else np.hstack
    return stack([rows, column[:, np.newaxis]])


def csr_rows(rows: Matrix) -> Matrix:
    """Return a sparse matrix of any format as a CSR array of float64."""
    return _sparse().csr_array(rows, dtype=np.float64)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """Rows with labels, as one value that can be cut: sampling schemes and audits do that.

    Attributes:
        rows: float64, shape (n, d), not copied; a sparse matrix of scipy stays sparse.
        labels: float64, shape (n,): class numbers, or +1 and -1.
    Laws: ``records[i]`` is the i-th pair (row, label); a slice or an index array gives Records.
    Example:
        >>> data = Records([[0.5, 1.0], [0.0, -1.0]], [1, -1])
        >>> len(data[:1]), float(data[1][1])
        (1, -1.0)
    """

    rows: Matrix
    labels: Vectors

    @withholding
    def __init__(self, rows: Matrix, labels: ArrayLike) -> None:
        row_array: Any = _sparse().csr_array(rows) if is_sparse(rows) else np.asarray(rows)
        if is_sparse(rows) and not row_array.has_canonical_format:
            row_array = row_array.copy()
            row_array.sum_duplicates()  # in place
        label_array = np.asarray(labels)
        if row_array.dtype.kind not in "fiub" or row_array.ndim != 2:
            raise ParameterError("rows", row_array.shape, "numbers of shape (records, features)")
        if label_array.dtype.kind not in "fiub" or label_array.shape != row_array.shape[:1]:
            raise ParameterError(
                "labels", label_array.shape, "one number per row, shape (records,)"
            )
        with np.errstate(over="ignore"):
            object.__setattr__(self, "rows", row_array.astype(np.float64, copy=False))
            object.__setattr__(self, "labels", label_array.astype(np.float64, copy=False))

    def __repr__(self) -> str:
        """Return the number of records and of features."""
        return f"<{len(self)} records of {self.rows.shape[1]} features>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the rows."""
        return tuple(self.rows.shape)

    @property
    def size(self) -> int:
        """Return how many numbers the rows store."""
        return int(self.rows.size)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.labels)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  # a pair or Records, as for arrays
        """Return one pair for an integer, Records for a slice or an index array."""
        if isinstance(index, numbers.Integral):
            return next(dense_blocks(self.rows[[index]]))[0], self.labels[index]
        return Records(self.rows[index], self.labels[index])

    def cut(self, indices: Integers) -> Records:
        """Return the records at these indices."""
        return Records(self.rows[indices], self.labels[indices])


@final
@dataclass(frozen=True, slots=True, repr=False)
class GridRecords:
    """The records that contribute: on the grid of ``grid``, blank and malformed ones left out.

    Attributes:
        vectors: integers as floats, shape (n, d); row norms are at most 2^24. Sparse if rows are.
        positions: the position of each of them in the data, increasing.
        total: the number of records of the data, with those left out.
    """

    vectors: Matrix
    classes: Integers
    positions: Integers
    total: int

    def __len__(self) -> int:
        """Return the number of records that contribute."""
        return len(self.classes)

    def pieces(self) -> Iterator[tuple[Matrix, Integers, slice]]:
        """Yield a few vectors at a time as float64, their classes, and where they stand."""
        rows = max(1, _PIECE // self.vectors.shape[1])
        size = len(self) if is_sparse(self.vectors) else rows
        for start in range(0, len(self), max(1, size)):
            place = slice(start, start + size)
            vectors = self.vectors[place]
            yield vectors.astype(np.float64, copy=False), self.classes[place], place


def empty(total: int, width: int) -> GridRecords:
    """Return no records, left out of so many of this width."""
    return GridRecords(np.empty((0, width)), np.empty(0, np.int64), np.empty(0, np.int64), total)


def dense_blocks(rows: Matrix) -> Iterator[Vectors]:
    """Yield an array as it is, and a sparse one as dense blocks of rows, at least one."""
    if not is_sparse(rows):
        yield rows
        return
    size = max(1, _ENTRIES // max(1, rows.shape[1]))
    for start in range(0, max(1, rows.shape[0]), size):
        yield rows[start : start + size].toarray()


def on_grid(
    data: object,
    encode: Encoder,
    *,
    norm: float | None,
    features: int | None,
    compact: bool = False,
) -> GridRecords:
    """Read labelled records, and put each on the grid in units of the norm bound.

    A record contributes nothing, and is left out, if a number of it is nan or infinite, its width
    is wrong, its label is unknown, or its row is zero on the grid, as a blank one's is. No record
    raises an error; the shapes of whole arrays do. What becomes of one does not depend on the
    others.

    Args:
        data: as ``_DATA`` says; the label is the last column of an array.
        encode: from labels to class numbers, -1 if unknown; one label at a time.
        norm: rows are clipped to this Euclidean norm; None scales every row to norm 1.
        features: the width of a row; None takes that of the array, which is public.
        compact: keep sparse rows sparse and others in float32, which holds all the integers.
    """
    pieces = data.pieces() if isinstance(data, Blocks) else [data]
    total, ready, vectors, classes, positions = 0, 0, None, [], []
    parts: list[Matrix] = []
    for records in (as_records(piece, features) for piece in pieces):
        width, start = records.rows.shape[1], 0
        if not 1 <= width <= WIDEST or width != (width if features is None else features):
            allowed = f"{features} wide" if features is not None else f"1 to {WIDEST} wide"
            raise ParameterError("rows", width, allowed)
        features = width  # of the pieces that follow: a column would fill all of them
        if vectors is None and not parts and not is_sparse(records.rows):
            size = data.records if isinstance(data, Blocks) and data.records else len(records)
            vectors = np.empty((size, width), dtype=np.float32 if compact else np.float64)
        if vectors is not None and total + len(records) > len(vectors):
            raise ParameterError("records", len(vectors), "at least as many as the blocks hold")
        for rows, restored in _blocks(records.rows):
            labels = records.labels[start : start + len(rows)]
            finite = np.isfinite(rows).all(axis=1) & np.isfinite(labels)
            kept = rows if finite.all() else np.where(finite[:, np.newaxis], rows, 0.0)
            steps = grid_rows(kept, norm, width=width)
            numbers = encode(labels)
            present = finite & (numbers >= 0) & steps.any(axis=1)
            classes.append(numbers[present])
            positions.append(total + start + np.flatnonzero(present))
            some = restored(steps)[present]
            if vectors is None:
                parts.append(some)
            else:
                here = slice(ready, ready + len(classes[-1]))
                vectors[here] = some.toarray() if is_sparse(some) else some
            start, ready = start + len(rows), ready + len(classes[-1])
        total += len(records)
    if total > MOST_RECORDS:
        raise ParameterError("data", total, f"at most {MOST_RECORDS} records")
    if vectors is None:
        joined: Matrix = _sparse().vstack(parts, "csr")
        vectors = joined if compact else joined.toarray()
    places = np.concatenate(positions)
    return GridRecords(vectors[:ready], np.concatenate(classes), places, total)


def _blocks(rows: Matrix) -> Iterator[tuple[Vectors, Callable[[Vectors], Matrix]]]:
    """Yield rows, or a sparse matrix's entries, a row's beside each other, and how to put back."""
    if not is_sparse(rows):
        size = max(1, _PIECE // max(1, rows.shape[1]))
        for start in range(0, max(1, rows.shape[0]), size):
            yield rows[start : start + size], np.ascontiguousarray
        return
    widest = max(1, np.diff(rows.indptr).max(initial=0))
    size = max(1, _ENTRIES // widest)
    for start in range(0, max(1, rows.shape[0]), size):
        some = rows[start : start + size]
        filled = np.arange(widest) < np.diff(some.indptr)[:, np.newaxis]
        entries = np.zeros(filled.shape)
        entries[filled] = some.data
        yield entries, functools.partial(_restored, some, filled)


def _restored(some: Matrix, filled: NDArray[np.bool_], entries: Vectors) -> Matrix:
    """Put entries back where those of a sparse array stood."""
    entries_at = entries[filled], some.indices, some.indptr
    return _sparse().csr_array(entries_at, shape=some.shape)


MOST_CLASSES = 2**16
SEVERAL_CLASSES = parameters.within(2, MOST_CLASSES, f"at least 2 and at most {MOST_CLASSES}")


def class_numbers(labels: Vectors, classes: int) -> Integers:
    """Return the labels that are class numbers from 0 to classes - 1, and -1 for all others."""
    valid = (labels >= 0) & (labels < classes) & (labels == np.trunc(labels))
    return np.where(valid, labels, -1).astype(np.int64)


def as_records(data: object, features: int | None) -> Records:
    """Return data of ``on_grid`` in one form; a malformed pair of a sequence becomes nan."""
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


def _pair(record: Any, features: int) -> tuple[Vectors, float]:  # noqa: ANN401
    """Return one record's numbers; nan if it is malformed."""
    try:
        row, label = record
        numbers_ = np.asarray(row, dtype=np.float64)
        if numbers_.shape == (features,):
            return numbers_, float(label)
    except (TypeError, ValueError, OverflowError):
        pass
    return np.full(features, np.nan), np.nan
