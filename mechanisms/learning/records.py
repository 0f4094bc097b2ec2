"""Labelled records, and vectors on an integer grid: rows of numbers, and one label each.

Scalar products of a record and a state are exact in binary64. Records on the grid are integer
vectors k with ||k|| <= 2^24, states integer vectors h with ||h|| <= 2^28. By Cauchy and Schwarz
every partial sum of k_1 h_1 + ... + k_d h_d, in any order and with or without fused operations, is
an integer of size at most 2^52, so a binary64 matrix product makes no rounding error. Hence the
value computed for one record does not depend on which other records are there.

A binary64 matrix product of real numbers lacks this property: the result for one row changes with
the number of rows, so adding one record would change the contribution of another.
"""

from __future__ import annotations

import functools
import importlib
import math
import numbers
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.form import withholding
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import MOST_RECORDS, Blocks

RECORD_BITS: Final = 24
STATE_BITS: Final = 28
# Soundness: a product of a record and a state is in units of 2^-52, and is at most 2^52 units.
PRODUCT_BITS: Final = RECORD_BITS + STATE_BITS

# Soundness: with at most 2^24 coordinates below 2^19, a sum of squares is below 2^62.
WIDEST: Final = 2**24
_SQUARES_BITS: Final = 62

Vectors = NDArray[np.float64]
Integers = NDArray[np.int64]


def row_width(value: int | None, name: str = "value") -> int | None:
    """Keep the number of features of a row, at most ``WIDEST``; None takes it from the data."""
    width = None if value is None else arguments.count(**{name: value})
    if width is not None and width > WIDEST:
        raise ParameterError(name, value, f"at most {WIDEST}")
    return width


def unit_rows(rows: Vectors, bits: int, *, width: int | None = None) -> Vectors:
    """Scale finite rows to Euclidean norm 1, and truncate them to integers in units of 2^-bits.

    The sum of their squares is at most 2^(2 bits), exactly; a zero row stays zero. ``width`` is d,
    at most ``WIDEST``, where zeros are left out of rows. ``bits`` is at most 28.

    Laws: a row of the result depends on that row of the input alone, bit for bit.
    Proof: the largest coordinate, the scaling by a power of two and the truncation are exact; the
        squares are added as integers below 2^62; square root and division are rounded correctly
        coordinate by coordinate. What exceeds the norm by a rounding error moves towards zero.
    """
    whole, squares, _ = _integers(rows, width)
    length = np.sqrt(np.where(squares > 0, squares, 1).astype(np.float64))
    steps = np.trunc(whole * 2.0**bits / length[:, np.newaxis])
    while (long := _squares(steps) > 1 << 2 * bits).any():
        steps[long] -= np.sign(steps[long])
    return steps


def clipped_rows(rows: Vectors, norm: float, bits: int, *, width: int | None = None) -> Vectors:
    """Divide rows by ``norm``, shorten those longer than 1, and truncate, as ``unit_rows`` does.

    The integers approximate (row / norm) min(1, norm / ||row||) 2^bits. A row that is a multiple of
    norm 2^-bits and no longer than norm, a power of two, is kept exactly.
    """
    _, squares, exponent = _integers(rows, width)
    with np.errstate(over="ignore"):
        length = np.ldexp(np.sqrt(squares.astype(np.float64)), exponent) / norm
    short = length <= 1
    inside = np.where(short[:, np.newaxis], rows, 0.0)
    steps = np.trunc(inside / norm * 2.0**bits)
    outside = ~short | (_squares(steps) > 1 << 2 * bits)
    steps[outside] = unit_rows(rows[outside], bits, width=width)
    return steps


def grid_rows(rows: Vectors, norm: arguments.Number | None, *, width: int | None = None) -> Vectors:
    """Put rows on the grid of records: clipped to a norm, or scaled to norm 1 if it is None."""
    if norm is None:
        return unit_rows(rows, RECORD_BITS, width=width)
    return clipped_rows(rows, float(norm), RECORD_BITS, width=width)


def displacement(features: int) -> float:
    """Return a bound of the distance of a grid row, times 2^-24, from the exactly scaled row.

    Proof: of d features a coordinate is moved by at most 2 units of 2^-24 by truncation and
        shortening. The row that is scaled keeps K = (62 - bits of d) // 2 bits of its largest
        coordinate, so its direction and its length move by at most 2 sqrt(d) 2^(1 - K) each.
    """
    kept = (_SQUARES_BITS - features.bit_length()) // 2
    return math.sqrt(features) * (3 * 2.0**-RECORD_BITS + 4 * 2.0 ** (1 - kept))


def _integers(rows: Vectors, width: int | None) -> tuple[Vectors, Integers, Integers]:
    """Return integers z with row = z 2^exponent up to truncation, sums of squares, exponents."""
    kept = (_SQUARES_BITS - (width or rows.shape[1]).bit_length()) // 2
    largest = np.abs(rows).max(axis=1, initial=0.0)
    exponent = np.frexp(largest)[1].astype(np.int64) - kept
    half = exponent // 2  # two exact products, where one power of two could overflow
    first, second = np.ldexp(1.0, -half), np.ldexp(1.0, half - exponent)
    whole = np.trunc(rows * first[:, np.newaxis] * second[:, np.newaxis])
    return whole, _squares(whole), exponent


def _squares(steps: Vectors) -> Integers:
    """Return the sum of the squares of every row, in integers."""
    whole = steps.astype(np.int64)
    return np.asarray(np.einsum("ij,ij->i", whole, whole))


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
            allowed = "one number per row, shape (records,)"
            raise ParameterError("labels", label_array.shape, allowed)
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
    """The records that contribute, on the grid; ``total`` counts blank and malformed ones, too."""

    # Vectors are integers as floats, of norm at most 2^24, sparse if rows are; positions increase.

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
    norm: arguments.Number | None,
    features: int | None,
    compact: bool = False,
) -> GridRecords:
    """Read labelled records, and put each by itself on the grid in units of the norm bound.

    A record contributes nothing, and is left out, if a number of it is nan or infinite, its width
    is wrong, ``encode`` gives -1 for its label, or its row is zero on the grid, as a blank one's
    is. No record raises an error; the shapes of whole arrays do. Rows are clipped to the norm;
    None scales them to norm 1. None as ``features`` takes the array's width, which is public.
    ``compact`` keeps sparse rows sparse and others in float32, which holds all the integers.
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
        allowed = "given for a sequence of records"
        raise ParameterError("features", None, allowed, "it does not say how wide they are")
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
