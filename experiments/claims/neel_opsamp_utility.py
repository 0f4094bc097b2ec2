"""Neel, Roth, Vietri & Wu, Theorem 7: the rate of OPSamp."""

from __future__ import annotations

import math

from scipy import stats

from experiments.claims.claim import NEEL, Claim, Verdict


def check() -> str:
    """Compare the noise's norm with the bound that the proof uses for it."""
    beta, dimension = 0.05, 10
    missed = float(stats.gamma.sf(1 + math.log(2 / beta), dimension))
    assert missed > 0.9
    return (
        f"the noise's L1 norm exceeds (1 + ln(2/β))λ/ε, used as a bound with probability 1 − β/2, "
        f"with probability {missed:.3f} at d = {dimension}, β = {beta}"
    )


CLAIM = Claim(
    title="OPSamp's error grows like d^(5/4)",
    source=f"{NEEL}, Theorem 7",
    printed="excess error of order d^(5/4)/√n",
    verdict=Verdict.UNPROVED,
    check=check,
    shipped="with the norm's true law, Gamma(d), the rate is d^(7/4); `LogisticObjective` is the "
    "practical way",
)
