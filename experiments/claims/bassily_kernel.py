"""Bassily, Mohri & Suresh: the norm of polynomial features."""

from __future__ import annotations

import numpy as np

from experiments.claims.claim import BASSILY, Claim, Verdict


def check() -> str:
    """Write the features of (<x, x'> + 1)^2 out in two dimensions."""
    x = np.array([0.6, 0.8])
    features = np.array([x[0] ** 2, x[1] ** 2, 2**0.5 * x[0] * x[1], *(2**0.5 * x), 1.0])
    length = float(np.linalg.norm(features))
    assert abs(features @ features - (x @ x + 1) ** 2) < 1e-12
    assert abs(length - 2) < 1e-12
    return f"r = c = 1, p = 2: a feature vector has norm {length:.6f}, printed 1"


CLAIM = Claim(
    title="Polynomial features have norm r^p",
    source=f"{BASSILY}, on polynomial kernels",
    printed="κ_p(x, x) can be as large as r^p",
    verdict=Verdict.FALSE,
    check=check,
    shipped="(r² + c)^(p/2); the paper's algorithm clips, so that its privacy survives",
)
