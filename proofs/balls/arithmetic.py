"""Numbers of extensions: made once for each precision, and rounded down to units."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flint import arb, ctx

T = TypeVar("T")


def each_precision(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls ``make`` once for each precision, and keeps the results."""
    results: dict[int, T] = {}

    def at_present() -> T:
        if ctx.prec not in results:
            results[ctx.prec] = make()
        return results[ctx.prec]

    return at_present


def lower_units(value: arb, bits: int) -> int:
    """Return the largest number of units 2^-bits at or below the least of a finite ball."""
    mantissa, exponent = map(int, value.lower().man_exp())
    shift = exponent + bits
    return mantissa << shift if shift >= 0 else mantissa >> -shift
