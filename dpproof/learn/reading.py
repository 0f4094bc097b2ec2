"""Rows and targets of estimators as floats, each cell by itself, and no cell in a message."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from dpproof.accountant.form import DataError, withholding
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning.records import Matrix, csr_rows, is_sparse

_REAL: Final = "fiub"  # Kinds of dtypes that are real numbers.


def read_rows(
    estimator: BaseEstimator, X: ArrayLike, *, fitting: bool, finite: bool = True
) -> Matrix:
    """Return the rows as float64, in C order; sparse if they are, and the estimator takes them."""
    # A fit reads any record, as an error would tell of it: a cell that is no number becomes nan.
    takes_sparse = estimator.__sklearn_tags__().input_tags.sparse
    rows: Matrix = sparse_matrix(X) if takes_sparse and is_sparse(X) else matrix(X)
    reset = fitting and not hasattr(estimator, "batches_")
    validate_data(
        estimator, X if hasattr(X, "columns") else rows, reset=reset, skip_check_array=True
    )
    blank = {"ensure_all_finite": False, "ensure_min_samples": 0} if fitting or not finite else {}
    return check_array(rows, estimator=estimator, input_name="X", accept_sparse="csr", **blank)


def in_blocks(estimator: BaseEstimator, X: Any, *columns: Any) -> Blocks:
    """Return rows in blocks, with their labels and weights, each block to be read by itself."""
    frame = len(getattr(X, "columns", ())) > 0
    array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in _REAL and X.shape[1] > 0
    if frame or array or hasattr(X, "__dask_graph__"):
        validate_data(estimator, X, reset=True, skip_check_array=True)
        rows = X
    else:
        rows = read_rows(estimator, X, fitting=True)
    pairs = zip(("y", "sample_weight"), columns, strict=False)
    named = [(name, one) for name, one in pairs if one is not None or name == "y"]
    if not hasattr(X, "__dask_graph__"):
        named = [(name, read_labels(one, rows.shape[0], name)) for name, one in named]
    return Blocks.of(rows, *(one for _, one in named))


def sparse_matrix(X: Any) -> Matrix:
    """Return a sparse matrix as a CSR array of float64."""
    if X.dtype.kind not in _REAL:
        hint = "Complex data not supported" if X.dtype.kind == "c" else ""
        raise DataError("X", X, "of a dtype of real numbers", hint)
    return csr_rows(X)


def matrix(X: ArrayLike) -> NDArray[np.float64]:
    """Return a matrix as float64, in C order; a cell that is no number becomes nan."""
    if hasattr(X, "toarray"):
        raise DataError("X", X, "a dense matrix", "X.toarray() makes one of a sparse matrix")
    values = _floats(X, "X")
    if values.ndim != 2:
        hint = "Reshape your data: X.reshape(1, -1) is one record, X.reshape(-1, 1) one feature"
        raise DataError("X", values, "a matrix, one row a record", hint)
    return values


def read_labels(y: ArrayLike, rows: int, name: str = "y") -> NDArray[Any]:
    """Return labels or targets, shape (rows,), read one by one: text would change numbers."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    values = _array(y, name, None if hasattr(y, "dtype") else np.object_)
    if values.dtype.kind == "c":
        raise DataError(name, values, "labels or targets", "Complex data not supported")
    labels = column_or_1d(values, warn=True)
    if labels.shape != (rows,):
        raise ValueError(f"{name} has shape {labels.shape}, expected one value for {rows} rows")
    return np.asarray(labels)


def read_targets(y: ArrayLike, rows: int, name: str = "y") -> NDArray[np.float64]:
    """Return the targets as float64, shape (rows,); one that is no number becomes nan."""
    return _floats(read_labels(y, rows, name), name)


def _floats(cells: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return cells as float64: of an array of objects, and of a list, each cell by itself."""
    array = _array(cells, name)
    if array.dtype.kind not in _REAL and not hasattr(cells, "dtype"):
        array = _array(cells, name, np.object_)
    if array.dtype.kind == "O":
        numbers = [_number(cell) for cell in array.flat]
        return np.array(numbers, dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in _REAL:
        hint = "Complex data not supported" if array.dtype.kind == "c" else ""
        raise DataError(name, array, "of a dtype of real numbers", hint)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float64)


def _array(cells: ArrayLike, name: str, dtype: type[Any] | None = None) -> NDArray[Any]:
    """Return cells as an array, ragged ones and mixed ones as one of objects."""
    for kind in (dtype, np.object_):
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            return np.asarray(cells, dtype=kind)
    raise DataError(name, cells, "an array, or a list of rows")


def _number(cell: Any) -> float:
    """Return a cell as a float: infinite beyond floats, nan if it is no number."""
    try:
        return float(cell)
    except OverflowError:
        return np.inf
    except Exception:  # noqa: BLE001  # a record must not decide whether a fit raises
        return np.nan


def scored(score: Callable[..., float]) -> Callable[..., float]:
    """Let no error of scikit-learn's ``score`` quote a row or a target."""

    @functools.wraps(score)
    def guarded(
        model: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        check_is_fitted(model)
        shape = withholding(np.shape)(X)
        if len(shape) == 2 and shape[1] != model.n_features_in_:
            raise ValueError(  # in scikit-learn's words, which its own checks ask for
                f"X has {shape[1]} features, but {type(model).__name__} is expecting "
                f"{model.n_features_in_} features as input"
            )
        return withholding(score)(model, X, y, sample_weight)

    return guarded


def clipped_to_norm(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Shorten every row that is longer than ``norm``; one that is not finite becomes nan."""
    # Sums along rows are made in one order only if the rows are contiguous, whatever they were.
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
