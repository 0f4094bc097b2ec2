"""Outputs as rows of numbers, each a function of one output alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError, withholding

Features = NDArray[np.float64]
Outputs = Sequence[object] | NDArray[Any]
FeatureMap = Callable[[Any], Any]

_HASH_BITS = 52
_HUGE = 2.0**63  # integers from here on are objects to numpy unless a float is beside them
_TOLD = "numbers, text, or objects whose repr has no address in memory"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def encode(outputs: Outputs, size: int, features: FeatureMap | None = None) -> Features:
    """Outputs as a matrix of floats, one row each.

    Numbers stay numbers (``nan`` and infinities too), arrays are flattened, structured arrays give
    one column a field. Anything else becomes three numbers: a hash of its ``repr``, one of its type
    (of its keys, for a mapping), and its length.

    Law: a row depends on its own output, not on what else was drawn with it. All outputs of a
    batch are from one dataset, so that a row which told about the batch would tell the dataset.
    Rows that are longer elsewhere are as good as filled with ``nan``.

    Args:
        outputs: first axis = outputs.
        size: how many there have to be.
        features: applied to the outputs first, has to look at each by itself; what it loses
            cannot be found.
    Raises:
        ParameterError: not ``size`` outputs, or an output that can only be told by its address.
    Example:
        >>> encode([(1, 2.5), (3, 4)], 2).tolist()
        [[1.0, 2.5], [3.0, 4.0]]
        >>> encode(["yes", "no", "yes"], 3)[:, 0].tolist()[0::2] == [encode(["yes"], 1)[0, 0]] * 2
        True
        >>> encode([1.5, None], 2)[0].tolist()
        [1.5, nan, nan]
    """
    raw = outputs if features is None else withholding(features)(outputs)
    scalar = not isinstance(raw, Sized) or (isinstance(raw, np.ndarray) and raw.ndim == 0)
    if scalar or isinstance(raw, str | bytes | Mapping | AbstractSet):
        raise ParameterError(
            "outputs", f"one {type(raw).__name__}", f"a list or an array of {size} outputs"
        )
    if len(raw) != size:
        raise ParameterError(
            "outputs", len(raw), f"{size} outputs", "a sampler returns `size` of them, first axis"
        )
    array = _as_array(raw)
    if array.dtype.names is not None:
        parts = [_column(array[name], size) for name in array.dtype.names]
        return np.concatenate(parts, axis=1)
    if array.size and _is_plain(array, raw):
        return array.reshape(size, -1).astype(np.float64)
    items = raw if isinstance(raw, list | tuple) else list(array)
    return _stacked([_row(item) for item in items])


def _is_plain(array: NDArray[Any], raw: object) -> bool:
    """Whether all outputs are numbers, and each would be the same number by itself."""
    if array.dtype.kind not in "biuf":
        return False
    return isinstance(raw, np.ndarray) or not bool((np.abs(array) >= _HUGE).any())


def _column(values: NDArray[Any], size: int) -> Features:
    """One field of structured outputs: as wide for all of them."""
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    if values.dtype.kind in "biuf":
        return values.reshape(size, -1).astype(np.float64)
    return np.array([_described(_plain(value)) for value in values], dtype=np.float64)


def _row(item: object) -> Features:
    """Return the numbers of one output."""
    item = _plain(item)
    try:
        array = np.asarray(float(item)) if isinstance(item, int | float) else _as_array(item)
    except OverflowError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    if array.dtype.kind in "biuf":
        return array.ravel().astype(np.float64)
    return np.array(_described(item), dtype=np.float64)


def _plain(item: Any) -> Any:  # noqa: ANN401  # any object
    """Python's own numbers and lists for those of numpy that may hold anything."""
    if isinstance(item, np.generic) or (isinstance(item, np.ndarray) and item.dtype == object):
        return item.tolist()
    return item


def _stacked(rows: Sequence[Features]) -> Features:
    """Rows of different length: what the shorter ones have not is nan."""
    stacked = np.full((len(rows), max(1, *map(len, rows))), np.nan)
    for place, row in zip(stacked, rows, strict=True):
        place[: len(row)] = row
    return stacked


def _as_array(outputs: Any) -> NDArray[Any]:  # noqa: ANN401  # any object
    if isinstance(outputs, np.ndarray):
        return outputs
    try:
        return np.asarray(outputs)
    except (ValueError, OverflowError):  # ragged: parts of different lengths
        return np.empty(len(outputs), dtype=object)


def _described(item: object) -> tuple[int, int, int]:
    """A hash of the item, one of what kind of thing it is (the keys, of a mapping), its length."""
    kind = (
        str(sorted(map(stable_text, item)))
        if isinstance(item, Mapping)
        else type(item).__qualname__
    )
    return hashed(stable_text(item)), hashed(kind), len(item) if isinstance(item, Sized) else 0


def stable_text(item: object) -> str:
    """The ``repr`` of an item, of a set in order.

    Raises:
        ParameterError: it has an address in memory, which depends on what was drawn before.
    """
    if isinstance(item, AbstractSet):
        return f"{type(item).__qualname__} {sorted(map(stable_text, item))}"
    text = repr(item)
    if not isinstance(item, str | bytes) and _ADDRESS.search(text):
        raise DataError("outputs", item, _TOLD, "give `features`, which makes numbers of them")
    return text


def hashed(text: str) -> int:
    """52 bits that a text decides: the same on every machine."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _HASH_BITS)
