"""Compute the profile of a product on a lattice next to its largest loss, from the masses there.

No contour is good there: the suitable tilt grows without end towards the largest loss. But few
losses are beyond such an epsilon, and their masses are sums of products of the pairs' largest ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.engine.lattice import CommonLattice, common_lattice
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.product import Product

_KEPT = 128  # Most losses whose masses are multiplied out. Error bounds depend on it.
_EACH = 12.0  # Roundings of one mass of one pair, in units of u. Soundness depends on it.
_MOST_FACTORS = 16  # Most factors, to bound the time. Heuristic: more return None.
_FARTHEST = 2.0**50  # places on a lattice: sums of a few are integers that floats hold
_BINARY_RANGE = 1000  # scales beyond which 2 ** -scale is not computed
_UNDERFLOW = 5e-324  # Most that a product loses by underflow. Error bounds depend on it.


@final
@dataclass(frozen=True, slots=True)
class LargestLosses:
    """The largest losses of a product and their masses under P.

    Attributes:
        losses: shape (j,), falling from the largest one, with steps of the span.
        masses: shape (j,), over 2 ** ``exponent``.
        exponent: of the common scale of the masses.
        wobble: relative error of a mass, at most.
        lost: absolute error of a scaled mass beside it, at most: what underflow took.
        blur: error of a loss, at most.
        start: an epsilon from which all losses beyond are among these.
    """

    losses: Reals
    masses: Reals
    exponent: int
    wobble: float
    lost: float
    blur: float
    start: float

    def log_profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return logs of a lower and an upper bound of delta of the finite losses.

        Statement: delta(eps) = sum of p_j (1 - e^{eps - l_j})_+ over all finite losses l_j.
        Rounds: every term is positive and grows with its loss; so with losses moved down, and
            only these, the sum is at or below delta, with losses moved up at or above it from
            ``start`` on. Before, the upper bound is +inf.
        """
        lower, upper = (
            self._log_sum(epsilon, sign * self.blur, sign * self.wobble) for sign in (-1.0, 1.0)
        )
        return lower, np.where(epsilon >= self.start, upper, np.inf)

    def _log_sum(self, epsilon: Reals, shift: float, wobble: float) -> Reals:
        """Return the log of the sum with losses moved by ``shift``.

        It is rounded up if ``wobble`` is above 0, else down.
        """
        gap = np.maximum(self.losses - epsilon[:, None] + shift, 0.0)
        total = (-np.expm1(-gap) * self.masses).sum(axis=1)
        scale = self.exponent * math.log(2.0)
        lost = 2.0 * _KEPT * self.lost
        if wobble < 0:
            total = np.maximum(total - lost, 0.0)
        else:
            total = np.where(gap[:, 0] > 0, total + lost, 0.0)
        with np.errstate(divide="ignore"):
            log = np.log(total)
        margin = 8 * UNIT_ROUNDOFF * (4.0 + np.abs(np.where(total > 0, log, 0.0)) + abs(scale))
        return np.asarray(log + scale + wobble + math.copysign(1.0, wobble) * margin)


@final
@dataclass(frozen=True, slots=True)
class _Scaled:
    """Leading masses over 2 ** ``exponent``, each within ``lost`` beside its relative error."""

    values: Reals
    exponent: int
    lost: float

    def times(self, other: _Scaled) -> _Scaled:
        """Return the leading masses of a product, scaled such that the largest is in [1/2, 1).

        Rounds: an entry is a sum of at most ``_KEPT`` products, in which the errors of one side
            are multiplied by masses of the other; the scale multiplies what underflow took.
        """
        found: Reals = np.convolve(self.values, other.values)[:_KEPT]
        scale = math.frexp(float(found.max()))[1]
        lost = self.lost * float(other.values.sum()) + other.lost * float(self.values.sum())
        lost = 2.0 * lost + 2.0 * _KEPT * (self.lost * other.lost + _UNDERFLOW)
        lost = lost * 2.0**-scale if scale > -_BINARY_RANGE else math.inf
        exponent = self.exponent + other.exponent + scale
        return _Scaled(np.ldexp(found, -scale), exponent, lost + _UNDERFLOW)

    def power(self, count: int) -> _Scaled:
        """Return the leading masses of a power."""
        found, square = _Scaled(np.ones(1), 0, _UNDERFLOW), self
        while True:
            if count & 1:
                found = found.times(square)
            count >>= 1
            if not count:
                return found
            square = square.times(square)


def largest_losses(product: Product) -> LargestLosses | None:
    """Multiply out the largest losses if all are on one lattice; return None if they are not.

    Rounds: masses are sums of products of positive numbers; a mass of the product carries the
        roundings of its factors and of at most twice as many sums of ``_KEPT`` terms.
    """
    if not 0 < len(product.factors) <= _MOST_FACTORS:
        return None
    near, moved = product.near_lattice()
    parts = [(f.pair, f.count) for f in near.factors if isinstance(f.pair, AtomicPair)]
    if len(parts) < len(product.factors) or any(not pair.atoms.loss.size for pair, _ in parts):
        return None
    lattice = common_lattice(near, 0.0)
    if lattice is None:
        return None
    lattice = replace(lattice, moved=moved)
    masses = _Scaled(np.ones(1), 0, _UNDERFLOW)
    top = depth = 0
    for pair, count in parts:
        index = _index(pair, lattice.span)
        below = index.max() - index
        near = below < _KEPT
        each = np.bincount(below[near], weights=np.exp(pair.atoms.log_p[near])).astype(float)
        masses = masses.times(_Scaled(each, 0, _UNDERFLOW * (near.size + 1)).power(count))
        top += count * int(index.max())
        depth += count * int(below.max())
    if not (masses.lost < 1.0 and abs(top) <= _FARTHEST):  # or losses too many to tell apart
        return None
    losses = lattice.offset + lattice.span * (top - np.arange(masses.values.size))
    blur = _blur(lattice, losses)
    total = sum(count for _, count in parts)
    return LargestLosses(
        losses=losses,
        masses=masses.values,
        exponent=masses.exponent,
        wobble=1.1 * UNIT_ROUNDOFF * total * (_EACH + 2.0 * _KEPT),
        lost=masses.lost,
        blur=blur,
        start=-math.inf if depth < _KEPT else float(losses[-1]) + blur,
    )


def _index(pair: AtomicPair, span: float) -> NDArray[np.intp]:
    """Return the places of a pair's losses on its lattice, in units of the common span."""
    own = pair.lattice(0.0)
    if own is None:
        raise AssertionError("only called for pairs that share a lattice")
    index = np.rint((pair.atoms.loss - own.offset) / span)
    if not np.abs(index).max(initial=0.0) <= _FARTHEST:
        raise NotCertified(
            f"privacy losses up to {pair.max_loss:.4g} that are multiples of {span:.4g} are too "
            "many to tell apart; ask for releases of large and of small losses separately"
        )
    return np.asarray(index.astype(np.intp))


def _blur(lattice: CommonLattice, losses: Reals) -> float:
    """Bound the error of a loss that comes from rounded offsets and spans, and from moving it."""
    rounded = 16.0 * UNIT_ROUNDOFF * (2.0 * lattice.size + 2.0 * float(np.abs(losses).max()))
    return rounded + lattice.moved
