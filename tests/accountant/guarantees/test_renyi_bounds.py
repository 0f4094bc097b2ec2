"""What a Renyi curve implies, against brute force and 50 digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof.accountant.guarantees import rdp
from tests.accountant.guarantees import oracle

WEIGHTS = st.lists(st.floats(0.01, 1), min_size=3, max_size=3)
ORDERS = np.array([1.01, 1.5, 2.0, 4.0, 16.0, 64.0])


def normalised(p: list[float], q: list[float]) -> oracle.Masses:
    """Two laws from weights."""
    return [(a / sum(p), b / sum(q)) for a, b in zip(p, q, strict=True)]


def curve(masses: oracle.Masses) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The larger divergence of the two directions at every order, a hair up."""
    both = (masses, oracle.swapped(masses))
    return np.array([max(0.0, *(oracle.renyi(m, a) for m in both)) for a in ORDERS]) + 1e-14


@given(WEIGHTS, WEIGHTS, st.floats(0, 2))
def test_delta_bound_holds(p: list[float], q: list[float], epsilon: float) -> None:
    """Each order alone bounds the hockey-stick divergence of every finite mechanism."""
    masses = normalised(p, q)
    bounds = np.exp(rdp.log_delta_terms(ORDERS, curve(masses), epsilon))

    assert oracle.delta(masses, epsilon) <= float(bounds.min()) + 1e-15


@given(WEIGHTS, WEIGHTS, st.floats(1e-9, 0.5))
def test_epsilon_bound_holds(p: list[float], q: list[float], delta: float) -> None:
    """Delta at the epsilon of each order is at most the delta asked for."""
    masses = normalised(p, q)

    for epsilon in rdp.epsilon_terms(ORDERS, curve(masses), delta):
        assert oracle.delta(masses, float(epsilon)) <= delta * (1 + 1e-9) + 1e-15


@given(WEIGHTS, WEIGHTS, st.floats(1e-6, 1 - 1e-6))
def test_power_bound_holds(p: list[float], q: list[float], rate: float) -> None:
    """No test is more powerful than the divergences allow."""
    masses = normalised(p, q)
    power = oracle.power(masses, rate)

    assert power <= rdp.power(ORDERS, curve(masses), rate) + 1e-12
    assert 1 - power >= -1e-12


@given(WEIGHTS, WEIGHTS)
def test_total_variation_bound_holds(p: list[float], q: list[float]) -> None:
    """Pinsker and Bretagnolle-Huber."""
    masses = normalised(p, q)

    bound = rdp.total_variation(float(curve(masses).min()))
    assert oracle.delta(masses, 0.0) <= bound + 1e-15


@given(st.floats(1e-300, 1e3))
def test_total_variation_is_the_smaller_of_two_formulas(value: float) -> None:
    """It is at or above the smaller one by next to nothing, and at most 1."""
    with mpmath.workdps(50):
        r = mpmath.mpf(value)
        exact = min(mpmath.sqrt(r / 2), mpmath.sqrt(-mpmath.expm1(-r)), mpmath.mpf(1))
        found = rdp.total_variation(value)
        assert exact <= found <= min(1.0, exact * (1 + mpmath.mpf("1e-12")))


@pytest.mark.parametrize("order", [1.0 + 1e-8, 1.5, 7.0, 1e6])
def test_formulas_round_up(order: float) -> None:
    """Both formulas are at or above 50 digits of themselves, by next to nothing."""
    value, delta, epsilon = 0.3, 1e-5, 2.0
    orders, values = np.array([order]), np.array([value])
    with mpmath.workdps(50):
        a, r = mpmath.mpf(order), mpmath.mpf(value)
        by_delta = r + mpmath.log((a - 1) / a) - (mpmath.log(delta) + mpmath.log(a)) / (a - 1)
        by_epsilon = (a - 1) * (r - epsilon) - mpmath.log(a - 1) + a * mpmath.log(1 - 1 / a)
        eps = mpmath.mpf(float(rdp.epsilon_terms(orders, values, delta)[0]))
        log = mpmath.mpf(float(rdp.log_delta_terms(orders, values, epsilon)[0]))

        assert by_delta <= eps <= by_delta + abs(by_delta) * mpmath.mpf("1e-12") + 1e-12
        assert by_epsilon <= log <= by_epsilon + abs(by_epsilon) * mpmath.mpf("1e-12") + 1e-12


def test_nothing_known_is_no_bound() -> None:
    """An infinite divergence allows everything; a zero one nothing."""
    infinite = np.full(ORDERS.shape, math.inf)

    assert rdp.power(ORDERS, infinite, 0.01) == 1.0
    assert rdp.total_variation(math.inf) == 1.0
    assert rdp.total_variation(0.0) == 0.0
    assert rdp.power(ORDERS, ORDERS, 0.0) == 0.0


def test_half_of_the_smallest_divergence_is_not_zero() -> None:
    """Pinsker's sqrt(R/2) for denormal R."""
    for units in range(1, 20):
        value = units * 5e-324
        assert rdp.total_variation(value) >= math.sqrt(0.5) * math.sqrt(value)
