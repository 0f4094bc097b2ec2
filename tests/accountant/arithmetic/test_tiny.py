"""Deltas next to 0 are rounded to the safe side of it."""

from __future__ import annotations

import math

import numpy as np

from dpproof.accountant.arithmetic.tiny import total_delta_up
from dpproof.accountant.bound import Bound


def test_a_sum_is_never_0_nor_above_1() -> None:
    """Whatever is added to the infinite mass moves it up, to 1 at most."""
    found = total_delta_up(Bound(0.0, 0.0), np.array([-math.inf, -1e4, -700.0, 0.0]))
    assert (found > 0.0).all()
    assert found[2] > math.exp(-700.0)
    assert found[3] == 1.0
    assert total_delta_up(Bound.exactly(0.5), np.array([-800.0]))[0] > 0.5
