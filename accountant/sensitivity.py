"""How far a query's value moves between neighbours, with its norm in the type.

A sensitivity is in data units, under the neighbouring relation of the mechanism that carries
it. Under replace-one, a sum of clipped records moves by twice the clipping norm.
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from accountant import arguments
from accountant.arguments import Number


@dataclass(frozen=True, slots=True)
class Sensitivity(ABC):
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
        """The Euclidean norm never exceeds the sum of absolute values."""
        return L2(self.value)


@final
class L2(Sensitivity):
    """Bound on the Euclidean norm of the change."""

    __slots__ = ()

    def as_l1(self, *, dimension: int) -> L1:
        """Cauchy-Schwarz: the L1 norm is at most sqrt(dimension) times the L2 norm, rounded up."""
        return L1(self.value * _sqrt_up(arguments.count(dimension=dimension)))


@final
class LInf(Sensitivity):
    """Bound on the largest absolute change of a coordinate."""

    __slots__ = ()

    def as_l1(self, *, dimension: int) -> L1:
        """The L1 norm is at most dimension times the largest change."""
        return L1(self.value * arguments.count(dimension=dimension))

    def as_l2(self, *, dimension: int) -> L2:
        """The L2 norm is at most sqrt(dimension) times the largest change, rounded up."""
        return L2(self.value * _sqrt_up(arguments.count(dimension=dimension)))


def _sqrt_up(whole: int) -> Fraction:
    """Smallest multiple of 2**-40 at or above the square root."""
    scaled = math.isqrt(whole << 80)
    return Fraction(scaled if scaled * scaled == whole << 80 else scaled + 1, 1 << 40)
