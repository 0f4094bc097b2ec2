"""K and the profile of finitely many outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.arithmetic.atoms import Atoms
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
