"""Share contours among questions about one product at many epsilons."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals, distinct
from dpproof.accountant.engine.contour import MAX_NODES, Contour, build
from dpproof.accountant.engine.lattice import LatticeContour, build_lattice, common_lattice
from dpproof.accountant.engine.saddle_point import Saddle, find_saddle, saddle_at, survey
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.product import Product

_STEP = 0.12  # Rounding of log c. Heuristic.
_BLOCK = 16  # Rounded log c that are evaluated at once. Heuristic.
_BLOCKS = (-8, 9)  # The range of these blocks. Heuristic.
_START = -1  # The block that is looked at first for a delta. Heuristic.
WIDE = 1e-6  # Width of the log of a bracket at which a contour is aimed. Heuristic.
_ROUGH = 1e-3  # Width from which bundles are taken apart. Heuristic.
_REFINED = 1e-4  # Width asked for up to which K is computed to more digits. Heuristic.
_ALIKE = 4.0  # Width, in units of that an aimed one left, at which another is. Heuristic.
# Distance from an aimed one, in units of 1 / c, within which another would gain little. Heuristic.
_BESIDE = 0.2
_SERVED = 6.0  # Standard deviations around it that an aimed one is asked for. Heuristic.
_HOPELESS = -690.0  # Log of a delta so small that it does not. Heuristic.
_MOST_AIMED = 16  # Aimed contours that are kept. Heuristic.
_MOST_KEPT = 1 << 18  # Nodes of those, to bound memory, unless one alone has more. Heuristic.
_LEFTMOST, _LEFTWARDS = 1.0, 4.0  # Least c that is moved, and the factor by which it is. Heuristic.
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


def reachable(product: Product, saddle: Saddle) -> Contour | LatticeContour:
    """Return the contour of a saddle, or of one further left if K is out of reach there.

    Any contour gives a bracket: next to the largest loss its upper end has to be enough.
    """
    while True:
        try:
            return contour_at(product, saddle)
        except NotCertified:
            if saddle.c < _LEFTMOST:
                raise
        saddle = saddle_at(product, saddle.c / _LEFTWARDS)


@final
@dataclass(frozen=True, slots=True)
class _Aimed:
    """A contour that was aimed at an epsilon.

    Attributes:
        epsilon: where it was aimed.
        beside: distance within which another contour's terms would be hardly smaller.
        deviation: standard deviation of the losses there, in which distances from it are told.
        left: width of the log of the bracket that it left at its epsilon.
        contour: valid at every epsilon.
    """

    epsilon: float
    beside: float
    deviation: float
    left: float
    contour: Contour | LatticeContour

    @property
    def nodes(self) -> int:
        """Return the number of nodes on a line; those of a lattice are few."""
        return self.contour.s.size if isinstance(self.contour, Contour) else 0

    def is_alike(self, epsilon: float, width: float) -> bool:
        """Return whether a bracket is nearly as narrow as one aimed there would be.

        Heuristic: one aimed there would leave what this one left at its own epsilon.
        """
        distance = abs(epsilon - self.epsilon)
        return distance <= self.beside or (
            distance <= _REACH * self.deviation and width <= _ALIKE * self.left < math.inf
        )

    def narrow(self, epsilon: Reals, ends: tuple[Reals, Reals], part: NDArray[np.intp]) -> None:
        """Intersect some brackets near enough with those of the contour, in place."""
        near = part[np.abs(epsilon[part] - self.epsilon) <= _SERVED * self.deviation]
        if near.size:
            _intersect(ends, self.contour, epsilon, near)


@final
class SharedContours:
    """Contours of one product, which questions about neighbouring epsilons share.

    Those at rounded c come first. Where epsilon jumps by more than they serve, and where they leave
    a wide bracket, others are aimed at an epsilon. It is compared by identity, so that a cache does
    not hash the product's factors again.
    """

    __slots__ = ("_aimed", "_blocks", "_last", "product")

    def __init__(self, product: Product) -> None:
        self.product = product
        self._aimed: list[_Aimed] = []
        self._blocks: dict[int, tuple[Reals, Reals, Reals]] = {}
        self._last = 0

    def log_profile(self, epsilon: Reals, wide: float = WIDE) -> tuple[Reals, Reals]:
        """Bound log delta of the finite losses at increasing epsilons >= 0.

        Args:
            epsilon: shape (n,).
            wide: width of the log of a bracket above which a contour is aimed.

        Raises:
            NotCertified: K cannot be computed at any c that suits.
        """
        ends = np.full(epsilon.shape, -math.inf), np.full(epsilon.shape, math.inf)
        with contextlib.suppress(NotCertified):  # those without a bracket are aimed at
            self._fill(epsilon, ends)
        self.narrow(epsilon, ends, wide)
        if wide > _REFINED or any(isinstance(f.pair, LatticePair) for f in self.product.factors):
            return ends  # its own errors exceed what is gained
        if not _wide(ends, wide).size:
            return ends
        finer, least = self.product.refined(), wide
        if finer == self.product and _wide(ends, _ROUGH).size:  # parts take many times as long
            finer, least = self.product.unbundled(), max(wide, _ROUGH)
        if finer != self.product:
            shared_contours(finer).narrow(epsilon, ends, least)
        return ends

    def rough(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Bound log delta in any order, by contours at rounded c alone, so that some are wide."""
        order = np.argsort(epsilon)
        ends = np.full(epsilon.shape, -math.inf), np.full(epsilon.shape, math.inf)
        with contextlib.suppress(NotCertified):
            self._fill(epsilon[order], ends)
        back = np.argsort(order)
        return ends[0][back], ends[1][back]

    def _fill(self, epsilon: Reals, ends: tuple[Reals, Reals]) -> None:
        """Intersect brackets with those of contours at rounded c, where one of them serves."""
        start = 0
        while start < epsilon.size:
            step = self._step_for(float(epsilon[start])) + 1
            middle, spread = (float(one[step % _BLOCK]) for one in self._block(step // _BLOCK)[:2])
            first = middle - _REACH * math.sqrt(spread)
            if first > epsilon[start]:
                start = int(np.searchsorted(epsilon, first))
                continue
            contour, reach = _contour_near(self, step)
            end = max(int(np.searchsorted(epsilon, reach)), start + 1)
            _intersect(ends, contour, epsilon, np.arange(start, end))
            start = end

    def narrow(self, epsilon: Reals, ends: tuple[Reals, Reals], least: float) -> None:
        """Intersect wide brackets with those of contours aimed at them.

        Every contour is valid at all epsilons, so the wide ones ask that nearest to them first.

        Raises:
            NotCertified: there was no bracket and no contour is within reach.
        """
        wide = _wide(ends, least)
        if wide.size and self._aimed:
            places = np.array([one.epsilon for one in self._aimed])
            nearest = np.abs(epsilon[wide, None] - places).argmin(axis=1)
            for at in distinct(nearest):
                self._aimed[at].narrow(epsilon, ends, wide[nearest == at])
        for at in wide.tolist():
            width = float(ends[1][at] - ends[0][at])
            if not width > least or self._is_alike(float(epsilon[at]), width):
                continue
            try:
                aimed = self._aim(float(epsilon[at]), float(ends[1][at]))
            except NotCertified:
                if ends[1][at] == math.inf:
                    if not self._aimed:
                        raise
                    places = np.array([one.epsilon for one in self._aimed])
                    nearest = int(np.abs(places - epsilon[at]).argmin())
                    _intersect(ends, self._aimed[nearest].contour, epsilon, np.array([at]))
                continue
            still = ends[1][wide] - ends[0][wide] > least
            aimed.narrow(epsilon, ends, wide[still])
            least = max(least, _ALIKE * float(ends[1][at] - ends[0][at]))

    def _aim(self, epsilon: float, log_delta: float) -> _Aimed:
        """Return a contour aimed at an epsilon, and keep it beside others that are not too long."""
        aim = (epsilon, log_delta) if log_delta < 0.0 else None
        saddle = find_saddle(self.product, lambda one: one.epsilon - epsilon, aim)
        contour = reachable(self.product, saddle)
        low, high = contour.log_profile(np.array([epsilon]))
        left = float(high[0] - low[0])
        aimed = _Aimed(epsilon, _BESIDE / saddle.c, math.sqrt(saddle.spread), left, contour)
        self._aimed = [*self._aimed[1 - _MOST_AIMED :], aimed]
        while len(self._aimed) > 1 and sum(one.nodes for one in self._aimed) > _MOST_KEPT:
            del self._aimed[0]
        return aimed

    def _is_alike(self, epsilon: float, width: float) -> bool:
        """Return whether a contour aimed there would not be much narrower than those kept."""
        return any(one.is_alike(epsilon, width) for one in self._aimed)

    def _step_for(self, epsilon: float) -> int:
        """Return the largest rounded c whose saddle's epsilon is at most the one given."""
        at, (first, last) = self._last, _BLOCKS
        while at < last and self._block(at)[0][-1] <= epsilon:
            at += 1
        while at > first and self._block(at)[0][0] > epsilon:
            at -= 1
        self._last = at
        return _BLOCK * at + max(int((self._block(at)[0] <= epsilon).sum()) - 1, 0)

    def near(self, log_delta: Reals) -> tuple[Reals, Reals]:
        """Estimate epsilon at log deltas, and by how much log delta falls there.

        Heuristic: by interpolation between the saddles at rounded c. Both are nan beyond them.
        """
        first, last = _START, _START + 1
        while first > _BLOCKS[0] and self._block(first)[2].max() < log_delta.max(initial=-math.inf):
            first -= 1
        while last < _BLOCKS[1] and self._block(last - 1)[2].min() > log_delta.min(initial=0.0):
            last += 1
        epsilon, _, logs = np.concatenate([self._block(at) for at in range(first, last)], axis=1)
        tilts = np.exp(_STEP * np.arange(_BLOCK * first, _BLOCK * last))
        finite = np.flatnonzero(np.isfinite(epsilon) & np.isfinite(logs))[::-1]
        curves = (
            np.interp(log_delta, logs[finite], one[finite], left=np.nan, right=np.nan)
            for one in (epsilon, tilts)
        )
        return next(curves), next(curves)

    def _block(self, at: int) -> tuple[Reals, Reals, Reals]:
        """Return epsilon, spread and log delta of the saddles at a block of rounded c.

        The first two are infinite if K is out of reach there, the third is -inf.
        """
        if at not in self._blocks:
            epsilon, spread = np.full(_BLOCK, math.inf), np.full(_BLOCK, math.inf)
            logs = np.full(_BLOCK, -math.inf)
            with contextlib.suppress(NotCertified):
                steps = np.arange(_BLOCK * at, _BLOCK * (at + 1))
                ridge = survey(self.product, np.exp(_STEP * steps))
                some = slice(ridge.c.size)
                epsilon[some], spread[some], logs[some] = (
                    ridge.epsilon,
                    ridge.spread,
                    ridge.log_delta,
                )
            self._blocks[at] = epsilon, spread, logs
        return self._blocks[at]


def _wide(ends: tuple[Reals, Reals], least: float) -> NDArray[np.intp]:
    """Return the positions of wide brackets of a log delta that is not hopelessly small."""
    low, high = ends
    with np.errstate(invalid="ignore"):  # both are -inf where there are no losses
        return np.flatnonzero((high - low > least) & (high > _HOPELESS))


def _intersect(
    ends: tuple[Reals, Reals],
    contour: Contour | LatticeContour,
    epsilon: Reals,
    part: NDArray[np.intp],
) -> None:
    """Intersect some brackets with those of a contour, in place."""
    low, high = contour.log_profile(epsilon[part])
    ends[0][part], ends[1][part] = np.maximum(ends[0][part], low), np.minimum(ends[1][part], high)


shared_contours = lru_cache(maxsize=8)(SharedContours)


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
