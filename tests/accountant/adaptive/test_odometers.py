"""Odometers: a bound of the privacy loss at all times at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from dpproof.accountant import (
    GDP,
    ZCDP,
    ApproxDP,
    ApproxDPOdometer,
    GDPOdometer,
    NotImplied,
    ParameterError,
    PrivacyProfile,
    PureDP,
    RelationMismatch,
    RenyiOdometer,
    ReplaceOne,
    ZCDPOdometer,
)

DELTA = 0.05


KINDS: dict[str, Callable[[], Any]] = {
    "zcdp": ZCDPOdometer,
    "gdp": GDPOdometer,
    "renyi": lambda: RenyiOdometer(order=4),
}


def best_adversary(odometer: Callable[[], Any], *, fails: float, ever: bool) -> float:
    """Return what the best adversary reaches, by dynamic programming over all that it may see.

    It runs 14 times randomised response of parameter 1/2 or 3/2, each of which reveals everything
    with probability ``fails``. What it wants is that the loss ever exceeds the bound (``ever``), or
    a stop where P - e^bound Q is large.
    """

    @cache
    def bound(small: int, large: int) -> float:
        total = odometer()
        for epsilon in [0.5] * small + [1.5] * large:
            pure, failing = PureDP(epsilon=epsilon), ApproxDP(epsilon=epsilon, delta=fails)
            total.spend(failing if fails else pure)
        return float(total.spent(delta=DELTA))

    @cache
    def value(small: int, large: int, halves: int) -> float:
        excess = halves / 2 - bound(small, large)
        if ever and excess > 0:
            return 1.0
        best = 0.0 if ever else max(0.0, -math.expm1(-excess))
        for more, size in ((1, 0), (0, 1)) if small + large < 14 else ():
            after, step = (small + more, large + size), 1 if more else 3
            told = 1 / (1 + math.exp(-step / 2))
            answers = told * value(*after, halves + step) + (1 - told) * value(
                *after, halves - step
            )
            revealed = fails if bound(*after) < math.inf else 0.0
            best = max(best, revealed + (1 - fails) * answers)
        return best

    return value(0, 0, 0)


@pytest.mark.parametrize("kind", ["zcdp", "renyi"])
def test_the_best_adversary_stays_below(kind: str) -> None:
    """Of all ways to go on after looking none makes the loss exceed the bound too often."""
    found = best_adversary(KINDS[kind], fails=0.0, ever=True)
    assert 0.01 * DELTA < found <= DELTA  # of 0.7 times the bound it is above DELTA


@pytest.mark.parametrize(("fails", "kept"), [(DELTA / 100, None), (DELTA / 100, DELTA / 8)])
def test_the_best_adversary_gains_no_more_than_delta(fails: float, kept: float | None) -> None:
    """Of all rules to stop none reaches a set with P above E_Q e^spent by more than delta."""
    found = best_adversary(lambda: ApproxDPOdometer(failures=kept), fails=fails, ever=False)
    assert 0.1 * DELTA < found <= DELTA


@pytest.mark.parametrize("delta", [DELTA, 1e-6, 1e-200])
@pytest.mark.parametrize("rho", [1e-8, 0.02, 7.0, 1e20])
def test_the_mixture_reaches_the_inverse_of_delta(rho: float, delta: float) -> None:
    """At 40 digits the mixture is at 1/delta where the odometer says, and not far before."""
    odometer = GDPOdometer()
    odometer.spend(GDP(mu_squared=2 * Fraction(rho)))
    found = odometer.spent(delta=delta)
    with mp.workdps(40):

        def mixture(loss: mp.mpf) -> mp.mpf:
            rows = [(mp.mpf(2) ** (mp.mpf(j) / 2), abs(j) + 1) for j in range(-60, 61)]
            return mp.fsum(
                mp.exp(x * loss - x * (1 + x) * rho) * 2 / (3 * w * (w + 1)) for x, w in rows
            )

        assert mixture(mp.mpf(found)) >= 1 / mp.mpf(delta)
        assert mixture(mp.mpf(found) * (1 - mp.mpf(10) ** -11)) < 1 / mp.mpf(delta)


def test_parts_with_a_delta() -> None:
    """Deltas add up to a share, beyond which nothing is bounded; short runs add up epsilons."""
    odometer = ApproxDPOdometer()
    odometer.spend(ApproxDP(epsilon=0.1, delta=1e-7))
    assert odometer.spent(delta=1e-6) == pytest.approx(0.1, rel=1e-12)
    assert odometer.spent(delta=1.9e-7) == math.inf
    odometer.spend(ZCDP(rho=Fraction(1, 200)))
    longer = odometer.spent(delta=1e-6)
    assert 0.5 < longer < math.inf
    kept = ApproxDPOdometer(failures=1e-7)
    kept.spend(ApproxDP(epsilon=0.1, delta=1e-7))
    kept.spend(ZCDP(rho=Fraction(1, 200)))
    assert kept.spent(delta=1e-6) < longer
    with pytest.raises(ParameterError, match="failures"):
        kept.spent(delta=1e-7)


def test_losses_of_gaussian_releases_stay_below() -> None:
    """Gaussian answers, noisier or not as the loss so far suggests: few runs ever exceed it."""
    rng = np.random.default_rng(5)

    @cache
    def bound(often: int, seldom: int) -> float:
        odometer = GDPOdometer()
        for mu in [0.6] * often + [0.15] * seldom:
            odometer.spend(GDP(mu=mu))
        return odometer.spent(delta=DELTA)

    exceeded = 0
    for _ in range(400):
        loss, above, often = 0.0, False, 0
        for step in range(1, 21):
            often += loss > 0
            mu = 0.6 if loss > 0 else 0.15
            loss += mu * rng.normal() + mu * mu / 2  # on D the loss is N(mu^2/2, mu^2)
            above |= loss > bound(often, step - often)
        exceeded += above
    assert exceeded <= 36  # of 400 runs; more have probability below 1e-3 where each has 0.05


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
    odometers: list[Any] = [*(made() for made in KINDS.values()), ApproxDPOdometer()]
    for odometer in odometers:
        with pytest.raises(RelationMismatch):
            odometer.spend(ZCDP(rho=0.1, relation=ReplaceOne()))
        with pytest.raises(NotImplied, match="to=ApproxDP"):
            odometer.spend(PrivacyProfile(points=((0, 0.1), (1, 0.01))))
        for delta in (0, 1, math.nan):
            with pytest.raises(ParameterError):
                odometer.spent(delta=delta)
        assert repr(odometer).endswith("= 0 spent, add-remove>")
    with pytest.raises(ParameterError, match="relation"):
        ZCDPOdometer(relation="add-remove")  # type: ignore[call-overload]
