"""Finite pairs above shuffled local reports, and the layers by which the checker bounds them.

Heuristic: all constants; the checker repeats every bound.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import Object, unsaid
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


def pair_above_reports(found: DominatingPair[Any], aim: Aim) -> tuple[FinitePair, Object]:
    """Return a finite pair above shuffled reports, and the witness for it.

    Args:
        found: the reports' pair, the same in both directions.
        aim: what the pair is for.
    """
    pair = found.forward.factors[0].pair
    if not isinstance(pair, ShuffledReportsPair):
        raise NotCertified(unsaid("shuffled reports of another pair"))
    tail, plan = max(aim.tail * _LEFT_OUT, _LEAST), layout(pair.reports, most=_LAYERS)
    bound = HiddenBits(layers_above(pair.reports, plan), upper=True)

    def profile(t: Reals) -> Reals:
        above = np.minimum(bound(np.abs(np.log(t))), 1.0)
        return np.where(t >= 1.0, above, 1.0 - t + t * above)

    end = bisect(lambda x: float(bound(np.array([x]))[0]) > tail, 0.0, pair.max_loss * 1.001)[1]
    near = [aim.epsilon * (1.0 + x) for x in CLOSE_BY] if aim.epsilon else []
    extra = (-end, end, *(one for one in near if one < end))
    finest = min(end, 1.0) * _FINEST
    listed = ratios(profile, end, end, extra, floor=tail / FAINT, count=_COUNT, finest=finest)
    heights = np.minimum(bound(np.abs([math.log(t) for t in listed])), 1.0)
    points = [corner(t, height) for t, height in zip(listed, heights.tolist(), strict=True)]
    witness: Object = {"groups": [list(one) for one in plan.groups], "nodes": list(plan.nodes)}
    return pair_above_corners(points), witness
