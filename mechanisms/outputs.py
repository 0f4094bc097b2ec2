"""Outputs as arrays: first axis = outputs, whatever one output is.

One output is a number, an array of numbers, a tuple of outputs (a composition), or a record with
named fields (a learner). Tuples and records are kept as numpy structured arrays with one field a
part, so that a million outputs stay one array; the dtype of records is of type ``numpy.record``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# An output's type belongs to the mechanism: float, int, an array of them, or a tuple of outputs.
Output: TypeAlias = Any
Outputs: TypeAlias = NDArray[Any]


def join(parts: Sequence[Outputs], axes: int) -> Outputs:
    """Pair up the outputs of several mechanisms: one structured array with one field a part."""
    return _filled(np.empty, axes, {str(i): part for i, part in enumerate(parts)})


def record(axes: int, **columns: NDArray[Any]) -> Outputs:
    """Return outputs with named fields, whose first axes they share: ``release`` gives records."""
    return np.asarray(_filled(np.recarray, axes, columns))


def _filled(make: Callable[..., Outputs], axes: int, columns: Mapping[str, Outputs]) -> Outputs:
    fields = [(name, one.dtype, one.shape[axes:]) for name, one in columns.items()]
    outputs = make(next(iter(columns.values())).shape[:axes], dtype=np.dtype(fields))
    for name, one in columns.items():
        outputs[name] = one
    return outputs


def unpack(output: Output) -> Output:
    """Return one output by itself: a number of any size, an array, a tuple, or a record."""
    if not isinstance(output, np.ndarray | np.generic):
        return output
    array = np.asarray(output)
    if array.ndim or output.dtype == object or issubclass(output.dtype.type, np.record):
        return array[()]  # an element by itself, or the array as it is
    if array.dtype.names is not None:
        return tuple(unpack(np.asarray(array[name])) for name in array.dtype.names)
    return array.item()


def flatten(outputs: Outputs) -> NDArray[np.float64]:
    """Flatten outputs to floats, (size,) for scalars, else (size, coordinates): post-processing."""
    if outputs.dtype.names is None and outputs.ndim == 1:
        return outputs.astype(np.float64)
    return np.concatenate(_columns(outputs, len(outputs)), axis=1)


def _columns(outputs: Outputs, size: int) -> list[NDArray[np.float64]]:
    if outputs.dtype.names is None:
        return [outputs.astype(np.float64).reshape(size, -1)]
    rows = outputs.reshape(size, -1)
    return [
        column
        for j in range(rows.shape[1])
        for name in outputs.dtype.names
        for column in _columns(np.ascontiguousarray(rows[name][:, j]), size)
    ]
