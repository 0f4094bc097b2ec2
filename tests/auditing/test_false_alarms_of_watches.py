"""Whole runs of ``watch``, repeated where the claim is exactly true and looked at after each block.

Three statements are made, each wrong with probability at most 5 %: the claim is refuted, epsilon
is above its bound, mu is. More than 33 of 400 would have probability 0.2 % at that rate.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant import GDP
from dpproof.auditing import watch
from dpproof.auditing.counts import Claim
from tests.auditing.builders import LAPLACE
from tests.auditing.samplers import Case, gaussian, laplace, randomized_response

pytestmark = pytest.mark.slow

REPEATS, MOST = 400, 33
CONTROLS = [
    Case("gaussian, as a curve", gaussian(1.0), 0.0, 1.0, GDP(mu=1), 100),
    Case("laplace, as a curve", laplace(1.0), 0.0, 1.0, LAPLACE, 100),
    Case("response with delta", randomized_response(0.5, 0.05), 0.0, 1.0, (0.5, 0.05), 100),
]


@pytest.mark.parametrize("case", CONTROLS, ids=lambda case: case.name)
def test_controls_alarm_rarely(case: Case) -> None:
    """No statement is wrong more often than it says."""
    claim = Claim.of(case.claim)
    mu = float(case.claim.mu) if isinstance(case.claim, GDP) else np.inf
    wrong = np.zeros(3, dtype=int)
    for seed in range(REPEATS):
        pair = (case.data, case.neighbour)
        found = watch(case.draw, pair, claim, samples=case.samples, seed=seed)
        above = found.mu_lower is not None and found.mu_lower > mu
        wrong += (found.refuted, found.epsilon_lower > claim.epsilon, above)

    assert (wrong <= MOST).all(), wrong
