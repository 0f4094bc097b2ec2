"""Elementary functions near their zeros, against mpmath at 50 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.arithmetic import elementary
from dpproof.accountant.arithmetic.elementary import (
    exp_minus_linear,
    exponential_sums,
    log1p_complex,
    log1p_enclosure,
    log1p_minus_linear,
    sinc_deficit,
    summation_ulps,
)
from dpproof.accountant.arithmetic.enclosure import ELEMENTARY_ULPS, UNIT_ROUNDOFF, Numbers

Number = Any  # mpmath ships no types
ONE = np.ones(1, dtype=complex)
U, C = UNIT_ROUNDOFF, ELEMENTARY_ULPS
mpmath.mp.dps = 50


def arguments() -> NDArray[np.complex128]:
    """All sizes from 1e-200 to 30 in all directions; both sides of every switch; near zeros."""
    rng = np.random.default_rng(0)
    sizes = np.concatenate([10.0 ** rng.uniform(-18, 1.4, 250), [1e-200, 1e-160, 1e-30]])
    for switch in (0.25, 0.5, 1.0):
        sizes = np.append(sizes, [switch, np.nextafter(switch, 0), np.nextafter(switch, 2)])
    angles = np.concatenate(
        [rng.uniform(-np.pi, np.pi, sizes.size - 6), [0, np.pi / 2, -np.pi / 2, 1e-9, 2, 3]]
    )
    found = sizes * np.exp(1j * angles)
    close = 2j * np.pi * np.array([1, 2]) + 1e-9  # e^z = 1 again
    ring = np.exp(1j * np.linspace(1.7, 3.0, 40)) - 1  # |1 + z| = 1: the real part cancels
    return np.concatenate([found, close, ring, -ring.conj() - 1.5])


def worst(
    function: Callable[[NDArray[np.complex128]], Any],
    true: Callable[[Any], Any],
    allowed: Callable[[complex, Any], Any],
    z: NDArray[np.complex128],
) -> float:
    """The largest error in units of what is allowed."""
    found = np.atleast_1d(function(z))
    ratios = []
    for one, value in zip(z.tolist(), found.tolist(), strict=True):
        exact = true(mpmath.mpc(one))
        ratios.append(float(abs(mpmath.mpc(value) - exact) / allowed(one, exact)))
    return max(ratios)


@pytest.mark.parametrize("log_weight", [0.0, -3.7, -200.0])
def test_exp_minus_linear(log_weight: float) -> None:
    """Errors stay below (13 c + 80 + 14 |log w|) u w |z|^2 e^{max(Re z, 0)}."""
    weight = mpmath.exp(mpmath.mpf(log_weight))

    def together(z: NDArray[np.complex128]) -> Numbers:
        return exp_minus_linear(z, np.ones(1), np.array([log_weight]))

    def apart(z: NDArray[np.complex128]) -> Numbers:
        return np.concatenate([together(one) for one in z[:, None]])

    def turned_growth(z: NDArray[np.complex128]) -> Numbers:
        weights = np.array([log_weight])
        return np.concatenate([exp_minus_linear(ONE, one, weights) for one in z[:, None]])

    def allowed(z: complex, _: object) -> object:
        size = abs(mpmath.mpc(z)) ** 2 * mpmath.exp(max(z.real, 0.0))
        return (13 * C + 80 + 14 * abs(log_weight)) * U * weight * size

    z = arguments()
    z = z[np.abs(z) > 1e-140]  # below, squares underflow
    for terms in (together, apart, turned_growth):
        assert worst(terms, lambda x: weight * (mpmath.expm1(x) - x), allowed, z) <= 1.0


def test_exp_minus_linear_of_a_row() -> None:
    """A row is the sum of its terms, huge exponents with tiny weights included."""
    growth = np.array([1e-9, 0.3, 2.0, 400.0])
    log_weights = np.array([0.0, -1.0, -3.0, -790.0])
    alpha = np.array([2.0, 0.1, 1e-3 + 0.5j, 1.5 - 1.0j])
    found = exp_minus_linear(alpha, growth, log_weights)
    for one, value in zip(alpha.tolist(), found.tolist(), strict=True):
        terms = [
            mpmath.exp(w) * (mpmath.expm1(x) - x)
            for x, w in zip(
                (mpmath.mpc(one) * g for g in growth.tolist()), log_weights, strict=True
            )
        ]
        assert abs(value - mpmath.fsum(terms)) <= 1e-12 * mpmath.fsum(map(abs, terms))


@pytest.mark.parametrize("turn", [0.0, 0.3])
@pytest.mark.parametrize("longer", [False, True])
def test_exp_minus_linear_where_terms_are_left_out(*, turn: float, longer: bool) -> None:
    """Every sum keeps what matters to it, whatever matters to those computed along with it."""
    z = np.linspace(-10.0, 25.0, 60)
    unit = (np.longdouble if longer else np.float64)(1)
    growth = np.log1p(1e-4 * np.expm1(1.25 * z)) * (1 + 1j * turn if turn else 1.0) * unit
    log_weights = -0.5 * z * z * unit
    scattered = np.array([1.5 + 30j, 12.0 + 30j, 20.0 + 1j, 16.0, 0.2 + 18j])
    for alpha in (scattered, 9.0 + 0.5j * np.arange(80), 2.0 + 9j * np.arange(40)):
        found = exp_minus_linear(alpha, growth, log_weights)
        for one, value in list(zip(alpha.tolist(), found.tolist(), strict=True))[::7]:
            terms, allowed = mpmath.mpc(0), mpmath.mpf(0)
            for x, w in zip(growth.tolist(), log_weights.tolist(), strict=True):
                power = mpmath.mpc(one) * mpmath.mpc(complex(x))
                weight = mpmath.exp(mpmath.mpf(float(w)))
                terms += weight * (mpmath.expm1(power) - power)
                size = abs(power) ** 2 * mpmath.exp(max(power.real, 0))
                allowed += (13 * C + 80 + 14 * abs(float(w))) * weight * size
            assert abs(mpmath.mpc(complex(value)) - terms) <= U * allowed


@pytest.mark.parametrize("turned", [0.0, 0.4])
@pytest.mark.parametrize("rise", [0.0, 1.0])
@pytest.mark.parametrize("at_once", [1, 1 << 17])
def test_exponential_sums(
    turned: float, rise: float, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the stated error, row by row or as products of matrices, in parts or at once."""
    monkeypatch.setattr(elementary, "_AT_ONCE", at_once)
    rng = np.random.default_rng(2)
    growth = rng.normal(size=300) + 1j * turned * rng.uniform(size=300)
    growth = growth if turned else growth.real
    log_weights = -0.5 * rng.normal(size=300) ** 2 - 3.0
    alpha = 1.5 + 0.375j * np.arange(200) + rise * (np.arange(200) == 100)
    columns = np.column_stack([np.ones(300), np.abs(growth)])
    total, sums, peak = exponential_sums(alpha, growth, log_weights, columns)
    for k in (0, 33, 199):
        here = np.broadcast_to(sums, (200, 2))[k] * math.exp(np.broadcast_to(peak, 200)[k])
        terms = [
            mpmath.exp(mpmath.mpf(w) + mpmath.mpc(alpha[k]) * mpmath.mpc(g))
            for w, g in zip(log_weights.tolist(), growth.tolist(), strict=True)
        ]
        size = mpmath.fsum(map(abs, terms))
        value = mpmath.mpc(total[k]) * mpmath.exp(float(np.broadcast_to(peak, 200)[k]))
        allowed = (16 * C + 2 * summation_ulps(300) + 8 * 3) * here[0] + 8 * abs(alpha[k]) * here[1]
        assert here[0] == pytest.approx(float(size), rel=1e-12)
        assert abs(value - mpmath.fsum(terms)) <= U * allowed


