"""Divergences of two coins against 500 digits, at orders next to 1 too."""

from __future__ import annotations

import random

import mpmath

from dpproof.auditing.bounds.event_bound import RenyiEvent, _of_coins
from dpproof.auditing.counts import EventCounts

CASES = 800


def test_coins_are_rounded_down() -> None:
    """Where the order is next to 1 the sum is next to 1 as well, and its log has no digit left."""
    rng = random.Random(1)  # noqa: S311
    with mpmath.workdps(500):
        for _ in range(CASES):
            q = rng.choice([10 ** rng.uniform(-200, -0.1), rng.random()])
            p = min(
                rng.choice([q + (1 - q) * rng.random(), q * (1 + 10 ** rng.uniform(-9, 2))]), 1.0
            )
            excess = 10 ** rng.uniform(-14, 3)
            high, low, s = mpmath.mpf(p), mpmath.mpf(q), mpmath.mpf(excess)
            misses = (1 - high) ** (1 + s) * (1 - low) ** -s
            true = mpmath.log(high ** (1 + s) * low**-s + misses) / s
            found = _of_coins(p, q, excess)
            assert found <= true, (p, q, excess)
            assert found >= true * (1 - 1e-6) - 1e-9 or p * excess > 1e-3, (p, q, excess)


def test_an_order_next_to_one_is_no_more_than_a_larger_one() -> None:
    """Divergences grow with the order."""
    counts = EventCounts(980, 1000, 950, 1000)
    bound = RenyiEvent(significance=0.05)
    found = [bound.rdp(counts, order=1 + 10.0**-k) for k in (13, 12, 11, 9, 6, 2)]

    assert max(found[:-1]) <= found[-1] * (1 + 1e-9)
