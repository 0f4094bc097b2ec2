"""Tests of all records by the sparse vector technique."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof import auditing, proofs
from dpproof.accountant import AddRemove, ReplaceOne, compose
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    AboveThreshold,
    BatchPerceptron,
    GaussianStop,
    KeslerPerceptron,
    Records,
    SparseVectorStop,
)
from tests.contracts.mechanism_contract import AUDIT_ALARM
from tests.contracts.weakened import assert_caught

STOP = SparseVectorStop(threshold_scale=5, query_scale=10, below=2.5)


def perceptron(**changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
    """Four steps on all records."""
    return BatchPerceptron(**{"margin": 0.1, "steps": 4, "sigma": 3, "stop": STOP, **changes})


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()], ids=str)
def test_it_costs_one_above_threshold_whatever_the_steps(relation: Any) -> None:  # noqa: ANN401
    """Of counts that move in one direction under add-remove, in any under replace-one."""
    for steps in (4, 400):
        plain = perceptron(stop=None, steps=steps, relation=relation).guarantee()
        tests = AboveThreshold(
            threshold_scale=5, query_scale=10, monotone=relation == AddRemove(), relation=relation
        )
        found = perceptron(steps=steps, relation=relation).guarantee()

        assert found.epsilon(delta=1e-5) == compose(plain, tests.guarantee()).epsilon(delta=1e-5)


@pytest.mark.parametrize("rate", [1, pytest.param(0.5, marks=pytest.mark.slow)])
def test_it_keeps_its_promise(rate: float) -> None:
    """Runs on worst neighbours do not refute it; the certificate is verified."""
    stop = SparseVectorStop(threshold_scale=2, query_scale=4, below=0.5)
    learner = perceptron(stop=stop, rate=rate, sigma=1, steps=1 if rate == 1 else 2)
    row = Records([[1.0, 0.0]], [1])
    claim = learner.guarantee()
    report = auditing.audit(
        learner.sampler(), (row, row[:0]), claim, samples=2_000, significance=AUDIT_ALARM
    )

    assert report.outcome is not auditing.Outcome.VIOLATION, str(report)
    if rate == 1:
        assert isinstance(proofs.check(claim.certify(delta=1e-5)), proofs.VerifiedUnder)


def test_uncounted_tests_are_caught() -> None:
    """Priced without its tests, a learner that stops is refuted by one record."""
    stop = SparseVectorStop(threshold_scale=0.5, query_scale=0.5, below=0.5)
    claim = perceptron(steps=1, sigma=9, stop=None).guarantee()
    rows = Records([[1.0, 0.0]] * 2, [1, -1])

    assert_caught(perceptron(steps=1, sigma=9, stop=stop), claim, (rows, rows[:0]))


def test_where_runs_stop_is_the_law_of_above_threshold() -> None:
    """Where all records stay mistakes: the noisy constant is one for all steps of a run."""
    rows = Records(np.eye(2)[[0, 1, 0]], [1, 1, 1])
    stop = SparseVectorStop(threshold_scale=4, query_scale=1, below=3)
    learner = perceptron(margin=2, stop=stop)
    runs = learner.release_many(rows, 20_000)
    known = AboveThreshold(threshold_scale=4, query_scale=1, threshold=-3, monotone=True)
    places = known.release_many([-3, -3, -3, -3], 20_000)
    seen = np.where(runs["stopped"], runs["steps"], -1)
    laws = [np.bincount(found + 1, minlength=5) / 20_000 for found in (seen, places)]

    assert laws[0] == pytest.approx(laws[1], abs=0.03)
    # A constant drawn anew in every step would go on four times in one run of sixteen.
    assert laws[0][0] > 0.2


def test_it_counts_all_records_also_beside_a_sample() -> None:
    """Of a sample that is nearly always empty a count would stop at once; this one does not."""
    rows = Records([[1.0, 0.0]] * 50, [1] * 50)
    few: dict[str, Any] = {"rate": 1e-6, "margin": 2}
    sharp = SparseVectorStop(threshold_scale=0.25, query_scale=0.25, below=30)
    sampled = GaussianStop(sigma=2.0**-20, below=30)

    assert not perceptron(**few, stop=sharp).release(rows).stopped
    assert perceptron(**few, stop=sampled).release(rows).steps == 0
    without = perceptron(**few, stop=sharp).release(rows[:10])
    assert (without.stopped, without.steps) == (True, 0)
    kesler = KeslerPerceptron(classes=2, margin=0, steps=9, sigma=2.0**-30, stop=sharp)
    released = kesler.release(Records([[1.0, 0.0]] * 50, [1] * 50))
    assert (released.stopped, released.steps) == (True, 1)


@pytest.mark.parametrize(
    "bad",
    [
        {"threshold_scale": 0},
        {"query_scale": -1},
        {"query_scale": None},
        {"below": float("nan")},
        {"below": 2**53 + 1},
    ],
)
def test_refusals(bad: dict[str, Any]) -> None:
    """Bad arguments are refused where they enter."""
    with pytest.raises(ParameterError, match="must be"):
        SparseVectorStop(**{"threshold_scale": 1, "query_scale": 1, "below": 1, **bad})
