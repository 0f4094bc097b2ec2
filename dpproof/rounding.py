"""Numbers for people: rounded, and always to the side that does not flatter."""

import math
import sys
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

PLAIN_FROM = Decimal("1e-4")
PLAIN_BELOW = Decimal("1e7")
_LEAST_FLOAT, _LARGEST_FLOAT = Fraction(math.ulp(0.0)), Fraction(sys.float_info.max)


def above(value: float | Fraction, digits: int = 5) -> str:
    """Return the number in decimal, rounded up to some significant digits.

    Laws: read back exactly, the text is at or above the value.
    Example:
        >>> above(6.90738), above(0.30000000000000004, 3), above(1e-9)
        ('6.9074', '0.301', '1.0001e-9')
    """
    return _rounded(value, digits, ROUND_CEILING)


def below(value: float | Fraction, digits: int = 5) -> str:
    """Return the number in decimal, rounded down to some significant digits.

    Laws: read back exactly, the text is at or below the value.
    Example:
        >>> below(6.90738), below(1234567.8), below(12345678.0)
        ('6.9073', '1234500', '1.2345e7')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def percent_above(share: float | Fraction) -> str:
    """Return a share as per cent, rounded up to one decimal, below 1 % to two digits.

    What is below 100 % is shown with as many digits as that takes.

    Example:
        >>> percent_above(0.8634), percent_above(1.0), percent_above(0.00123)
        ('86.4 %', '100.0 %', '0.13 %')
        >>> percent_above(0.999951)
        '99.996 %'
    """
    if not math.isfinite(share):
        return f"{share} %"
    exact = 100 * Fraction(share)
    if exact < 1:
        return f"{_rounded(exact, 2, ROUND_CEILING)} %"
    whole, decimals = 100, 1
    if exact < whole:
        while math.ceil(exact * 10**decimals) >= whole * 10**decimals:
            decimals += 1
    before, after = divmod(math.ceil(exact * 10**decimals), 10**decimals)
    return f"{before}.{after:0{decimals}} %"


def exactly(value: Fraction) -> str:
    """Return the shortest decimal that names the same float; whole numbers in full.

    What is beyond all floats, or below them, is rounded up to 17 digits.

    Example:
        >>> exactly(Fraction(0.01)), exactly(Fraction(8.0)), exactly(Fraction(1e-6))
        ('0.01', '8', '1e-6')
        >>> exactly(Fraction(1, 10**400)), exactly(Fraction(10**5000))
        ('1e-400', '1e5000')
    """
    if value and not _LEAST_FLOAT <= abs(value) <= _LARGEST_FLOAT:
        rounded = _quotient(value, 17, ROUND_CEILING).normalize()
        mantissa, _, exponent = f"{rounded:e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    if value.denominator == 1:
        return str(value.numerator)
    mantissa, mark, exponent = repr(float(value)).partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def percent_below(share: Fraction) -> str:
    """Return a share of 1, rounded down."""
    return f"{below(100 * share, 4)} %"


def _rounded(value: float | Fraction, digits: int, rounding: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    number = _quotient(Fraction(value), digits, rounding)
    if number == 0:
        return "0"
    if PLAIN_FROM <= abs(number) < PLAIN_BELOW:
        return f"{number:f}"
    mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _quotient(value: Fraction, digits: int, rounding: str) -> Decimal:
    context = Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
