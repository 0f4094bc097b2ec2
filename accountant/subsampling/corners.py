"""The losses at which the profile of a sample may have corners.

Heuristic: grids that contain them describe samples of lattice-valued releases exactly; any grid is
sound (arithmetic/convex_profile.py).
"""

from __future__ import annotations

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.engine.common_lattice import common_lattice
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.product import Product

MOST = 1 << 10  # Corners above which evenly spaced grids are as good. Heuristic.
# Shares of the last cell left at its points: a height next to one that is 0 for all that rounding
# tells is lowered to 0. Heuristic.
_TOWARDS_END = 0.5 ** np.arange(1.0, 33.0)


def base_corners(base: Product, end: float) -> Reals | None:
    """Return the losses of one release above 0 and up to ``end``, or None if they are many.

    They are those of one release with finitely many outcomes, or the places of a lattice.
    """
    if len(base.factors) != 1 or base.factors[0].count != 1:
        return None  # its profile has too few digits next to its largest loss
    pair = base.factors[0].pair
    if isinstance(pair, AtomicPair):
        loss = np.unique(pair.atoms.loss)
        return (
            np.asarray(loss[loss > 0]) if loss.max(initial=0.0) > 0 and loss.size <= MOST else None
        )
    lattice = common_lattice(base, 0.0)
    if lattice is None or not end / lattice.span < MOST:
        return None
    first = np.floor(-lattice.offset / lattice.span) + 1.0
    count = int(max(np.ceil((end - lattice.offset) / lattice.span) - first + 1.0, 0.0))
    loss = lattice.offset + lattice.span * (first + np.arange(count))
    return np.asarray(loss[loss > 1e-12 * lattice.span])


def cornered(corners: Reals, end: float) -> Reals:
    """Return a grid from 0 past ``end`` through the corners, with a point inside every cell.

    A profile is linear in e^loss on each cell, which the chords beside a cell then show.
    """
    inner = corners[(corners > 0) & (corners < end * (1 - 1e-9))]
    knots = np.concatenate([[0.0], inner, [end]])
    knots = knots[np.append(True, np.diff(knots) > 1e-12 * knots[-1])]
    middles = knots[:-1] + np.log1p(0.5 * np.expm1(np.diff(knots)))
    ahead = (knots[1:] - np.diff(knots) * _TOWARDS_END[:, None])[:, -2:].ravel()
    return np.unique(np.concatenate([knots, middles, ahead, [knots[-1] * 1.25]]))
