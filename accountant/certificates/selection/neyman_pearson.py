"""The least mass under Q of events of a mass under P, for a finite pair, as the checker uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from accountant.arithmetic.enclosure import Reals
from accountant.pairs.finite import FinitePair


@final
@dataclass(frozen=True, slots=True)
class NeymanPearsonCurve:
    """The least mass A(k) under Q of an event of mass k under P, linear between its corners.

    Attributes:
        k: the corners, from 0 on.
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
        ratio, p, q = (np.array([float(one[i]) for one in listed]) for i in range(3))
        k, least = (np.concatenate([[0.0], np.cumsum(one)]) for one in (p, q))
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
