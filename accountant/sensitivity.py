"""The largest move of a query's value between neighbours, with its norm in the type.

A sensitivity is in data units, under the neighbouring relation of the mechanism that carries
it. Under replace-one, a sum of clipped records moves by twice the clipping norm.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import Relation


@dataclass(frozen=True, slots=True)
class Sensitivity(Readable, ABC):
    """A bound on the norm of ``query(D) - query(D')`` over all neighbours, in data units."""

    value: Fraction

    def __init__(self, value: Number) -> None:
        """Keep the exact value; refuse anything that is not a finite number above 0."""
        object.__setattr__(self, "value", arguments.positive(sensitivity=value))


@final
class L1(Sensitivity):
    """Bound on the sum of absolute changes."""

    __slots__ = ()

    def as_l2(self) -> L2:
        """Return the same number: the Euclidean norm never exceeds the sum of absolute values."""
        return L2(self.value)


@final
class L2(Sensitivity):
    """Bound on the Euclidean norm of the change."""

    __slots__ = ()

    def as_l1(self, *, dimension: int) -> L1:
        """Return the value times sqrt(dimension), rounded up, by Cauchy-Schwarz."""
        return L1(self.value * _sqrt_up(arguments.count(dimension=dimension)))


@final
class LInf(Sensitivity):
    """Bound on the largest absolute change of a coordinate."""

    __slots__ = ()

    def as_l1(self, *, dimension: int) -> L1:
        """Return dimension times the largest change, which the L1 norm never exceeds."""
        return L1(self.value * arguments.count(dimension=dimension))

    def as_l2(self, *, dimension: int) -> L2:
        """Return sqrt(dimension) times the largest change, rounded up: a bound of the L2 norm."""
        return L2(self.value * _sqrt_up(arguments.count(dimension=dimension)))


@final
@dataclass(frozen=True, slots=True)
class L2Contribution(Readable):
    """A bound on what one record contributes to a query that is a sum over the records.

    It says more than a sensitivity: the query's exact value is the sum, over the records of the
    data, of terms of Euclidean norm at most this, each of which depends on its record alone and on
    what was released before (and on public constants). A blank record contributes 0. Poisson
    sampling under replace-one asks for it, as there it matters how far the value moves if a record
    is left out, not only if it is replaced.

    Attributes:
        value: the bound, in data units, exact.
    Example:
        >>> from dpproof.accountant.relation import AddRemove, ReplaceOne
        >>> clipped = L2Contribution(1)
        >>> clipped.under(AddRemove()), clipped.under(ReplaceOne())
        (L2(1), L2(2))
    """

    value: Fraction

    def __init__(self, value: Number) -> None:
        """Keep the exact value; refuse anything that is not a finite number above 0."""
        object.__setattr__(self, "value", arguments.positive(contribution=value))

    def under(self, relation: Relation) -> L2:
        """Return the sensitivity of the sum: twice the bound if a record is replaced."""
        return L2(2 * self.value if relation.symmetric else self.value)


@final
@dataclass(frozen=True, slots=True, init=False)
class Differences(Readable):
    """The query moves by a vector in the convex hull of some vectors and their negatives.

    For noise whose size differs from direction to direction, of which no norm says enough.

    Attributes:
        vectors: of one length, not all of them 0, exact, in data units.
    Example:
        >>> Differences([[1, 0], [0.5, 2]]).vectors[1]
        (Fraction(1, 2), Fraction(2, 1))
    """

    vectors: tuple[tuple[Fraction, ...], ...]

    def __init__(self, vectors: Sequence[Sequence[Number]]) -> None:
        """Keep the exact vectors; refuse none, several lengths, and zeros alone."""
        exact = tuple(tuple(arguments.real(vectors=one) for one in row) for row in vectors)
        if not exact or len({len(row) for row in exact}) != 1 or not any(map(any, exact)):
            raise ParameterError("vectors", vectors, "vectors of one length, not all of them 0")
        object.__setattr__(self, "vectors", exact)


@final
@dataclass(frozen=True, slots=True, init=False)
class JointSensitivity(Readable):
    """Bounds on the sum of all absolute changes and on each of them: less than either says alone.

    Attributes:
        l1: on the sum, in data units.
        linf: on each, at most ``l1``.
    Example:
        >>> JointSensitivity.few(coordinates=3, each=2)
        JointSensitivity(l1=6, linf=2)
    """

    l1: Fraction
    linf: Fraction

    def __init__(self, *, l1: Number, linf: Number) -> None:
        """Keep the exact values; refuse anything that is not a finite number above 0."""
        whole = arguments.positive(l1=l1)
        object.__setattr__(self, "l1", whole)
        object.__setattr__(self, "linf", min(arguments.positive(linf=linf), whole))

    @staticmethod
    def few(*, coordinates: int, each: Number) -> JointSensitivity:
        """Return the sensitivity if so many coordinates move (L0), each by at most ``each``."""
        largest = arguments.positive(each=each)
        return JointSensitivity(l1=largest * arguments.count(coordinates=coordinates), linf=largest)

    @property
    def largest(self) -> tuple[int, Fraction]:
        """Return the number of coordinates that can move by ``linf``, and the rest for one more."""
        full = self.l1 // self.linf
        return full, self.l1 - full * self.linf

    def as_l1(self) -> L1:
        """Return the L1 sensitivity alone."""
        return L1(self.l1)

    def as_l2(self) -> L2:
        """Return the norm of a change that moves as many coordinates by ``linf`` as can be.

        It is the largest Euclidean norm, rounded up.
        """
        full, rest = self.largest
        square = full * self.linf**2 + rest**2
        return L2(_sqrt_up(square.numerator * square.denominator) / square.denominator)


def _sqrt_up(whole: int) -> Fraction:
    """Return the smallest multiple of 2**-40 at or above the square root."""
    scaled = math.isqrt(whole << 80)
    return Fraction(scaled if scaled * scaled == whole << 80 else scaled + 1, 1 << 40)
