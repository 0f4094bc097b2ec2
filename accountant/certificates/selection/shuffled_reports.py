"""Finite pairs above shuffled local reports, and the layers by which the checker bounds them.

Heuristic: all constants; the checker repeats every bound.
"""

from __future__ import annotations

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
from dpproof.accountant.subsampling.shuffled_reports import ShuffledReportsPair, layout

_COUNT: Final = 192  # Ratios.
_LEFT_OUT: Final = 1e-3  # Share of the tail that may be counted as infinite.
_LEAST: Final = 1e-25  # The same without a tail.


def pair_above_reports(
    found: DominatingPair[Any], aim: Aim
) -> tuple[FinitePair, Object]:
    """Return a finite pair above shuffled reports, and the witness for it.

    Args:
        found: the reports' pair, the same in both directions.
        aim: what the pair is for.
    """
    pair = found.forward.factors[0].pair
    if not isinstance(pair, ShuffledReportsPair):
        raise NotCertified(unsaid("shuffled reports of another pair"))
    tail = max(aim.tail * _LEFT_OUT, _LEAST)

    def upper(t: Reals) -> Reals:
        return np.asarray(pair.profile(np.log(np.atleast_1d(t)))[1])

    def profile(t: Reals) -> Reals:
        above = upper(np.maximum(t, 1.0 / t))
        return np.where(t >= 1.0, above, 1.0 - t + t * above)

    end = bisect(lambda x: float(upper(np.exp([x]))[0]) > tail, 0.0, pair.max_loss * 1.001)[1]
    near = [aim.epsilon * (1.0 + x) for x in CLOSE_BY] if aim.epsilon else []
    extra = (-end, end, *(one for one in near if one < end))
    listed = ratios(profile, end, end, extra, floor=tail / FAINT, count=_COUNT)
    points = [corner(t, float(upper(np.array([max(t, 1 / t)], dtype=float))[0])) for t in listed]
    plan = layout(pair.reports)
    witness: Object = {"groups": [list(one) for one in plan.groups], "nodes": list(plan.nodes)}
    return pair_above_corners(points), witness
