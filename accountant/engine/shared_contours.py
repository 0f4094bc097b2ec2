"""Share contours among questions about one product at many epsilons."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from functools import lru_cache
from typing import final

import numpy as np

from accountant.arithmetic.enclosure import Reals
from accountant.engine.common_lattice import common_lattice
from accountant.engine.contour import MAX_NODES, Contour, build
from accountant.engine.lattice import LatticeContour, build_lattice
from accountant.engine.saddle_point import Saddle, saddle_at, survey
from accountant.errors import EASIER, NotCertified
from accountant.pairs.product import Product

_STEP = 0.12  # Rounding of log c. Heuristic.
_BLOCK = 16  # Rounded log c that are evaluated at once. Heuristic.
_BLOCKS = (-8, 9)  # The range of these blocks. Heuristic.
_BACK = 2  # Steps to a smaller c if K is out of reach. Heuristic.
_MODERATE = 1 << 12  # Most nodes of a shared contour. Heuristic.
# Standard deviations beyond its saddle that a contour serves. Heuristic: its terms are then larger
# than their sum by e to half of the square.
_REACH = 2.0


def contour_at(product: Product, saddle: Saddle, most: int = MAX_NODES) -> Contour | LatticeContour:
    """Return the contour that suits a saddle.

    It is on the lattice if there is one, or one next to the losses, that is not too fine.
    """
    near, moved = product.near_lattice()
    lattice = common_lattice(near, saddle.c)
    if lattice is not None:
        with contextlib.suppress(NotCertified):
            return build_lattice(near, saddle, replace(lattice, moved=moved))
    return build(product, saddle, most)


@final
class SharedContours:
    """Contours of one product at rounded c, which questions about neighbouring epsilons share.

    It is compared by identity, so that a cache does not hash the product's factors again.
    """

    __slots__ = ("_blocks", "_last", "product")

    def __init__(self, product: Product) -> None:
        self.product = product
        self._blocks: dict[int, Reals] = {}
        self._last = 0

    def near(self, epsilon: float) -> tuple[Contour | LatticeContour, float]:
        """Return a contour for an epsilon and the largest epsilon that it suits.

        Raises:
            NotCertified: K cannot be computed at any c that suits.
        """
        return _contour_near(self, self._step_for(epsilon) + 1)

    def _step_for(self, epsilon: float) -> int:
        """Return the largest rounded c whose saddle's epsilon is at most the one given."""
        at, (first, last) = self._last, _BLOCKS
        while at < last and self._block(at)[-1] <= epsilon:
            at += 1
        while at > first and self._block(at)[0] > epsilon:
            at -= 1
        self._last = at
        return _BLOCK * at + max(int((self._block(at) <= epsilon).sum()) - 1, 0)

    def _block(self, at: int) -> Reals:
        """Return the epsilons of the saddles at a block of rounded c.

        They are infinite if K is out of reach there.
        """
        if at not in self._blocks:
            found = np.full(_BLOCK, math.inf)
            with contextlib.suppress(NotCertified):
                steps = np.arange(_BLOCK * at, _BLOCK * (at + 1))
                known = survey(self.product, np.exp(_STEP * steps)).epsilon
                found[: known.size] = known
            self._blocks[at] = found
        return self._blocks[at]


shared_contours = lru_cache(maxsize=16)(SharedContours)


@lru_cache(maxsize=64)
def _contour_near(shared: SharedContours, step: int) -> tuple[Contour | LatticeContour, float]:
    """Return a contour at a rounded c and the largest epsilon that it suits.

    It has moderately many nodes. If K is out of reach, a smaller c serves all larger epsilons too.
    """
    for lower in range(step, _BLOCK * _BLOCKS[0], -_BACK):
        try:
            saddle = saddle_at(shared.product, math.exp(lower * _STEP))
            contour = contour_at(shared.product, saddle, _MODERATE)
        except NotCertified:
            continue
        reach = saddle.epsilon + _REACH * math.sqrt(saddle.spread)
        return contour, reach if lower == step else math.inf
    raise NotCertified(
        "no moment of the privacy loss that this answer could be computed from is representable "
        f"as a float; {EASIER}"
    )
