"""Bassily et al.: the pure learner with the cover of the paper."""

from __future__ import annotations

from dpproof.mechanisms import published_cover
from experiments.claims.claim import BASSILY, Claim, Verdict


def check() -> str:
    """Count the candidates at the largest margin there can be."""
    found = published_cover(ratio=1, records=10_000)
    assert not found.feasible
    assert found.log10_size > 9_000
    size = f"10^{found.log10_size:.0f} candidates by our constants"
    return f"at margin = Lambda r, the largest, and 10,000 records it has {size}"


CLAIM = Claim(
    title="A pure learner by the exponential mechanism over a cover",
    source=f"{BASSILY}, Algorithm 1 and Theorem 3.1",
    printed="epsilon-DP with the stated error",
    verdict=Verdict.HOLDS,
    check=check,
    shipped="`ExponentialHalfspaces` over covers that can be listed, at epsilon-bounded range",
)
