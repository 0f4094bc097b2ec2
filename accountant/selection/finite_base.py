"""The base of a selection as finitely many outcomes, in the order of their loss.

A base is known by its profile, so it is replaced by a finite pair that dominates it (for upper
ends) and by one that it dominates (for lower ends), both from the profile's ends on one grid.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from accountant.arithmetic import convex_profile
from accountant.arithmetic.arrays import distinct
from accountant.arithmetic.atoms import Atoms
from accountant.arithmetic.convex_profile import Side
from accountant.arithmetic.enclosure import Reals
from accountant.engine.profile import deltas, epsilon, infinite_mass, max_loss
from accountant.errors import NotCertified
from accountant.pairs.product import Product

_CORE, _TAIL = 500, 300  # grid points down to either mass
_SMALL, _TINY = 1e-20, 1e-130
_NEARER = (1e-80, 1e-50, 1e-35, 1e-25, 1e-20, 1e-15)
_SHORT = 1e-6
_ABOVE = 1.001
_APART = 1e-9
_FARTHEST = 600.0  # e^loss has to stay a float


@final
@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes by falling loss, and Q's mass where P has none.

    Attributes:
        p: masses under P, shape (n,); the first may have no mass under Q.
        q: masses under Q, shape (n,).
        loss: log p/q, shape (n,), falling, nats; the first may be +inf.
        unseen: Q's mass where P has none.
    """

    p: Reals
    q: Reals
    loss: Reals
    unseen: float

    def pieces(self, counts: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Outcomes:
        """Every outcome cut into equal parts, by coins that do not look at the data."""
        return Outcomes(
            np.repeat(self.p / counts, counts),
            np.repeat(self.q / counts, counts),
            np.repeat(self.loss, counts),
            self.unseen,
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Ends of a profile on a grid, in both directions.

    Attributes:
        forward: at and above epsilon = 0.
        backward: the same for the swapped pair.
    """

    forward: Side
    backward: Side

    def above(self, right: int, left: int) -> Outcomes:
        """A pair that dominates, with losses among the first few points on either side."""
        return _sorted(
            convex_profile.above(_first(self.forward, right), _first(self.backward, left))[0]
        )

    def below(self, right: int, left: int) -> Outcomes:
        """A pair that is dominated, with losses among the first few points on either side."""
        return _sorted(
            convex_profile.below(_first(self.forward, right), _first(self.backward, left))[0]
        )

    @property
    def size(self) -> tuple[int, int]:
        """Points on the right, points on the left."""
        return self.forward.loss.size, self.backward.loss.size

    @property
    def end(self) -> float:
        """The largest loss of the grid."""
        return float(self.forward.loss[-1])


def _first(side: Side, count: int) -> Side:
    count = max(count, 2)
    return Side(side.loss[:count], side.lower[:count], side.upper[:count], side.rest)


def _sorted(atoms: Atoms) -> Outcomes:
    with np.errstate(under="ignore"):
        p, q = np.exp(atoms.log_p[::-1]), np.exp((atoms.log_p - atoms.loss)[::-1])
    loss = atoms.loss[::-1]
    if atoms.infinite_mass > 0.0:
        p, q = np.insert(p, 0, atoms.infinite_mass), np.insert(q, 0, 0.0)
        loss = np.insert(loss, 0, math.inf)
    return Outcomes(p, q, loss, atoms.missing_mass)


@lru_cache(maxsize=32)
def curve(product: Product) -> Curve:
    """The profile on a grid that is dense where its mass is and reaches where it is negligible."""
    return Curve(_side(product), _side(product.swapped()))


def _side(product: Product) -> Side:
    near = _reach(product, _SMALL)
    end = max(_reach(product, _TINY), near)
    loss = np.linspace(0.0, near, _CORE)
    if end > near * (1 + _SHORT):
        loss = np.concatenate([loss, np.linspace(near, end, _TAIL + 1)[1:]])
    # A table drops the cell next to a corner, so the one next to the largest loss is short.
    loss = distinct(np.concatenate([loss, (1.0 - _SHORT) * np.array([near, end])]))
    loss = loss[np.append(np.diff(loss) > _APART * end, True)]
    lower, upper = deltas(product, loss)
    return Side(loss, lower, upper, infinite_mass(product.below()).lower)


def _reach(product: Product, delta: float) -> float:
    """A loss beyond which the profile is at most delta, or constant.

    Where the engine cannot resolve a tail so far out, a nearer one: what is beyond counts as
    an infinite loss, so the answer is only less sharp at tiny deltas.
    """
    top = max_loss(product)
    mass = infinite_mass(product.above())
    end = math.inf
    for tail in (delta, *(one for one in _NEARER if one > delta)):
        least = max(tail, mass.upper * (_ABOVE if mass.upper > tail else 1e3))
        with contextlib.suppress(NotCertified):
            end = min(epsilon(product, least).upper if least < 1.0 else 0.0, max(top, 0.0))
            break
    if not end <= _FARTHEST:
        raise NotCertified(
            f"selection needs the base's losses up to {end:g}, at most {_FARTHEST:g} can be "
            "resolved; use more noise, or compose the runs instead of selecting"
        )
    return max(end, 1e-8)
