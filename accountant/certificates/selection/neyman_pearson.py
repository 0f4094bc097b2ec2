"""The least mass under Q of events of a mass under P, for a finite pair, as the checker uses it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import final

import numpy as np
from numpy.typing import NDArray

from accountant.arithmetic.enclosure import Reals, float_up
from accountant.pairs.finite import FinitePair


@final
@dataclass(frozen=True, slots=True)
class NeymanPearsonCurve:
    """The least mass A(k) under Q of an event of mass k under P, linear between its corners.

    Attributes:
        k: the corners, from 0 on, rounded up: a float is at or beyond one of them exactly if it is
            at or beyond the corner itself, which the checker compares it with.
        least: A at them.
        ratio: of Q's mass to P's, of the outcomes between.
    """

    k: Reals
    least: Reals
    ratio: Reals

    @staticmethod
    def of(pair: FinitePair) -> NeymanPearsonCurve:
        """Return the curve of a finite pair, from the outcomes with mass under P."""
        listed = sorted((b / a, a, b) for a, b in zip(pair.p, pair.q, strict=True) if a)
        ratio = np.array([float(one) for one, _, _ in listed])
        k, least = _sums(a for _, a, _ in listed), _sums(b for _, _, b in listed)
        return NeymanPearsonCurve(k, least, ratio)

    def under(self, k: Reals) -> Reals:
        """Return A(k)."""
        return np.interp(k, self.k, self.least)

    def place(self, k: Reals) -> NDArray[np.intp]:
        """Return the positions of the outcomes after some masses."""
        found = np.searchsorted(self.k, k, side="right") - 1
        return np.clip(found, 0, self.ratio.size - 1)

    def before(self, k: Reals) -> NDArray[np.intp]:
        """Return the positions of the outcomes before some masses above 0."""
        return np.clip(np.searchsorted(self.k, k) - 1, 0, self.ratio.size - 1)


def _sums(masses: Iterable[Fraction]) -> Reals:
    """Return the exact sums of the first masses, from 0 on, rounded up."""
    return np.array([float_up(one) for one in accumulate(masses, initial=Fraction(0))])
