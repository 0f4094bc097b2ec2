"""Bounds of what a trapezoid rule under two opposite mixtures leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant.pairs.opposite_quadrature import _Mixture

CASES = [
    (mu, q, c, y)
    for mu in (0.3, 1.0, 3.0)
    for q in (0.01, 0.5, 0.9)
    for c, y in ((0.5, 0.0), (20.0 if mu <= 1 else 3.0, 0.0), (3.0, 40.0))
]


@pytest.mark.parametrize(("mu", "q", "c", "y"), CASES)
def test_norms_on_edges_of_strips_are_bounded(mu: float, q: float, c: float, y: float) -> None:
    """The integral of |phi (f + g)| on an edge, by many nodes, is below its bound."""
    one = _Mixture(mu, np.log(q), np.log1p(-q), c, y, abs(c + 1j * y))
    x, s = np.linspace(-40.0, 40.0, 40_001), c + 1j * y
    for half in (0.2, 1.0, min(2.5 / mu, 4.0)):
        if mu * half > 2.6:
            continue
        z = x + 1j * half
        a, b = (1 - q + q * np.exp(mu * sign * z - 0.5 * mu * mu) for sign in (1, -1))
        loss = np.log(a) - np.log(b)
        log_phi = -0.5 * z * z - 0.5 * np.log(2 * np.pi)
        grown = np.exp(log_phi + np.log(a) + s * loss)
        rest = np.exp(log_phi) * (-a * (1 + s * loss) + 0.5 * s * (a - b) * loss)
        norm = np.abs(grown + rest).sum() * (x[1] - x[0])
        assert np.log(norm) <= one.log_edge(half)
