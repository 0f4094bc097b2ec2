"""The two datasets of an audit."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.auditing.errors import Unidentified
from dpproof.auditing.trials.fingerprint import identity

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two datasets that the claim's relation makes neighbours, in either order.

    Whether they are neighbours is the caller's word: an audit sees outputs only.

    Attributes:
        data: D.
        neighbour: D'.
        name: its name in the report.
    """

    data: Any = field(repr=False)
    neighbour: Any = field(repr=False)
    name: str = "pair"

    @staticmethod
    def of(pair: Any) -> Pair:  # noqa: ANN401  # whatever a caller gives
        """Return a pair from itself or from a tuple of two datasets.

        Raises:
            ParameterError: neither.
        """
        if isinstance(pair, Pair):
            return pair
        length = withholding(pair.__len__)() if isinstance(pair, Sized) else None
        if length != 2:
            kind = type(pair).__name__ + ("" if length is None else f" of length {length}")
            raise ParameterError("pair", kind, "a Pair or a tuple (data, neighbour)")
        first, second = withholding(lambda: (pair[0], pair[1]))()
        return Pair(first, second)

    def different(self) -> Pair:
        """Return the pair itself if an implementation can tell its datasets apart.

        Raises:
            ParameterError: they are equal in every part, so that nothing could be found.
        """
        if alike(self.data, self.neighbour):
            raise ParameterError(
                "pair", "two equal ones", "two neighbouring datasets", "change one record"
            )
        return self


def alike(first: object, second: object) -> bool:
    """Return whether two datasets are equal in every part; False where that cannot be told.

    Example:
        >>> alike([1.0, "a"], [1.0, "a"]), alike([0.0], [-0.0]), alike(1, 1.0)
        (True, False, False)
    """
    if first is second or type(first) is not type(second):
        return first is second
    if isinstance(first, _PLAIN):
        return repr(first) == repr(second)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        form = (first.dtype, first.shape) == (second.dtype, second.shape)
        if not form or first.dtype != object:
            return form and first.tobytes() == second.tobytes()
    try:
        return identity(first, code=False) == identity(second, code=False)
    except Unidentified:
        return False