def test_log1p_complex() -> None:
    """Errors stay below 4 c u |z| near 0 and 4 c u (1 + |log(1 + z)|) elsewhere."""

    def allowed(z: complex, exact: Number) -> object:
        return 4 * C * U * (abs(mpmath.mpc(z)) if abs(z) <= 0.5 else 1 + abs(exact))

    z = arguments()
    z = z[np.abs(1 + z) > 1e-6]
    assert worst(log1p_complex, mpmath.log1p, allowed, z) <= 1.0
    real = np.array([-0.9, -0.3, 1e-12, 2.0])
    assert log1p_complex(real).dtype == np.float64


def test_log1p_minus_linear() -> None:
    """Errors stay below (36 c + 32) u times the result."""
    z = arguments()
    z = z[(np.abs(1 + z) > 1e-6) & (np.abs(z) > 1e-140)]
    assert (
        worst(
            log1p_minus_linear,
            lambda x: mpmath.log(1 + x) - x,
            lambda _, exact: (36 * C + 32) * U * abs(exact),
            z,
        )
        <= 1.0
    )


def test_sinc_deficit() -> None:
    """It lies below 1 - |sin t / t| for every t from x on, falls nowhere, and is not trivial."""
    x = np.concatenate([[0.0], np.geomspace(1e-9, 60.0, 4000), [0.5, np.pi, 4.4934]])
    x.sort()
    found = sinc_deficit(x)
    true = np.ones(x.size)
    true[1:] = 1.0 - np.abs(np.sin(x[1:]) / x[1:])
    later = np.minimum.accumulate(true[:0:-1])[::-1]
    big = x[1:] > 0.1  # below, 1 - sin x / x itself cancels; the series says it
    assert (found[1:][big] <= later[big]).all()
    assert (found[1:][~big] <= x[1:][~big] ** 2 / 6).all()
    assert (np.diff(found) >= -1e-15).all()
    assert (found[1:] >= 0.9 * np.minimum(x[1:] ** 2 / 6 - x[1:] ** 4 / 120, 0.5)).all()


