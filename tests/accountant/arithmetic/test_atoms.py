"""K and the profile of finitely many outcomes."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpproof.accountant.arithmetic.atoms import LINE_ULPS, Atoms, exp_minus_linear_on_line
from dpproof.accountant.arithmetic.elementary import summation_ulps
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from tests.contracts.definition import Outcomes, ball
from tests.contracts.pair_contract import log_ratio


def atoms(p: list[float], q: list[float]) -> tuple[Atoms, Outcomes]:
    """Masses, and the same as balls."""
    both = [(a, b) for a, b in zip(p, q, strict=True) if a and b]
    only_p = sum(a for a, b in zip(p, q, strict=True) if not b)
    only_q = sum(b for a, b in zip(p, q, strict=True) if not a)
    log_p = np.log([a for a, _ in both])
    loss = np.log([a / b for a, b in both])
    return Atoms(log_p, loss, only_p, only_q), Outcomes(
        [(ball(a), ball(b)) for a, b in zip(p, q, strict=True)]
    )


CASES = [
    ([0.5, 0.25, 0.25], [0.25, 0.25, 0.5]),
    ([0.75, 0.25, 0.0], [0.5, 0.25, 0.25]),
    ([0.5, 0.5], [0.5 + 2.0**-30, 0.5 - 2.0**-30]),
    ([2.0**-40, 1 - 2.0**-40], [1 - 2.0**-40, 2.0**-40]),
    ([0.125, 0.0, 0.875], [0.0, 0.5, 0.5]),
    ([0.9375, 0.0625, 0.0], [0.0, 0.5, 0.5]),
]


@pytest.mark.parametrize(("p", "q"), CASES)
def test_cumulants(p: list[float], q: list[float]) -> None:
    """Every path (near 1, large, faded) is within its radius, one by one and in a batch."""
    found, definition = atoms(p, q)
    s = np.array([1e-9, 0.3, 5.0, 60.0, 700.0, 0.3 + 2j, 5 + 400j, 60 + 1j])
    for batch in (s, *np.split(s, s.size)):
        k = found.cgf(batch)
        for one, value, radius in zip(batch, k.value, k.radius, strict=True):
            true = definition.moment(complex(one))
            if np.isinf(radius):
                assert abs(true).lower() <= ball(float(value.real)).exp().upper()
            else:
                assert abs(log_ratio(true, complex(value))).lower() <= ball(float(radius))


@pytest.mark.parametrize(("p", "q"), CASES)
def test_profile(p: list[float], q: list[float]) -> None:
    """The sum of positive parts is inside, at and next to every loss."""
    found, definition = atoms(p, q)
    near = [np.nextafter(found.loss, -99), found.loss, np.nextafter(found.loss, 99)]
    epsilon = np.concatenate([*near, [-5.0, 0.0, 0.1, 40.0]])
    for x, lower, upper in zip(epsilon, *found.profile(epsilon), strict=True):
        true = definition.hockey_stick(float(x))
        assert ball(lower).lower() <= true.upper()
        assert true.lower() <= ball(upper).upper()
        assert upper - lower < 1e-12


def test_blocks_agree() -> None:
    """Many arguments at once give what few at a time give."""
    index = np.arange(-2000, 2001) * 2.0**-10
    log_p = -0.5 * (index - 0.125) ** 2 / 0.25
    log_p -= np.log(np.exp(log_p).sum())
    q = np.exp(log_p - index).sum()
    found = Atoms(log_p, index, 0.0, 1.0 - q)
    s = 0.5 + 1j * np.linspace(0, 50, 600)
    whole, part = found.cgf(s), found.cgf(s[17:19])
    assert np.allclose(whole.value[17:19], part.value, rtol=1e-12, atol=1e-15)


def test_adjacency_counts_neighbours_only() -> None:
    """Twice the sum of products of neighbouring masses, tilted, gaps left out."""
    found, _ = atoms([0.5, 0.25, 0.25], [0.25, 0.25, 0.5])
    weight = np.array([0.5, 0.25, 0.25]) * np.exp(0.5 * found.loss)
    weight /= weight.sum()
    true = 2 * (weight[0] * weight[1] + weight[1] * weight[2])
    assert 0 < found.adjacency(np.array([2.0, 1.0, 0.0]), 0.5) <= true
    assert found.adjacency(np.array([4.0, 2.0, 0.0]), 0.5) == 0.0


def test_errors_are_bounded_for_many_masses() -> None:
    """Tiny masses, large losses and masses outside: K and delta stay within their errors."""
    rng = np.random.default_rng(7)
    for _ in range(12):
        p, q = (rng.dirichlet(np.full(9, 0.1)) + 1e-30 for _ in range(2))
        p[0] = 0.0 if rng.random() < 0.5 else p[0]
        q[1] = 0.0 if rng.random() < 0.5 else q[1]
        found, definition = atoms(p.tolist(), q.tolist())
        s = np.array([1e-7, 0.7, 3 + 40j, 30 + 1e4j, 2e3 + 3j])
        k = found.cgf(s)
        for one, value, radius in zip(s, k.value, k.radius, strict=True):
            if not np.isinf(radius):
                true = log_ratio(definition.moment(complex(one)), complex(value))
                assert abs(true).lower() <= ball(float(radius))
        points = np.concatenate([found.loss, [0.0, 1e-9]])
        for x, lower, upper in zip(points, *found.profile(points), strict=True):
            delta = definition.hockey_stick(float(x))
            assert ball(lower).lower() <= delta.upper()
            assert delta.lower() <= ball(upper).upper()


def _scattered(seed: int, spread: float, outside: float) -> Atoms:
    """Random masses over many orders of magnitude, with mass outside both supports."""
    rng = np.random.default_rng(seed)
    p = np.exp(-spread * rng.random(7) * 20)
    q = p * np.exp(rng.normal(size=7) * spread)
    p, q = p / p.sum() * (1 - outside), q / q.sum() * (1 - outside / 2)
    return Atoms(np.log(p), np.log(p / q), outside, outside / 2)


def _telling() -> Atoms:
    """A rare outcome that is likely under Q, and a large loss of little mass."""
    p, q = np.array([1e-6, 1e-12, 1.0]), np.array([1e-2, 1e-13, 1.0])
    p[2] -= p[:2].sum()
    q[2] -= q[:2].sum()
    return Atoms(np.log(p), np.log(p / q), 0.0, 0.0)


def _cancelling() -> Atoms:
    """Masses outside the supports that cancel in K at s = 3."""
    p = np.array([0.5, 0.3, 0.2])
    loss = np.log((1 - 1e-9) / (1 - 4e-9 / 3)) * np.ones(3)
    return Atoms(np.log(p * (1 - 1e-9)), loss, 1e-9, 4e-9 / 3)


def _equal() -> Atoms:
    """Many equal masses at two losses."""
    loss = np.where(np.arange(200) < 100, 0.5, -0.5)
    return Atoms(np.full(200, -np.log(200.0)), loss, 0.0, 0.0)


OUTSIDE = [
    (0.3, 0.0),
    (3.0, 0.0),
    (30.0, 0.0),
    (1e-3, 0.0),
    (1e-3, 1e-9),
    (1e-8, 1e-9),
    (2.0, 0.25),
]
SCATTERED = [_scattered(3, spread, outside) for spread, outside in OUTSIDE]
SCATTERED += [_telling(), _equal(), _cancelling()]


@pytest.mark.parametrize("found", SCATTERED)
def test_radii_cover_the_stated_errors_of_masses_and_losses(found: Atoms) -> None:
    """K's radius is above what errors of log masses and losses do at worst, by little."""
    u, loss, size_p = 2.0**-53, found.loss, 8 + 4 * np.abs(found.log_p)
    for s in (1e-6, 0.05, 0.4, 3.0, 40.0, 2 + 30j, 0.5 + 1e3j, 0.01 + 0.5j):
        enclosure = found.cgf(np.array([s]))
        exponent = s * loss + found.log_p
        peak = exponent.real.max()
        if found.near_one(s.real, s.real):  # which sum it is
            moment = 1.0
            term = np.exp(s * loss) - 1 - s * loss + s * (np.exp(-loss) - 1 + loss)
            by_loss = np.abs(s * (np.exp(s * loss) - np.exp(-loss)))
            weight = np.exp(found.log_p)
            worst = weight @ (np.abs(term) * size_p + 4 * by_loss * np.abs(loss))
            worst += found.infinite_mass + abs(s) * (found.infinite_mass + found.missing_mass)
        else:
            moment = abs(np.exp(exponent - peak).sum())
            weight = np.exp(exponent.real - peak)
            worst = weight @ (size_p + 4 * np.abs(s * loss)) + abs(peak) * weight.sum()
        if not np.isinf(enclosure.radius[0]):
            assert worst * u / moment <= enclosure.radius[0] <= 1e3 * (worst * u / moment + 4 * u)


