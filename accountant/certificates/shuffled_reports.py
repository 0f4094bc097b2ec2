"""Finite pairs above hidden reports, and the layers by which the checker bounds them.

Heuristic: all constants; the checker repeats every bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import Object, unsaid, unwritten
from dpproof.accountant.certificates.selection.finite_base import (
    CLOSE_BY,
    FAINT,
    Aim,
    corner,
    pair_above_corners,
    ratios,
)
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import short_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.subsampling.hidden_bits import HiddenBits
from dpproof.accountant.subsampling.shuffled_reports import (
    ShuffledReportsPair,
    layers_above,
    layout,
)

_COUNT: Final = 192  # Ratios.
_FINEST: Final = 2.0**-9  # Least distance of ratios, for the largest loss that matters.
_LAYERS: Final = 1_200  # Blocks times nodes.
_LEFT_OUT: Final = 1e-3  # Share of the tail that may be counted as infinite.
_LEAST: Final = 1e-25  # The same without a tail.
_FLOOR: Final = 1e-40  # Least bound, above what integer masses miss.
_PAST: Final = 1.0 + 2.0**-24  # Largest losses, past which the checker's bound is 0, too.
_BITS: Final = 40  # Bits of that ratio.


def pair_above_reports(guarantee: DominatingPair[Any], aim: Aim) -> tuple[FinitePair, Object]:
    """Return a finite pair above reports, in the forward direction, and the witness for it.

    Args:
        guarantee: the reports' pair, of shuffled ones the same in both directions.
        aim: what the pair is for.
    """
    factors = guarantee.forward.factors
    pair = factors[0].pair
    if not isinstance(pair, ShuffledReportsPair):
        raise NotCertified(unsaid("hidden reports of another pair"))
    if len(factors) > 1 or factors[0].count > 1:
        raise NotCertified(unwritten("records that draw several rounds of a largest loss"))
    tail, plan = max(aim.tail * _LEFT_OUT, _LEAST), layout(pair.reports, most=_LAYERS)
    ahead, behind = (
        HiddenBits(layers_above(pair.reports, plan, removal=removal), upper=True)
        for removal in (True, False)
    )

    def profile(t: Reals) -> Reals:
        size = np.abs(np.log(t))
        above, below = (np.minimum(bound(size), 1.0) for bound in (ahead, behind))
        return np.where(t >= 1.0, above, 1.0 - t + t * below)

    def matters(x: float) -> bool:
        return max(float(bound(np.array([x]))[0]) for bound in (ahead, behind)) > tail

    def both(t: Reals) -> Reals:
        return np.asarray(np.maximum(profile(t) - np.maximum(1.0 - t, 0.0), 0.0))

    alike = pair.reports.alike
    end = bisect(matters, 0.0, pair.max_loss)[1]
    near = [aim.epsilon * (1.0 + x) for x in CLOSE_BY] if aim.epsilon else []
    near = [-end, end, *(one for one in near if one < end)]
    extra = {*near, *(-one for one in near)} if alike else near
    top, finest = short_up(math.exp(pair.max_loss * _PAST), _BITS), min(end, 1.0) * _FINEST
    size, room = both if alike else None, tail / FAINT
    listed = ratios(profile, end, end, extra, floor=room, count=_COUNT, size=size, finest=finest)
    listed = [t for t in listed if 1 / top < t < top]
    places = np.abs([math.log(t) for t in listed])
    heights = np.where([t >= 1 for t in listed], ahead(places), behind(places))
    heights = np.clip(heights, _FLOOR, 1.0)
    points = [corner(t, height) for t, height in zip(listed, heights.tolist(), strict=True)]
    points = [(1 / top, 1 - 1 / top), *points, (top, Fraction(0))]
    if alike:
        return pair_above_corners(points), {}
    witness: Object = {"groups": [list(one) for one in plan.groups], "nodes": list(plan.nodes)}
    return pair_above_corners(points), witness