def test_numpy_is_as_accurate_as_assumed() -> None:
    """exp, expm1, log, log1p, sin, cos, hypot and atan2 are within ELEMENTARY_ULPS."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-30, 30, 400), 10.0 ** rng.uniform(-12, 0, 200)])
    y = np.abs(x) + 1e-3
    cases: list[tuple[Any, Any, Any]] = [
        (np.exp, mpmath.exp, x),
        (np.expm1, mpmath.expm1, x),
        (np.log, mpmath.log, y),
        (np.log1p, mpmath.log1p, y),
        (np.sin, mpmath.sin, x),
        (np.cos, mpmath.cos, x),
    ]
    for fast, true, points in cases:
        for point, value in zip(points.tolist(), fast(points).tolist(), strict=True):
            exact = true(mpmath.mpf(point))
            assert abs(value - exact) <= C * 2 * U * abs(exact)
    for a, b in zip(x.tolist(), x[::-1].tolist(), strict=True):
        exact = mpmath.hypot(a, b)
        assert abs(float(np.hypot(a, b)) - exact) <= C * 2 * U * exact
        exact = mpmath.atan2(mpmath.mpf(a), mpmath.mpf(b))
        assert abs(float(np.arctan2(a, b)) - exact) <= C * 2 * U * abs(exact)


def test_enclosures_of_logs() -> None:
    """log(1 + x) is inside for every x within the error, or the radius says nothing is known."""
    for excess in (0.0, 1e-9 + 1e-9j, -0.3, 4 - 3j, -1.0, -1 + 1e-20j):
        for error in (0.0, 1e-12, 0.1, 3.0):
            found = log1p_enclosure(np.array([complex(excess)]), np.array([error]))
            value, radius = complex(found.value[0]), float(found.radius[0])
            for turn in range(8):
                x = mpmath.mpc(excess) + error * mpmath.expjpi(mpmath.mpf(turn) / 4)
                if x == -1:
                    continue
                log = mpmath.log(1 + x)
                if np.isinf(radius):
                    assert log.real <= value.real + 1e-12
                else:
                    assert (
                        abs(mpmath.log((1 + x) / mpmath.exp(mpmath.mpc(value)))) <= radius + 1e-30
                    )


def test_a_log_is_enclosed_as_narrowly_as_it_is_known() -> None:
    """A relative error r widens by -log(1 - r) and the rounding, by no more than 1e-11 of them."""
    relative = np.array([0.0, 1e-9, 0.1, 0.4])
    found = elementary.log_enclosure(np.ones(4) + 0j, relative, np.full(4, 2.0))
    least = -np.log1p(-relative) + 2.0 * UNIT_ROUNDOFF
    assert np.all(found.radius >= least)
    assert np.all(found.radius <= least * (1 + 1e-11))
