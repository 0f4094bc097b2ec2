"""Refuse parameters of pairs whose powers are not representable as floats."""

from __future__ import annotations

from fractions import Fraction

from dpproof.accountant.errors import ParameterError

# Range of losses whose squares are normal floats. Error bounds depend on it.
_LEAST, _LARGEST = Fraction(1, 10**100), Fraction(10**100)
_SQUARES = _LEAST**2, _LARGEST**2  # Range of squared distances. Error bounds depend on it.


def required_loss(**argument: Fraction) -> None:
    """Refuse a loss whose square floats round to 0 or to infinity.

    Args:
        argument: the loss by its name, above 0, nats.

    Raises:
        ParameterError: below 1e-100 or above 1e100.
    Example:
        >>> required_loss(epsilon=Fraction(1, 10))
    """
    _required(argument, _LEAST, _LARGEST, "from 1e-100 to 1e+100")


def required_square(**argument: Fraction) -> None:
    """Refuse the square of a dimensionless distance that is not representable as a float.

    Raises:
        ParameterError: below 1e-200 or above 1e200.
    Example:
        >>> required_square(mu_squared=Fraction(1, 10))
    """
    _required(argument, *_SQUARES, "from 1e-200 to 1e+200")


def required_rate(**argument: Fraction) -> None:
    """Refuse a sampling rate q for which log q or log(1 - q) would lose digits.

    Raises:
        ParameterError: closer than 1e-100 to 0 or to 1.
    Example:
        >>> required_rate(sampling_rate=Fraction(1, 100))
    """
    ((name, value),) = argument.items()
    if not _LEAST <= value <= 1 - _LEAST:
        hint = "round it up" if value < _LEAST else "sample with rate 1, which is no more private"
        said = "from 1e-100 to 1 - 1e-100, or 1, for its pair to be computed"
        raise ParameterError(name, value, said, hint)


def _required(argument: dict[str, Fraction], least: Fraction, largest: Fraction, said: str) -> None:
    """Refuse a value outside [least, largest]."""
    ((name, value),) = argument.items()
    if not least <= value <= largest:
        hint = "round it up" if value < least else "add noise: it hides nothing"
        raise ParameterError(name, value, f"{said} for its pair to be computed", hint)
