"""Implementations that keep their promise: audits stay silent.

Fresh entropy: a control alarms with probability at most ``ALARM``, and a run makes fewer than
twenty of these audits, so the file is wrong with probability at most 2e-8. How often audits at
5 % alarm is measured in ``test_false_alarms.py``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant import GDP, BoundedRange, PureDP
from dpproof.auditing import Outcome
from tests.auditing import samplers
from tests.auditing.builders import LAPLACE, RECORDS, SCORES, SUBSAMPLED
from tests.auditing.samplers import Case, gaussian, laplace, randomized_response

ALARM = 1e-9

CONTROLS = [
    Case("laplace", laplace(1.0), 0.0, 1.0, (1, 0), 20_000),
    Case("laplace, as a curve", laplace(1.0), 0.0, 1.0, LAPLACE, 20_000),
    Case("randomised response", randomized_response(1), 0.0, 1.0, PureDP(epsilon=1), 20_000),
    Case("response with delta", randomized_response(1, 0.05), 0.0, 1.0, (1, 0.05), 5_000),
    Case("response, tiny delta", randomized_response(1, 1e-4), 0.0, 1.0, (1, 1e-4), 20_000),
    Case("gaussian, as a curve", gaussian(1.0), 0.0, 1.0, GDP(mu=1), 20_000),
    Case("noisy max, index only", samplers.noisy_max_index, *SCORES, (1, 0), 5_000),
    Case("exponential", samplers.exponential, *SCORES, BoundedRange(epsilon=2), 5_000),
    Case("subsampled gaussian", samplers.poisson_subsampled(0.25, 1), *RECORDS, SUBSAMPLED, 5_000),
    Case("discrete laplace", samplers.discrete_laplace, 0, 1, (1, 0), 20_000),
    Case("constant", lambda _, size, __: np.zeros(size), 0.0, 1.0, (1, 0), 1_000),
    Case("few samples", laplace(1.0), 0.0, 1.0, (1, 0), 20),
    Case("fewest samples", laplace(1.0), 0.0, 1.0, GDP(mu=1), 5),
]


@pytest.mark.parametrize("case", CONTROLS, ids=lambda case: case.name)
def test_controls_are_left_alone(case: Case) -> None:
    """No violation, and the bound is at most the claim."""
    pair = (case.data, case.neighbour)
    report = auditing.audit(case.draw, pair, case.claim, samples=case.samples, significance=ALARM)

    assert report.outcome is not Outcome.VIOLATION, str(report)
    assert report.epsilon_lower <= report.epsilon_claimed, str(report)


def test_a_harmless_pair_is_named() -> None:
    """Broken code on a pair that does not show it passes, and the report says so."""
    report = auditing.audit(
        samplers.unclipped_sum, (np.zeros(1), np.zeros(2)), (1, 0), samples=20_000
    )

    assert any("another pair may show more" in note for note in report.notes)


@pytest.mark.slow
def test_power_statement_is_true() -> None:
    """At the detectable epsilon, randomised response is found.

    The statement is 95 %; fewer than 84 of 100 would have probability below 1e-4, and the seeds
    are fixed.
    """
    size = 3_000
    claimed = auditing.audit(
        randomized_response(1), (0.0, 1.0), (1, 0), samples=size, seed=1
    ).detectable_epsilon
    found = sum(
        auditing.audit(
            randomized_response(claimed), (0.0, 1.0), (1, 0), samples=size, seed=seed
        ).outcome
        is Outcome.VIOLATION
        for seed in range(100)
    )

    assert 1 < claimed < 1.5
    assert found >= 84


def test_an_audit_too_small_to_find_anything_is_inconclusive() -> None:
    """Ten samples find nothing at a significance of a millionth, whatever happens."""
    report = auditing.audit(laplace(0.1), (0.0, 1.0), (1, 0), samples=10, significance=1e-6, seed=1)

    assert report.outcome is Outcome.INCONCLUSIVE
    assert math.isinf(report.detectable_epsilon)


def test_an_audit_that_would_find_less_noise_is_not_inconclusive() -> None:
    """No (epsilon, delta) of its event refutes a Gaussian in 4,000 samples, but a curve does.

    It said that no violation of any size would have been found, where noise that is at the
    detectable mu is found in 20 of 20 audits. At 95 %, fewer than 14 have probability below 1e-4.
    """

    def audited(mu: float, seed: int) -> auditing.Report:
        sampler, claim = gaussian(1 / mu), GDP(mu=1)
        return auditing.audit(
            sampler, (0.0, 1.0), claim, samples=4_000, significance=1e-8, seed=seed
        )

    unsure = [audited(1, seed) for seed in range(4)]
    report = next(one for one in unsure if math.isinf(one.detectable_epsilon))
    assert {one.outcome for one in unsure} == {Outcome.NO_EVIDENCE}
    assert report.detectable_mu is not None
    assert report.power().endswith(f"probability, mu >= {report.detectable_mu:.4g}")
    outcomes = [audited(report.detectable_mu, seed).outcome for seed in range(20)]
    assert outcomes.count(Outcome.VIOLATION) >= 14
