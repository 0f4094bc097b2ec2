"""Integer arrays that never overflow: int64 while it holds the values, Python integers beyond."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64] | NDArray[np.object_]

_LIMIT = 2**63
_OVERSAMPLE = 64


def patched(fast: NDArray[np.int64], slow: Mapping[int, int]) -> Integers:
    """Return ``fast`` with entry i replaced by slow[i]; object dtype if one does not fit int64.

    Example:
        >>> patched(np.array([1, 2, 3]), {1: 7})
        array([1, 7, 3])
    """
    if not slow:
        return fast
    fits = all(-_LIMIT <= value < _LIMIT for value in slow.values())
    result: Integers = fast.copy() if fits else fast.astype(np.object_)
    for index, value in slow.items():
        result[index] = value
    return result


def largest_size(values: Integers) -> int:
    """Return max |values| as a Python integer; 0 for an empty array."""
    if len(values) == 0:
        return 0
    return max(abs(int(values.min())), abs(int(values.max())))


def multiply_add(factor: int, values: Integers, offset: Integers) -> Integers:
    """Return factor * values + offset without overflow.

    Example:
        >>> multiply_add(2**62, np.array([4]), np.array([1]))
        array([18446744073709551617], dtype=object)
    """
    if abs(factor) * max(largest_size(values), 1) + largest_size(offset) < _LIMIT:
        small: Integers = factor * values + offset
        return small
    large: Integers = factor * values.astype(np.object_) + offset.astype(np.object_)
    return large


def subtract(left: Integers, right: Integers) -> Integers:
    """Return left - right without overflow."""
    return multiply_add(-1, right, left)


def first_accepted(size: int, draw: Callable[[int], Integers], *, rate: float) -> Integers:
    """Return the first ``size`` accepted values of independent rounds.

    ``draw(n)`` makes n independent proposals and returns those it accepts, in order. The accepted
    values form one independent, identically distributed sequence; its first ``size`` entries are
    returned and the surplus of the last round is dropped whatever it holds.

    Args:
        size: the number of values to return.
        draw: proposals made -> accepted values.
        rate: about the share accepted, in (0, 1]; it sets the size of a round and nothing else.
    """
    parts: list[Integers] = []
    missing = size
    while missing > 0:
        accepted = draw(int(missing / rate) + int((missing / rate) ** 0.5) + _OVERSAMPLE)
        parts.append(accepted[:missing])
        missing -= len(parts[-1])
    if not parts:
        return np.zeros(0, dtype=np.int64)
    if any(part.dtype == np.object_ for part in parts):
        return np.concatenate([part.astype(np.object_) for part in parts])
    return np.concatenate([part.astype(np.int64, copy=False) for part in parts])
