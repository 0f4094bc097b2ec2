"""Approximate the losses of atomic products, at which their profiles bend.

Heuristic: used only to choose points.
"""

from __future__ import annotations

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.hockey_stick.closed_form import has_few_losses
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair

_MANY = 768  # Most losses that are used as points.
_NEXT, _NEAREST = 2.0**-32, 2.0**-36  # Distances past a loss, relative to it and in nats.
_SAME = 1e-12  # Relative distance, in units of the largest loss, of losses that count as equal.


def losses(product: Product) -> Reals | None:
    """Approximate every finite loss, increasing; return None if the checker does not list them."""
    return _sums(product) if has_few_losses(product) else None


def bends(product: Product) -> Reals | None:
    """Return points just past every loss, so that chords are the profile to nine digits.

    Or None.
    """
    known = losses(product)
    if known is None or known.size > _MANY:
        return None
    room = np.maximum(_NEXT * np.abs(known), _NEAREST)
    return np.asarray(known + np.where(known < 0.0, -room, room))


def _sums(product: Product) -> Reals:
    """Return the sums of the pairs' losses, equal ones merged."""
    found = np.zeros(1)
    for factor in product.factors:
        own = _own(factor.pair)
        for _ in range(factor.count):
            sums = np.sort(np.add.outer(found, own).ravel())
            apart = np.diff(sums) > _SAME * float(np.abs(sums).max())
            found = sums[np.append(True, apart)]
    return found


def _own(pair: Pair) -> Reals:
    """Return the losses of one pair."""
    if isinstance(pair, SubsampledPair):
        rate, base = float(pair.sampling_rate), _sums(pair.base)
        sign = -1.0 if pair.direction is Direction.ADDITION else 1.0
        infinite = pair.base.swapped() if sign > 0.0 else pair.base
        kept = [np.log1p(-rate)] if infinite_mass(infinite).upper > 0.0 else []
        return np.append(np.log1p(rate * np.expm1(sign * base)), kept) * sign
    if isinstance(pair, AtomicPair):
        return pair.atoms.loss
    raise AssertionError("a pair that lists its losses")
