"""The e-values that audits report."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import auditing
from accountant import GDP
from auditing import Outcome, Report
from tests.auditing.samplers import Draw, gaussian, laplace, randomized_response


def run(sampler: Draw, claim: object, seed: int, samples: int = 20_000) -> Report:
    """An audit at a level that it does not end at early."""
    return auditing.audit(sampler, (0.0, 1.0), claim, samples=samples, significance=1e-9, seed=seed)


@pytest.mark.parametrize(
    ("sampler", "claim"),
    [
        (laplace(1 / 1.1), (1, 0)),
        (gaussian(0.9), GDP(mu=1)),
        (randomized_response(1.1, 0.05), (1, 0.05)),
    ],
    ids=["laplace", "gaussian", "response with delta"],
)
def test_evidence_of_a_small_violation_grows(sampler: Draw, claim: object) -> None:
    """A tenth less noise than claimed: the product of three audits of these seeds is beyond 1e6."""
    assert sum(run(sampler, claim, seed).log_evidence for seed in range(3)) > math.log(1e6)


@pytest.mark.parametrize(
    ("sampler", "claim"),
    [
        (laplace(1.0), (1, 0)),
        (gaussian(1.0), GDP(mu=1)),
        (randomized_response(1, 0.05), (1, 0.05)),
        (lambda _, size, __: np.zeros(size), (0, 0)),
    ],
    ids=["laplace", "gaussian", "response with delta", "constant"],
)
def test_there_is_none_against_a_true_claim(sampler: Draw, claim: object) -> None:
    """Small for these seeds, and never less than what two stages do not bet."""
    found = [run(sampler, claim, seed, 500).log_evidence for seed in range(2)]

    assert max(found) < math.log(100)
    assert min(found) >= 2 * math.log(0.2) - 1e-9


def test_an_audit_that_ran_out_of_time_keeps_what_it_did_not_bet() -> None:
    """Whether the time ends may depend on the outputs, so nothing is earned by it."""

    def slow(value: float, size: int, rng: np.random.Generator) -> object:
        time.sleep(0.05)
        return laplace(0.5)(value, size, rng)

    report = auditing.audit(slow, (0.0, 1.0), (1, 0), samples=10**6, seconds=0.1)

    assert report.outcome is Outcome.INCONCLUSIVE
    assert report.log_evidence <= math.log(0.2)


@pytest.mark.slow
def test_evidence_is_rarely_large() -> None:
    """E-values of 20 and more in at most 20 of 200 audits, the 99.7 % limit of the 5 % allowed."""
    found = [run(laplace(1.0), (1, 0), seed, 200).log_evidence for seed in range(200)]

    assert sum(log >= math.log(20) for log in found) <= 20
    assert np.mean(np.exp(found)) < 2
