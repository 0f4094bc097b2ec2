"""How small and large a parameter of a pair may be: floats have to hold its powers, too."""

from __future__ import annotations

from fractions import Fraction

from accountant.errors import ParameterError

_LEAST, _LARGEST = Fraction(1, 10**100), Fraction(10**100)
_SQUARES = _LEAST**2, _LARGEST**2


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
    """Refuse the square of a dimensionless distance for the same reason.

    Raises:
        ParameterError: below 1e-200 or above 1e200.
    Example:
        >>> required_square(mu_squared=Fraction(1, 10))
    """
    _required(argument, *_SQUARES, "from 1e-200 to 1e+200")


def required_rate(**argument: Fraction) -> None:
    """Refuse a sampling rate whose float, or that of its complement, has no log to all digits.

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
    ((name, value),) = argument.items()
    if not least <= value <= largest:
        hint = "round it up" if value < least else "add noise: it hides nothing"
        raise ParameterError(name, value, f"{said} for its pair to be computed", hint)
