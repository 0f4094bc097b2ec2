"""K of many mixtures on a line each, against integrals with 50 digits."""

from __future__ import annotations

import flint
import numpy as np
import pytest

from dpproof.accountant.engine.gaussian_rows import Runs
from dpproof.accountant.pairs import mixture_lines
from dpproof.accountant.pairs.gaussian_mixtures import Powers, choose_lines, rules_on
from dpproof.accountant.pairs.mixture_lines import moments
from tests.accountant.pairs.builders import mixture_terms

SHAPE = (4, 6)
# mu, q, the line's c and the distance of its nodes: ordinary, next to an atom, large powers, much
# noise, little noise.
ROWS = [
    (1.0, 0.01, 5.0, 0.5),
    (1.0, 0.01, 0.01, 20.0),
    (0.8, 0.001, 20.0, 40.0),
    (1 / 4.4, 0.0137, 164.0, 9.0),
    (0.1, 0.3, 30.0, 1.0),
    (0.1, 0.999, 30.0, 1.0),
    (2.0, 0.7, 1.5, 0.3),
    (1.6, 1e-6, 3.0, 100.0),
]


def enclosed(row: tuple[float, float, float, float], *, removal: bool) -> tuple[np.ndarray, ...]:
    """Values and radii of K at 0, c/2, c and on the line, and the powers there."""
    mu, q, c, step = row
    mixtures = Runs(np.array([mu]), np.array([q]), np.ones(1)).mixtures(removal=removal)
    powers = mixtures.power(np.array([[0.0, c / 2, c]]))
    turn = step * (SHAPE[0] * SHAPE[1] - 1)
    size = float(np.hypot(np.abs(powers).max(), turn))
    lines = choose_lines(mixtures, [Powers(float(powers.min()), float(powers.max()), size, turn)])
    rule = rules_on(lines, np.dtype(np.float64))
    real, along = moments(mixtures, powers, np.array([step]), rule, SHAPE)
    t = step * np.arange(SHAPE[0] * SHAPE[1])
    alpha = np.concatenate([powers[0] + 0j, powers[0, -1] + 1j * t])
    value = np.concatenate([real.value[0], along.value[0]])
    return value, np.concatenate([real.radius[0], along.radius[0]]), alpha


def true_cgf(row: tuple[float, float, float, float], alpha: complex, *, removal: bool) -> flint.acb:
    """K by an integral with 50 digits."""
    mixtures = Runs(*(np.array([one]) for one in (row[0], row[1], 1.0))).mixtures(removal=removal)
    last = 16 + row[0] * max(alpha.real, 1.0)
    with flint.ctx.workprec(220):
        accuracy = flint.arb(2) ** -150

        def excess(z: flint.acb, analytic: bool) -> flint.acb:  # noqa: FBT001  # flint calls it so
            return mixture_terms(mixtures, z, flint.acb(alpha), analytic=analytic)[0]

        found = flint.acb.integral(excess, -16, last, rel_tol=accuracy, abs_tol=accuracy)
        return (1 + found).log()


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("row", ROWS)
def test_every_value_is_within_its_radius(
    row: tuple[float, float, float, float], *, removal: bool
) -> None:
    """K at real points and at nodes is where the disc says, and the disc is small."""
    value, radius, alpha = enclosed(row, removal=removal)
    for at in (0, 2, 4, 26):
        true = true_cgf(row, complex(alpha[at]), removal=removal)
        gap = abs(flint.acb(complex(value[at])) - true)
        turns = abs(float((true.imag - float(value[at].imag)).mid())) / (2 * np.pi)
        if turns < 0.5:  # the log may be another one, of the same M
            assert gap <= radius[at] + 1e-30
        smaller = np.exp(max(value[2].real - value[at].real, 0.0))  # |M| than on the real line
        assert radius[at] < 1e-6 * (abs(value[at]) + 1e-5) * smaller


def test_large_exponents_with_small_weights_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clipping an exponent before its weight is added would be seen: the disc misses K then."""
    exact = mixture_lines._weighted_second

    def clipped(x: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
        return exact(np.minimum(x.real, 100.0) + 1j * x.imag, log_weights + 0j)

    row = ROWS[3]
    true = true_cgf(row, 165.0 + 0j, removal=True)
    monkeypatch.setattr(mixture_lines, "_weighted_second", clipped)
    value, radius, alpha = enclosed(row, removal=True)
    assert alpha[2] == 165.0
    assert not abs(flint.acb(complex(value[2])) - true) <= radius[2]
