"""Features of arbitrary objects, for witnesses that learn."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.auditing.trials.encoding import hashed, stable_text

_HUGE = 1e300  # beyond it, and nan, a number is a word


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
    """Paths inside an object with the number at each; a word is part of its path."""
    if isinstance(item, np.ndarray | np.generic):
        item = item.tolist()
    if type(item) in {int, float} and abs(item) < _HUGE:
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
