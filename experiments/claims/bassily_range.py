"""Bassily, Mohri & Suresh, Theorem 4.2: for which epsilon and delta."""

from __future__ import annotations

import math

from experiments.claims.claim import BASSILY, Claim, Verdict


def check() -> str:
    """Find budgets inside the theorem's range and outside that of the lemma it rests on."""
    records, outside = 1000, [(2.0, 0.2), (1.0, 0.01)]
    assert all(delta >= 1 / records or epsilon > math.log(1 / delta) for epsilon, delta in outside)
    named = ", ".join(f"({epsilon:g}, {delta:g})" for epsilon, delta in outside)
    return f"with m = {records} the lemma needs δ < 1/m and ε ≤ ln 1/δ, which leaves out {named}"


CLAIM = Claim(
    title="(ε, δ)-DP for every ε > 0 and δ in (0, 1)",
    source=f"{BASSILY}, Theorem 4.2",
    printed="no condition on ε and δ",
    verdict=Verdict.UNPROVED,
    check=check,
    shipped="full-batch noisy descent, exactly μ-GDP for every budget",
)
