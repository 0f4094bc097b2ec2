"""The losses of products that have few of them: where their profiles bend."""

from __future__ import annotations

import numpy as np

from accountant.arithmetic.enclosure import Reals
from accountant.certificates.hockey_stick.closed_form import has_few_losses
from accountant.engine.profile import infinite_mass
from accountant.pairs.atomic import AtomicPair
from accountant.pairs.pair import Pair
from accountant.pairs.product import Product
from accountant.subsampling.subsampled import Direction, SubsampledPair

_MANY = 768
_NEXT, _NEAREST = 2.0**-32, 2.0**-36  # past a loss, relative to it and in nats
_SAME = 1e-12  # how far apart two losses are one, relative to the largest


def losses(product: Product) -> Reals | None:
    """About every finite loss, increasing; None where the checker does not list them."""
    return _sums(product) if has_few_losses(product) else None


def bends(product: Product) -> Reals | None:
    """Just past every loss, where the chords of few points are the profile to nine digits."""
    known = losses(product)
    if known is None or known.size > _MANY:
        return None
    room = np.maximum(_NEXT * np.abs(known), _NEAREST)
    return np.asarray(known + np.where(known < 0.0, -room, room))


def _sums(product: Product) -> Reals:
    found = np.zeros(1)
    for factor in product.factors:
        own = _own(factor.pair)
        for _ in range(factor.count):
            sums = np.sort(np.add.outer(found, own).ravel())
            apart = np.diff(sums) > _SAME * float(np.abs(sums).max())
            found = sums[np.append(True, apart)]
    return found


def _own(pair: Pair) -> Reals:
    if isinstance(pair, SubsampledPair):
        rate, base = float(pair.sampling_rate), _sums(pair.base)
        sign = -1.0 if pair.direction is Direction.ADDITION else 1.0
        infinite = pair.base.swapped() if sign > 0.0 else pair.base
        kept = [np.log1p(-rate)] if infinite_mass(infinite).upper > 0.0 else []
        return np.append(np.log1p(rate * np.expm1(sign * base)), kept) * sign
    if isinstance(pair, AtomicPair):
        return pair.atoms.loss
    raise AssertionError("a pair that lists its losses")
