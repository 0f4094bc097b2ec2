"""The exponential mechanism on counts that one record moves, by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np


def widest_range(factor: float, moves: Sequence[int], candidates: int = 5) -> float:
    """Return the largest range of log-ratios of e^(-factor count) over all moves of the counts.

    Args:
        factor: in the exponent.
        moves: of one count: 0 and 1 under add-remove, -1, 0 and 1 where a record is replaced.
        candidates: how many counts there are.
    """
    counts = np.arange(candidates)
    widest = 0.0
    for moved in itertools.product(moves, repeat=candidates):
        laws = [np.exp(-factor * one) for one in (counts, counts + np.array(moved))]
        ratios = np.log(laws[0] / laws[0].sum()) - np.log(laws[1] / laws[1].sum())
        widest = max(widest, float(np.ptp(ratios)))
    return widest
