"""Growth of log(sinh(y)/y) against 400 digits, over all sizes of both arguments."""

from __future__ import annotations

import random

import mpmath

from dpproof.accountant.arithmetic.langevin import GROWTH_ERROR, log_sinh_growth

CASES = 1500


def test_growth_keeps_its_digits() -> None:
    """Relative to itself, down to where floats end."""
    rng = random.Random(1)  # noqa: S311
    with mpmath.workdps(400):
        for _ in range(CASES):
            start = 10 ** rng.uniform(-120, 2.8)
            step = min(start * 10 ** rng.uniform(-16, 16), 600.0)
            high, low = (mpmath.sinh(y) / y for y in (mpmath.mpf(start) + step, mpmath.mpf(start)))
            true = mpmath.log(high / low)
            found = log_sinh_growth(start, step)
            assert abs(found - true) <= 0.1 * GROWTH_ERROR * true + 1e-290, (start, step)
