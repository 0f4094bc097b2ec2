"""Random choices that are recorded, so that a case can be drawn again and made smaller."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar, final

T = TypeVar("T")


@final
class Draw:
    """A source of choices: from a seed, or from the choices of an earlier draw.

    Every choice is an integer at or above 0, and 0 stands for the simplest option, so that
    smaller choices make simpler cases.

    Attributes:
        choices: what was chosen so far.
    """

    def __init__(self, seed: str | None = None, *, replay: Sequence[int] = ()) -> None:
        """Draw at random by a seed; or repeat choices, and choose 0 after the last of them."""
        self.choices: list[int] = []
        self._random = None if seed is None else random.Random(seed)  # noqa: S311  # not secret
        self._replay = iter(replay)

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included; low is the simplest."""
        if self._random is None:
            chosen = min(next(self._replay, 0), high - low)
        else:
            chosen = self._random.randint(0, high - low)
        self.choices.append(chosen)
        return low + chosen

    def choose(self, options: Sequence[T]) -> T:
        """One of the options, the simplest first."""
        return options[self.integer(0, len(options) - 1)]

    def rarely(self, one_in: int) -> bool:
        """True once in so many draws; False is simpler."""
        return self.integer(0, one_in - 1) == one_in - 1

    def positive(self) -> Fraction:
        """A positive number: mostly k/8 of moderate size, sometimes any size."""
        if self.rarely(6):
            return Fraction(10) ** self.integer(-12, 2)
        if self.rarely(4):
            return Fraction(self.integer(1, 10**6), self.integer(1, 10**6))
        return Fraction(self.integer(1, 24), 8)

    def fraction_below_one(self) -> Fraction:
        """A number in (0, 1): mostly k/16, sometimes next to 0 or to 1."""
        if self.rarely(5):
            tiny = Fraction(1, 10 ** self.integer(2, 15))
            return tiny if self.rarely(2) else 1 - tiny
        return Fraction(self.integer(1, 15), 16)

    def law(self, size: int, *, zeros: bool = False) -> tuple[Fraction, ...]:
        """Probabilities of so many outcomes; the last is never 0."""
        largest = self.choose((9, 9, 99, 10**6))
        weights = [self.integer(0 if zeros else 1, largest) for _ in range(size - 1)]
        weights.append(self.integer(1, largest))
        return tuple(Fraction(weight, sum(weights)) for weight in weights)


def text(value: Fraction | int) -> str:
    """A number as Python reads it."""
    exact = Fraction(value)
    if exact.denominator == 1:
        return str(exact.numerator)
    return f"Fraction({exact.numerator}, {exact.denominator})"
