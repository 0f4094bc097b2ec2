"""A two-sided, rigorous bracket of a real number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.readable import Readable

_DIGITS: Final = re.compile(r"(\.\d+|)([a-zA-Z]?)$")  # Of a format: its precision and its type.


@final
@dataclass(frozen=True, slots=True)
class Bound(Readable):
    """A number of the dominating pair lies in ``[lower, upper]``.

    Both ends are binary64 and include every truncation, aliasing, quadrature and rounding
    error. ``upper`` is the number to state as a guarantee: it holds for every mechanism that the
    derivation describes. ``lower`` says how far it could still come down by computing the pair
    more precisely. If ``attained``, some mechanism of the description has the number itself, and
    ``lower`` says how far it could come down at all. (Of a trade-off the ends change places.)
    A ``Bound`` refuses to be a plain float: choose an end. It compares with numbers and other
    brackets where they decide, and refuses where they overlap; a format shows the upper end,
    rounded up. ``advice`` says what to ask instead, where the number helps nobody.

    Example:
        >>> Bound(1.0, 1.5).width
        0.5
        >>> 1.2 in Bound(1.0, 1.5)
        True
        >>> Bound(1.0, 1.5) <= 2, f"{Bound(1.0, 1.2341):.2f}"
        (True, '1.24')
    """

    lower: float
    upper: float
    attained: bool = field(default=True, compare=False)
    advice: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Refuse an empty or undefined bracket: a failure never looks like privacy."""
        if not self.lower <= self.upper:
            raise NotCertified(
                f"a bracket needs lower <= upper, got [{self.lower!r}, {self.upper!r}]; "
                "this is a numerical failure inside dpproof, please report it with its inputs"
            )

    def __repr__(self) -> str:
        """Return both ends, of what they are if the mechanism may be better, and advice."""
        whose = "" if self.attained else f",{self.whose}"
        advice = f"; {self.advice}" if self.advice else ""
        return f"Bound(lower={self.lower!r}, upper={self.upper!r}{whose}{advice})"

    @property
    def whose(self) -> str:
        """Return words that attribute the number to the dominating pair, empty if attained."""
        return "" if self.attained else " of the dominating pair"

    @property
    def width(self) -> float:
        """Return ``upper - lower``, 0 when both ends are the same infinity."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def relative_width(self) -> float:
        """Return the width over the larger absolute end: 0 for a point, inf for an infinite end."""
        if self.lower == self.upper:
            return 0.0
        if math.isinf(self.width):
            return math.inf
        return self.width / max(abs(self.upper), abs(self.lower))

    def __contains__(self, value: object) -> bool:
        """Return whether a number lies in the closed bracket."""
        return isinstance(value, int | float) and self.lower <= value <= self.upper

    def __lt__(self, other: Bound | float) -> bool:
        """Return whether the true value is below another."""
        bound = Bound.of(other)
        return self._decided("<", bound, self.upper < bound.lower, self.lower >= bound.upper)

    def __le__(self, other: Bound | float) -> bool:
        """Return whether the true value is at or below another."""
        bound = Bound.of(other)
        return self._decided("<=", bound, self.upper <= bound.lower, self.lower > bound.upper)

    def __gt__(self, other: Bound | float) -> bool:
        """Return whether the true value is above another."""
        return not self <= other

    def __ge__(self, other: Bound | float) -> bool:
        """Return whether the true value is at or above another."""
        return not self < other

    def _decided(self, sign: str, other: Bound, holds: bool, fails: bool) -> bool:  # noqa: FBT001  # two facts
        """Return whether a comparison holds; refuse if it neither surely holds nor surely fails."""
        if holds == fails:
            raise NotCertified(
                f"these brackets do not decide [{self.lower!r}, {self.upper!r}] {sign} "
                f"[{other.lower!r}, {other.upper!r}]; compare .upper, the guarantee, or .lower"
            )
        return holds

    def __format__(self, specification: str) -> str:
        """Show the upper end, the guarantee, rounded up; without a specification both ends."""
        if not specification:
            return str(self)
        text = format(self.upper, specification)
        try:
            shown = Decimal(text)
        except InvalidOperation:  # a width, a sign of thousands, a percentage: rounded to nearest
            return text
        if not shown.is_finite() or shown >= Decimal(self.upper):
            return text
        digits = Decimal(format(self.upper, "#" + "".join(_DIGITS.findall(specification)[0])))
        step = Decimal((0, (1,), int(digits.as_tuple().exponent)))
        return format(shown + step, specification)

    def _repr_html_(self) -> str:
        """Show a notebook the guarantee, rounded up, and the bracket below it."""
        ends = f"[{self.lower!r}, {self.upper!r}]{self.whose}"
        return f"<b>{self:.6g}</b> <small>(in {ends})</small> {self.advice}".rstrip()

    def __float__(self) -> NoReturn:
        """Refuse: an upper bound, a lower bound and an estimate are different things."""
        raise TypeError("a Bound is not one number: use .upper (the guarantee) or .lower")

    @staticmethod
    def exactly(value: float) -> Bound:
        """Return the bracket of an exactly known value, with both ends equal."""
        return Bound(value, value)

    @staticmethod
    def of(value: float | Bound) -> Bound:
        """Return the bracket of a number that is known exactly, or the bracket given."""
        return value if isinstance(value, Bound) else Bound.exactly(value)

    def maximum(self, other: Bound) -> Bound:
        """Bracket of the larger of two numbers, each known by its bracket."""
        attained = self.attained and other.attained
        return Bound(max(self.lower, other.lower), max(self.upper, other.upper), attained)

    def meet(self, other: Bound) -> Bound:
        """Return the intersection of two brackets of the same number."""
        attained = self.attained and other.attained
        return Bound(max(self.lower, other.lower), min(self.upper, other.upper), attained)

    def widened(self, relative: float) -> Bound:
        """Push both ends outwards by a relative margin."""
        return Bound(
            self.lower - relative * abs(self.lower) if math.isfinite(self.lower) else self.lower,
            self.upper + relative * abs(self.upper) if math.isfinite(self.upper) else self.upper,
            self.attained,
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Numbers of many questions at once, each between its ``lower`` and ``upper`` end.

    The ends mean what those of a ``Bound`` mean, and ``bounds[place]`` is the ``Bound`` of one.

    Attributes:
        lower: the lower ends, in the shape of the questions.
        upper: the upper ends, what may be stated.
        attained: where some mechanism of the description has the number itself.
        one_by_one: where the engine was asked this question alone, as the arrays of many gave no
            narrow bracket. Those answers take longer.

    Example:
        >>> found = Bounds(np.array([1.0, 2.0]), np.array([1.5, 2.0]))
        >>> found[0], found.upper.max().item()
        (Bound(lower=1.0, upper=1.5), 2.0)
    """

    lower: NDArray[np.floating[Any]]
    upper: NDArray[np.floating[Any]]
    attained: NDArray[np.bool_] = field(default_factory=lambda: np.array(True))
    one_by_one: NDArray[np.bool_] = field(default_factory=lambda: np.array(False))

    def __post_init__(self) -> None:
        """Refuse an empty or undefined bracket, give every array one shape, and freeze it."""
        if not (self.lower <= self.upper).all():
            raise NotCertified(
                "brackets need lower <= upper everywhere; this is a numerical failure inside "
                "dpproof, please report it with its inputs"
            )
        for name in self.__slots__:
            array = np.array(np.broadcast_to(getattr(self, name), self.lower.shape))
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        """Return the shape and how many were asked alone, on one line."""
        return f"<Bounds of shape {self.lower.shape}, {int(self.one_by_one.sum())} one by one>"

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return len(self.lower)

    def __getitem__(self, place: int | tuple[int, ...]) -> Bound:
        """Return the bracket of one question."""
        ends = float(self.lower[place]), float(self.upper[place])
        return Bound(*ends, bool(self.attained[place]))
