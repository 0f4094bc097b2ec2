"""Wang et al.: the sensitivity of a penalised score."""

from __future__ import annotations

import math

from experiments.claims.claim import WANG, Claim, Verdict


def check() -> str:
    """Remove a record that changes no error: the penalty moves with the number of records."""
    records = dimension = 1000
    penalty = [2.5 * dimension * math.log(2 * n) / n for n in (records, records + 1)]
    moved = (penalty[0] - penalty[1]) * records
    assert 16 < moved < 17
    return f"n = k = {records}: the score moves by {moved:.1f}/n under add-remove, used is 1/n"


CLAIM = Claim(
    title="The penalised error has sensitivity 1/n",
    source=f"{WANG}, Algorithm 2, Equation 3",
    printed="stated for datasets that differ in one element",
    verdict=Verdict.UNPROVED,
    check=check,
    shipped="right under replace-one, where n is public; here scores are counts and sizes public",
)