@pytest.mark.parametrize("found", SCATTERED)
def test_profiles_cover_the_stated_errors(found: Atoms) -> None:
    """A bracket of delta is wider than the worst that errors of masses and losses do, by little."""
    u, p, loss = 2.0**-53, np.exp(found.log_p), found.loss
    epsilon = np.concatenate([loss, loss * (1 + 2 * u), loss - 1.0, loss - 0.1, [0.0, -3.0]])
    for one, low, high in zip(epsilon, *found.profile(epsilon), strict=True):
        above = loss * (1 + 4 * u * np.sign(loss)) > one
        share = -np.expm1(np.minimum(one - loss, 0.0))
        worst = (p * share) @ (8 + 4 * np.abs(found.log_p)) + found.infinite_mass
        worst += (p * (1 - share) * above) @ (4 * np.abs(loss))
        assert worst * u <= high - share @ p - found.infinite_mass + 1e-300
        reach = 1 + abs(one) + np.abs(loss)
        slips = (p * (one - loss < 12 * u * reach)) @ reach
        assert high - low <= 30 * u * (worst + slips) + 1e-300


def test_a_loss_far_out_is_told_by_its_own_error() -> None:
    """A loss of 1e9 may lie 4 u of itself higher: delta just above its float is not 0."""
    found = Atoms(np.array([0.0]), np.array([1e9]), 0.0, 1.0)
    beyond = np.nextafter(1e9, np.inf)
    _, upper = found.profile(np.array([beyond, 1e9 * (1 + 1e-12)]))
    assert upper[0] >= -np.expm1(beyond - 1e9 * (1 + 2.0**-51))
    assert upper[1] == 0.0


