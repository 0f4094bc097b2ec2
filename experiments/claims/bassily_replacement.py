"""Bassily et al.: what sampling with replacement costs in the phases of their solver."""

from __future__ import annotations

from dpproof.accountant import GDP, ReplaceOne, group
from dpproof.mechanisms import PhasedHinge
from experiments.claims.claim import BASSILY, Claim, Verdict

RECORDS, DELTA, LIKELY = 10_000, 1e-6, 9


def check() -> str:
    """Price one record by how often it is drawn, and as a group of as many as are likely."""
    exact = PhasedHinge(
        margin=1,
        norm_bound=1,
        mu=0.1,
        records=RECORDS,
        sampling="with-replacement",
        relation=ReplaceOne(),
    )
    found = exact.guarantee().epsilon(delta=DELTA).upper
    grouped = group(GDP(mu=0.1, relation=ReplaceOne()), size=LIKELY).epsilon(delta=DELTA / 2).lower
    plain = (
        PhasedHinge(margin=1, norm_bound=1, mu=0.1, relation=ReplaceOne())
        .guarantee()
        .epsilon(delta=DELTA)
        .upper
    )
    assert plain < found < grouped / 3
    return (
        f"{RECORDS:,} records, phases of mu 0.1: epsilon {found:.3f}, {grouped:.2f} as a group of "
        f"{LIKELY}, {plain:.3f} on a permutation"
    )


CLAIM = Claim(
    title="Phases that draw with replacement are private by groups of O(log 1/delta)",
    source=f"{BASSILY}, Lemma 3.1 (its proof is in an appendix that was not at hand)",
    printed="(epsilon, delta)-DP with noise that grows by log(1/delta)^(3/2)",
    verdict=Verdict.LOOSE,
    check=check,
    shipped="`PhasedHinge`: the exact law of the occurrences, or a permutation, exactly mu-GDP",
)
