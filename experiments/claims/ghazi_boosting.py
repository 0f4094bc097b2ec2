"""Ghazi, Kumar, Manurangsi & Nguyen, Observation 8: boosting the success probability."""

from __future__ import annotations

import math

from experiments.claims.claim import Claim, Verdict


def check() -> str:
    """Check that one fresh record decides between runs.

    Each run is wrong on it with probability 1/2.
    """
    runs = 10
    all_wrong = 0.5**runs
    epsilon = math.log((1 - all_wrong) / all_wrong)
    assert abs(epsilon - math.log(2**runs - 1)) < 1e-9
    assert epsilon > 1
    return f"the best of {runs} runs by one fresh record has ε at least {epsilon:.2f}"


CLAIM = Claim(
    title="The best of several runs by fresh samples is as private as one",
    source="Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Observation 8",
    printed="output the candidate of least error on fresh samples, at no cost in ε",
    verdict=Verdict.FALSE,
    check=check,
    shipped="`ChooseIterate`, `CandidateExponential`, or `.select` with a private score",
)
