"""Neel, Roth, Vietri & Wu, Lemma 9: how far an average of oracle answers is from its mean."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from experiments.claims.claim import NEEL, Claim, Verdict

DELTA, GAMMA = 1e-6, 0.1


def tail(dimension: int) -> float:
    """Return P(||mean - E||_1 > 2 gamma) with every coordinate of the answers a fair coin.

    That is the linear loss <a, w> on [0, 1]^d with e^(-eta a) = 1/2, an average of m answers.
    """
    m = math.ceil(math.log(2 * dimension / DELTA) / (2 * GAMMA**2))
    heads = stats.binom.pmf(np.arange(m + 1), m, 0.5)
    # In units of 1/(2m): |2 B - m|.
    one = np.bincount(np.abs(2 * np.arange(m + 1) - m), weights=heads)
    total = np.ones(1)
    for _ in range(dimension):
        total = np.convolve(total, one)
    return float(total[math.floor(2 * GAMMA * 2 * m) + 1 :].sum())


def check() -> str:
    """Compute the tail exactly, by convolution."""
    expected = {8: 0.0035, 10: 0.0361, 15: 0.525, 20: 0.942}
    found = {d: tail(d) for d in expected}
    assert all(abs(found[d] - expected[d]) <= 0.02 * expected[d] for d in expected), found
    values = ", ".join(f"{p:.4f} at d = {d}" for d, p in found.items())
    return f"δ = 1e-6, γ = 0.1, claimed at most 5e-7: {values}"


CLAIM = Claim(
    title="OPSamp's average is near its mean",
    source=f"{NEEL}, Lemma 9",
    printed="‖mean − E‖₁ ≤ 2D∞γ except with probability δ/2 for m = ln(2d/δ)/(2γ²) oracle calls",
    verdict=Verdict.FALSE,
    check=check,
    shipped="`AveragedPerturbation` (proofs/theory/separators.md, Theorem 5), which couples both "
    "runs by the same noise and needs no concentration in d dimensions",
)
