"""Noise that falls with a norm: of the cube, exactly discrete; of the ball, exactly rounded."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.mechanisms import ReplayRng
from dpproof.mechanisms.samplers import discrete_cube_norm, spherical_rounded
from dpproof.mechanisms.samplers.rng import Uniforms
from dpproof.mechanisms.samplers.rounded import _accepted

SPHERICAL = sys.modules["dpproof.mechanisms.samplers.rounded"]
SAMPLES = 4_000
FALSE_ALARM = 1e-9


@pytest.mark.parametrize("width", [1, 2, 3])
def test_proposal_times_acceptance_is_the_mixture(width: int) -> None:
    """C(r + m, m) times the acceptance is a constant times (2r + 1)^m, exactly, and at most 1."""
    choose, ratios = Fraction(1), set()
    for r in range(60):
        accepted = _accepted(r, width)
        ratios.add(choose * accepted / (2 * r + 1) ** width)
        choose = choose * (r + 1 + width) / (r + 1)
        assert 0 < accepted <= 1

    assert len(ratios) == 1


def test_cube_norm_has_the_stated_law() -> None:
    """The largest coordinate has the stated masses; false alarm 1e-9, fresh randomness."""
    rng = np.random.default_rng()
    seed = int(rng.integers(2**62))
    found = np.abs(discrete_cube_norm(3, 2, SAMPLES, ReplayRng(seed))).max(axis=1)
    r = np.arange(400)
    mass = np.where(r == 0, 1, 8 * r) * np.exp(-r / 3)
    mass /= mass.sum()
    cells = np.append(mass[:16], mass[16:].sum()) * SAMPLES
    seen = np.bincount(np.minimum(found, 16), minlength=17)

    assert stats.chisquare(seen, cells).pvalue > FALSE_ALARM, seed


def test_spherical_norms_are_gamma_and_the_mean_is_zero() -> None:
    """The norm is Gamma(m), every direction alike; false alarm 2e-9, fresh randomness."""
    seed = int(np.random.default_rng().integers(2**62))
    grain = Fraction(1, 2**20)
    steps = spherical_rounded(2, grain, 3, SAMPLES, ReplayRng(seed)).astype(float)
    found = steps * float(grain)

    assert stats.kstest(np.linalg.norm(found, axis=1) / 2, "gamma", (3,)).pvalue > FALSE_ALARM, seed
    assert (np.abs(found.mean(axis=0)) < 6.2 * found.std() / SAMPLES**0.5).all(), seed


@pytest.mark.parametrize("grain", [Fraction(1, 4), Fraction(1, 2**30)])
def test_binary64_decides_what_intervals_decide(
    grain: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the fast path calls certain is what further digits of the same uniforms give."""
    size, width = 40, 4
    plain = spherical_rounded(10, grain, width, size, ReplayRng(3))
    uniforms = Uniforms(size * 3 * width, ReplayRng(3)).approximation.reshape(size, 3, width)
    _, clear = SPHERICAL._cells(uniforms, 10 / grain)
    nothing = np.zeros((size, width)), np.zeros(size, dtype=bool)
    monkeypatch.setattr(SPHERICAL, "_cells", lambda *_: nothing)
    exact = spherical_rounded(10, grain, width, size, ReplayRng(3))

    assert clear.mean() > 0.5
    assert (plain[clear] == exact[clear]).all()
