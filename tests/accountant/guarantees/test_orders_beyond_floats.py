"""Renyi divergences at orders that no float holds: a typed refusal, or a bracket."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant import GDP, RDP, ZCDP, BoundedRange, Guarantee, PoissonRuns, PureDP, select
from dpproof.accountant.errors import PrivacyError

HUGE = 10**400
GUARANTEES: list[Guarantee[Any]] = [
    PureDP(epsilon=1),
    BoundedRange(epsilon=1),
    ZCDP(rho=1),
    GDP(mu=1),
    RDP(points=((2, 1), (HUGE, 5))),
    select(ZCDP(rho=1), PoissonRuns(rate=3)),
    BoundedRange(epsilon=1).to_pair(),
]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: one.describe())
def test_an_order_beyond_floats(guarantee: Guarantee[Any]) -> None:
    """No error but ours, and no bracket below what the order 2 has."""
    with contextlib.suppress(PrivacyError):
        found = guarantee.rdp(order=HUGE)
        assert not math.isnan(found.lower)
        assert found.upper >= guarantee.rdp(order=2).lower


def test_an_order_that_floats_do_not_tell_from_one() -> None:
    """What holds there as well takes nothing away from what holds at the order 2."""
    alone = RDP(points=((2, Fraction(1, 5)),))
    near = RDP(points=((1 + Fraction(1, 10**20), Fraction(1, 10)), (2, Fraction(1, 5))))
    assert near.epsilon(delta=1e-6).upper <= alone.epsilon(delta=1e-6).upper * (1 + 1e-9)
    assert near.delta(epsilon=1).upper <= alone.delta(epsilon=1).upper * (1 + 1e-9)