@pytest.mark.parametrize("count", [24, 131])
@pytest.mark.parametrize("start", [0.0, 0.7, 300.0])
def test_within_the_stated_error(start: float, count: int) -> None:
    """The sums at 50 digits are within what is stated, for small and large angles and weights."""
    rng = np.random.default_rng(count)
    for scale in (1e-7, 1e-2, 3.0):
        growth = rng.normal(size=70) * scale
        weights = np.minimum(-rng.exponential(5.0, size=70), 1.0 - start * np.maximum(growth, 0.0))
        found = exp_minus_linear_on_line(start, 0.37, count, growth, weights)
        for k in {0, 1, count // 3, count - 1}:
            with mpmath.workdps(50):
                true, allowed = _sum(mpmath.mpc(start, k * mpmath.mpf(0.37)), growth, weights)
                assert abs(true - complex(found[k])) <= UNIT_ROUNDOFF * allowed


def _sum(s: mpmath.mpc, growth: Reals, weights: Reals) -> tuple[mpmath.mpc, mpmath.mpf]:
    """Return the sum of w (e^z - 1 - z) and what it may be off by, in u."""
    true, allowed = mpmath.mpc(0), mpmath.mpf(0)
    for g, w in zip(growth.tolist(), weights.tolist(), strict=True):
        z, weight = s * g, mpmath.exp(w)
        true += weight * (mpmath.expm1(z) - z)
        ulps = LINE_ULPS + 20 * abs(w) + summation_ulps(growth.size)
        allowed += ulps * abs(z) ** 2 * weight * mpmath.exp(max(z.real, 0))
    return true, allowed
