"""Binomial masses, against exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from dpproof.accountant.arithmetic.discrete_laws import Binomial


@pytest.mark.parametrize("trials", [0, 1, 2, 37, 400])
@pytest.mark.parametrize("odds", [1.0, 0.125, 3.0, 2.0**-20, 1e3])
def test_masses_and_tails_are_within_their_slip(trials: int, odds: float) -> None:
    """Every count, listed or not."""
    law, rate = Binomial(trials, odds), Fraction(odds) / (1 + Fraction(odds))
    exact = [math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(trials + 1)]
    tails = [*accumulate(reversed(exact))][::-1]
    outside = sum(exact[: law.first]) + sum(exact[law.last + 1 :])

    assert outside <= law.lost
    for k, mass in enumerate(law.masses.tolist()):
        true, tail = exact[law.first + k], tails[law.first + k]
        assert abs(true - Fraction(mass)) <= law.slip * Fraction(mass) + law.lost
        assert abs(tail - Fraction(law.tails[k])) <= law.slip * tail + law.lost
    first, last = trials // 3, trials // 2
    total = float(sum(exact[first : last + 1]))
    assert law.least(first, last) <= total <= law.most(first, last)
    assert law.least(-5, -1) == 0.0


def test_a_long_law_lists_a_window() -> None:
    """Of 1e8 fair coins next to nothing is left out, and few counts are listed."""
    law = Binomial(10**8, 1.0)

    assert law.masses.size < 200_000
    assert law.lost < 1e-50
    assert law.slip < 1e-9
    assert np.isclose(law.masses.max() * math.sqrt(math.pi * 10**8 / 2), 1.0, rtol=1e-7)
    assert law.window(1e-20)[0] + law.window(1e-20)[1] == 10**8
