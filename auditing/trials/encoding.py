"""Outputs as rows of numbers, each a function of one output alone."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
    Sized,
)
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
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
    """Return outputs as a matrix of floats, one row each.

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
    """Return whether all outputs are numbers, and each would be the same number by itself."""
    if array.dtype.kind not in "biuf":
        return False
    return isinstance(raw, np.ndarray) or not bool((np.abs(array) >= _HUGE).any())


def _column(values: NDArray[Any], size: int) -> Features:
    """Return one field of structured outputs as columns, as many for all of them."""
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
    """Return Python's own numbers and lists for numpy's that may hold anything."""
    if isinstance(item, np.generic) or (isinstance(item, np.ndarray) and item.dtype == object):
        return item.tolist()
    return item


def _stacked(rows: Sequence[Features]) -> Features:
    """Return rows of different length as a matrix; the shorter ones are filled with nan."""
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
    """Return a hash of the item, a hash of its type (of a mapping, of its keys), and its length."""
    kind = (
        str(sorted(map(stable_text, item)))
        if isinstance(item, Mapping)
        else type(item).__qualname__
    )
    return hashed(stable_text(item)), hashed(kind), len(item) if isinstance(item, Sized) else 0


def stable_text(item: object) -> str:
    """Return the ``repr`` of an item, of a set in order.

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
    """Return 52 bits that a text determines, the same on every machine."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _HASH_BITS)


_OBJECT_FEATURES_HUGE = 1e300  # beyond it, and nan, a number is a word


@final
@dataclass(frozen=True, slots=True)
class ObjectFeatures:
    """Objects as rows of numbers: everything inside them, each at a place that its path decides.

    Numbers add their value to the column of their path, keys and words add one to the column of
    path and word, so that which keys there are, what they hold, types and lengths can be learned.
    Columns are chosen by a hash (Weinberger et al., arXiv:0902.2206): two paths that share one are
    added up, which loses power and never validity.

    Args:
        width: how many columns.
    Example:
        >>> rows = ObjectFeatures()([{"a": 1.5}, {"a": 1.5, "b": "yes"}, {"a": 1.5}])
        >>> rows.shape, bool((rows[0] == rows[2]).all()), bool((rows[0] == rows[1]).all())
        ((3, 64), True, False)
    """

    width: int = 64

    def __post_init__(self) -> None:
        """Raise ParameterError if there are no columns."""
        arguments.count(width=self.width)

    def __call__(self, outputs: Iterable[object]) -> NDArray[np.float64]:
        """Return one row of numbers for every output."""
        return np.array([self._row(output) for output in outputs]).reshape(-1, self.width)

    def _row(self, output: object) -> NDArray[np.float64]:
        row = np.zeros(self.width)
        for path, value in _leaves("", output):
            place = hashed(path)
            row[place % self.width] += value if (place // self.width) % 2 else -value
        return row


def _leaves(path: str, item: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401  # any object
    """Yield paths inside an object with the number at each; a word is part of its path."""
    if isinstance(item, np.ndarray | np.generic):
        item = item.tolist()
    if type(item) in {int, float} and abs(item) < _OBJECT_FEATURES_HUGE:
        yield path, float(item)
        yield f"{path}: number", 1.0
    elif isinstance(item, Mapping):
        yield from _inside(path, "mapping", item.items(), len(item))
    elif isinstance(item, AbstractSet):
        yield from _inside(path, "set", ((part, True) for part in item), len(item))
    elif isinstance(item, list | tuple):
        yield from _inside(path, "list", enumerate(item), len(item))
    elif dataclasses.is_dataclass(item) and not isinstance(item, type):
        names = [field.name for field in dataclasses.fields(item)]
        fields = ((name, getattr(item, name)) for name in names)
        yield from _inside(path, type(item).__qualname__, fields, len(names))
    else:
        yield f"{path} = {stable_text(item)}", 1.0


def _inside(
    path: str, kind: str, parts: Iterable[tuple[object, object]], count: int
) -> Iterator[tuple[str, float]]:
    yield f"{path}: {kind}", 1.0
    yield f"{path}: length", float(count)
    for key, part in parts:
        yield from _leaves(f"{path}/{stable_text(key)}", part)
