"""Ball arithmetic: exact rationals in, decided comparisons out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from flint import arb, ctx, fmpq

from .errors import RefusedError, UndecidedError
from .limits import PRECISIONS
from .verdict import openable

Number: TypeAlias = arb | Fraction
"""Of what is compared: an enclosure, or exactly."""

_FAR = 1000  # from where the ends of a ball are taken for erfc; either way encloses it


def ball(value: Number | int) -> arb:
    """Return a ball that holds a rational, at the current precision; a ball is one already."""
    if isinstance(value, arb):
        return value
    return arb(fmpq(value.numerator, value.denominator))


def require_at_most(value: Callable[[], Number], limit: Callable[[], Number], what: str) -> None:
    """Accept if one number is certainly at most another; undecided if their enclosures overlap."""
    left, right = value(), limit()
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        above, below = left > right, left <= right
    else:
        above, below = ball(left) > ball(right), ball(left) <= ball(right)
    if above:
        raise RefusedError(f"{what} is at least {_show(ball(left))}, above {_show(ball(right))}")
    if not below:
        raise UndecidedError(f"{what}: {ctx.prec} bits of precision do not decide")


def exact(value: Fraction) -> str:
    """Return a rational for readers: 17 digits and, if those are not its exact value, that."""
    shown = _short(value)
    return shown or f"{show(value)} (exactly {openable(str(value))})"


def show(value: Fraction) -> str:
    """Return a rational for readers: exact if it is a binary64 number or short, else 17 digits."""
    shown = _short(value)
    if shown:
        return shown
    with ctx.workprec(PRECISIONS[0]):
        return _show(ball(value))


def _short(value: Fraction) -> str:
    """Return a short text that names this rational alone; the empty text if there is none."""
    if value.denominator > 1 and abs(value) < 1 << 53 and Fraction(float(value)) == value:
        return repr(float(value))
    short = max(abs(value.numerator), value.denominator) < 10**12
    return str(value) if short and len(str(value)) <= 12 else ""


def _show(value: arb) -> str:
    return str(value.mid().str(17, radius=False))


def normal_tail(x: arb) -> arb:
    """Return the probability that a standard normal variable exceeds x.

    It falls in x. Far out flint's erfc of a ball loses all digits, that of its ends none.
    """
    scaled = x / arb(2).sqrt()
    if scaled > _FAR:
        return scaled.lower().erfc().union(scaled.upper().erfc()) / 2
    return scaled.erfc() / 2
