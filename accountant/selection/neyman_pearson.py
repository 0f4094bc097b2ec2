"""The least mass under Q of events of a mass under P, a curve of finitely many corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals


@final
@dataclass(frozen=True, slots=True, eq=False)
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

    def parts(self, cuts: Reals) -> tuple[Reals, Reals, NDArray[np.intp], Reals]:
        """Return the parts of outcomes between cuts from 0 to 1.

        They are middles, widths, the numbers of their blocks, and how far in these they lie.
        """
        every = np.union1d(np.clip(self.k, 0.0, 1.0), cuts)
        middle, width = 0.5 * (every[1:] + every[:-1]), np.diff(every)
        block = np.clip(np.searchsorted(cuts, middle) - 1, 0, cuts.size - 2)
        share = np.clip((middle - cuts[block]) / np.diff(cuts)[block], 0.0, 1.0)
        return middle, width, block, share
