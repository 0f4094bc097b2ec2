"""The least number that suffices, by doubling and bisection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dpproof.accountant.arithmetic.crossing import bisect_integers

FAR: Final = 10**300
"""Beyond what is feasible by far, and a float: the most that plans of sizes try."""


def least_count(suffices: Callable[[int], bool], most: int) -> int | None:
    """A number from 1 to ``most`` that suffices while the one before does not; None if none found.

    Args:
        suffices: once true, expected to stay true; it is called, never assumed.
        most: the largest that is tried.
    Example:
        >>> least_count(lambda n: n * n >= 50, 100)
        8
    """
    high = 1
    while not suffices(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    return bisect_integers(lambda number: not suffices(number), high // 2, high)[1]
