"""Bassily et al.: how steep the activation of the network learner is."""

from __future__ import annotations

import numpy as np

from experiments.claims.claim import BASSILY, Claim, Verdict


def check() -> str:
    """Compare slopes of (1 - e^(-a/2)) / (1 + e^(-a/2)) with 1/4, the slope of tanh(a/4) at 0."""
    points = np.linspace(-40, 40, 80_001)
    values = (1 - np.exp(-points / 2)) / (1 + np.exp(-points / 2))
    steepest = float(np.max(np.diff(values) / np.diff(points)))
    assert np.allclose(values, np.tanh(points / 4), atol=1e-12)
    assert 0.2499 < steepest <= 0.25
    return f"at eta = 1 the steepest slope is {steepest:.4f}; in L layers that is 4^L, 16^L in k"


CLAIM = Claim(
    title="The activation of a network is eta-Lipschitz",
    source=f"{BASSILY}, section 5",
    printed="sigma_eta is eta-Lipschitz, which the dimension and the cover of Theorem 5.1 use",
    verdict=Verdict.LOOSE,
    check=check,
    shipped="`ExponentialNetworks` with tanh(eta a / 4), whose constant is eta / 4",
)
