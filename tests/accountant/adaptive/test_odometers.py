"""Odometers: a bound of the privacy loss at all times at once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accountant import (
    GDP,
    ZCDP,
    NotImplied,
    ParameterError,
    PrivacyProfile,
    RelationMismatch,
    RenyiOdometer,
    ReplaceOne,
    ZCDPOdometer,
)

DELTA = 0.05


@pytest.mark.parametrize("kind", ["zcdp", "renyi"])
def test_losses_of_an_adversary_stay_below(kind: str) -> None:
    """Gaussian answers, noisier or not as the loss so far suggests: few runs ever exceed it."""
    rng = np.random.default_rng(5)
    exceeded = 0
    for _ in range(200):
        odometer: Any = ZCDPOdometer() if kind == "zcdp" else RenyiOdometer(order=4)
        loss, above = 0.0, False
        for _ in range(20):
            mu = 0.6 if loss > 0 else 0.15
            odometer.spend(GDP(mu=mu))
            loss += mu * rng.normal() + mu * mu / 2  # on D the loss is N(mu^2/2, mu^2)
            above |= loss > odometer.spent(delta=DELTA)
        exceeded += above
    assert exceeded <= 22  # of 200 runs; more have probability below 1e-3 where each has 0.05


def test_values() -> None:
    """One order is the formula; mixing costs a log, and is never below the best single order."""
    odometer, single = ZCDPOdometer(), RenyiOdometer(order=5)
    assert odometer.spent(delta=DELTA) == single.spent(delta=DELTA) == 0.0
    odometer.spend(ZCDP(rho=0.25))
    single.spend(ZCDP(rho=0.25))
    assert single.spent(delta=1e-6) == pytest.approx(1.25 + math.log(1e6) / 4, rel=1e-9)
    ideal = 0.25 + 2 * math.sqrt(0.25 * math.log(1e6))
    assert ideal < odometer.spent(delta=1e-6) < 1.3 * ideal
    assert odometer.spent(delta=1e-6) > odometer.spent(delta=1e-3)


def test_deltas_below_all_floats() -> None:
    """Log 1/delta is that of the exact number, which no float above 0 is as small as."""
    single, mixed = RenyiOdometer(order=2), ZCDPOdometer()
    for odometer in (single, mixed):
        odometer.spend(ZCDP(rho=Fraction(1, 100)))
    for digits in (300, 400, 2000):
        log, delta = digits * math.log(10), Fraction(1, 10**digits)
        assert 0.02 + log <= single.spent(delta=delta) <= (0.02 + log) * (1 + 1e-11)
        assert mixed.spent(delta=delta) >= 0.01 + 0.2 * math.sqrt(log)


def test_orders_next_to_one() -> None:
    """An order that floats do not tell from 1 makes a large bound, and no division by 0."""
    odometer = RenyiOdometer(order=1 + Fraction(1, 10**20))
    odometer.spend(ZCDP(rho=Fraction(1, 100)))
    assert odometer.spent(delta=DELTA) >= math.log(20) * 1e20


def test_refusals() -> None:
    """Other neighbours, profiles, and deltas outside (0, 1) are refused."""
    odometers: list[Any] = [ZCDPOdometer(), RenyiOdometer(order=3)]
    for odometer in odometers:
        with pytest.raises(RelationMismatch):
            odometer.spend(ZCDP(rho=0.1, relation=ReplaceOne()))
        with pytest.raises(NotImplied):
            odometer.spend(PrivacyProfile(points=((0, 0.1), (1, 0.01))))
        for delta in (0, 1, math.nan):
            with pytest.raises(ParameterError):
                odometer.spent(delta=delta)
