"""Nguyen, Ullman & Zakynthinou, Algorithm 3: runs, and a choice among them."""

from __future__ import annotations

import math
from fractions import Fraction

from dpproof.accountant import (
    GDP,
    BoundedRange,
    ReplaceOne,
    WithoutReplacement,
    compose,
    self_compose,
)
from dpproof.accountant.theorems.subsampling import (
    subsample_without_replacement,
)
from experiments.claims.claim import Claim, Verdict


def check() -> str:
    """Compose the printed noise of all runs with the choice at the printed epsilon."""
    records, delta, runs, epsilon = 200, 1e-6, 5, 1.0
    share, slack = epsilon / runs, delta / runs
    mu = 2 * share / math.sqrt(32 * math.log(records / slack) * math.log(1 / slack))
    step = subsample_without_replacement(
        GDP(mu=mu, relation=ReplaceOne()),
        WithoutReplacement(sample_size=1, population_size=records),
    )
    training = self_compose(step, runs * (records**2 - 1))
    choice = BoundedRange(epsilon=Fraction(1), relation=ReplaceOne())
    found = compose(training, choice).epsilon(delta=delta)
    assert 1.0115 < found.upper < 1.0130
    return f"at n = {records} the runs and the choice together cost {found.upper:.4f}, claimed 1"


CLAIM = Claim(
    title="Runs at (ε/k, δ/k) and a choice among them are (ε, δ)-DP",
    source="Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 3",
    printed="k runs of noisy SGD spend (ε, δ), and the exponential mechanism picks one",
    verdict=Verdict.UNPROVED,
    check=check,
    shipped="`NoisyHinge`, exactly μ-GDP; a choice is paid for beside it (`ChooseIterate`)",
)
