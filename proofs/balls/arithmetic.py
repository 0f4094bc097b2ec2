"""Numbers of extensions: exact sums, made once for each precision, rounded down to units."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeVar

from flint import arb, ctx

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.limits import MAX_SUM_BITS

T = TypeVar("T")


def exact_sum(values: Iterable[Fraction], most: int = MAX_SUM_BITS) -> Fraction:
    """Return the sum of rationals; refuse a denominator of more than ``most`` bits."""
    total = Fraction(0)
    for value in values:
        total += value
        if total.denominator.bit_length() > most:
            raise RefusedError("the common denominator of a sum is too long")
    return total


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
