"""Find the integer that an exact predicate singles out, starting from a guess."""

from __future__ import annotations

from collections.abc import Callable

from dpproof.accountant.arithmetic.crossing import bisect_integers


def largest(at_least: Callable[[int], bool], guess: int) -> int:
    """Return the largest integer k with ``at_least(k)``, for a predicate true up to k and no more.

    Steps double away from the guess and then halve, so a guess that is off by d costs about
    2 log2 d evaluations, and the answer never depends on the guess.

    Example:
        >>> largest(lambda j: j * j * j <= 1000, 3)
        10
    """
    step = 1
    if at_least(guess):
        low = guess
        while at_least(low + step):
            low += step
            step *= 2
        high = low + step
    else:
        high = guess
        while not at_least(high - step):
            high -= step
            step *= 2
        low = high - step
    return bisect_integers(at_least, low, high)[0]
