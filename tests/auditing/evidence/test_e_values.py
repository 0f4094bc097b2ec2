"""The e-values that audits report."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant import GDP
from dpproof.auditing import Outcome, Report
from dpproof.auditing.counts import Claim
from dpproof.auditing.evidence import LEAST, log_evidence
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.standard import Coordinate
from dpproof.auditing.witnesses.witness import Question
from tests.auditing.samplers import Draw, gaussian, laplace, randomized_response


def run(sampler: Draw, claim: object, seed: int, samples: int = 20_000) -> Report:
    """An audit at a level that it does not end at early."""
    return auditing.audit(sampler, (0.0, 1.0), claim, samples=samples, significance=1e-9, seed=seed)


@pytest.mark.parametrize(
    ("sampler", "claim"),
    [(laplace(1 / 1.1), (1, 0)), (gaussian(0.9), GDP(mu=1))],
    ids=["laplace", "gaussian"],
)
def test_evidence_of_a_small_violation_grows(sampler: Draw, claim: object) -> None:
    """A tenth less noise than claimed: the product of four audits of these seeds is beyond 1e6."""
    assert sum(run(sampler, claim, seed).log_evidence for seed in range(4)) > math.log(1e6)


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
    assert min(found) >= LEAST


def test_an_audit_that_ran_out_of_time_keeps_what_it_did_not_bet() -> None:
    """Whether the time ends may depend on the outputs, so nothing is earned by it."""

    def slow(value: float, size: int, rng: np.random.Generator) -> object:
        time.sleep(0.05)
        return laplace(0.5)(value, size, rng)

    report = auditing.audit(slow, (0.0, 1.0), (1, 0), samples=10**6, seconds=0.1)

    assert report.outcome is Outcome.INCONCLUSIVE
    assert report.log_evidence <= math.log(0.2)


def training(rng: np.random.Generator) -> Training:
    """Trials in four cells, more telling than the claim allows."""
    labels = rng.random(400) < 0.5
    cells = np.where(
        labels,
        rng.choice(4, size=400, p=[0.4, 0.3, 0.1, 0.2]),
        rng.choice(4, size=400, p=[0.08, 0.1, 0.12, 0.7]),
    )
    return Training(cells.astype(float)[:, None], labels)


@pytest.mark.parametrize("seed", range(2))
def test_the_bet_is_chosen_before_the_trials_that_it_is_on(seed: int) -> None:
    """Exactly, over all outcomes of three trials at the edge of the claim: fair, never better.

    Cells are as telling as (1, 0) allows in every nested event, so that choosing the event by the
    trials themselves would earn.
    """
    claim = Claim.of((1, 0))
    question = Question(
        Coordinate(0), upwards=False, swapped=False, thresholds=np.array([0.0, -1.0, -2.0])
    )
    past = training(np.random.default_rng(seed))
    on_neighbour = np.array([0.1, 0.1, 0.1, 0.7])
    on_data = np.append(math.e * on_neighbour[:3], 1 - math.e * on_neighbour[:3].sum())
    expectation = 0.0
    for trials in itertools.product(range(4), (True, False), repeat=3):
        cells, labels = np.array(trials[0::2]), np.array(trials[1::2])
        chance = np.prod(0.5 * np.where(labels, on_data[cells], on_neighbour[cells]))
        counts = question.count(cells.astype(float)[:, None], labels)
        kept = question.counts(*counts, int(labels.sum()), int((~labels).sum()))
        expectation += float(chance) * math.exp(log_evidence(past, claim, question, (), [kept]))

    assert expectation == pytest.approx(1, abs=1e-9)
    assert expectation <= 1 + 1e-12
