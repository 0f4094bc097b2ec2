"""Tests that stop a perceptron, and the choice among its states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpproof import auditing, proofs
from dpproof.accountant import GDP, AddRemove, BoundedRange, LInf, ReplaceOne, compose
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.mechanisms import (
    AboveThreshold,
    BatchPerceptron,
    ChooseIterate,
    GaussianStop,
    KeslerPerceptron,
    LaplaceStop,
    NormStop,
    Records,
    SparseVectorStop,
)
from tests.contracts.mechanism_contract import AUDIT_ALARM
from tests.contracts.weakened import assert_caught

TESTS = [
    LaplaceStop(scale=5, below=3),
    GaussianStop(sigma=5, below=3),
    NormStop(below=3),
    ChooseIterate(epsilon=0.1),
]
DATA = Records([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.6, -0.8]], [1, 1, -1, 1])


def perceptron(**changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
    """Four steps on all records."""
    return BatchPerceptron(
        **{"relation": AddRemove(), "margin": 0.1, "steps": 4, "sigma": 3, **changes}
    )


@pytest.mark.parametrize(
    ("stop", "sigma", "rate", "steps", "within"),
    [
        (GaussianStop(sigma=5 * 3.88833, below=0), 3.88833, 0.01, 10_000, 3e-6),
        (GaussianStop(sigma=5.39214, below=0), 5.39214, 0.01, 10_000, 3e-6),
        (GaussianStop(sigma=5 * 0.888452, below=0), 0.888452, 1 / 120, 120, 3e-6),
        (LaplaceStop(scale=5 * 0.886004, below=0), 0.886004, 1 / 120, 120, 1e-4),
    ],
)
def test_tests_cost_what_the_literature_says(
    stop: Any,  # noqa: ANN401
    sigma: float,
    rate: float,
    steps: int,
    within: float,
) -> None:
    """The noise multipliers that meet (1, 1e-5) with a test in every step."""
    learner = BatchPerceptron(
        margin=0.1, steps=steps, sigma=sigma, rate=rate, stop=stop, relation=AddRemove()
    )

    assert learner.guarantee().epsilon(delta=1e-5).upper == pytest.approx(1, abs=within)


def test_a_gaussian_test_of_all_records_is_gdp() -> None:
    """With all records mu^2 = T (1/sigma^2 + 1/sigma_c^2); under replace-one it can be free."""
    joint = perceptron(sigma=4, stop=GaussianStop(sigma=3, below=0)).guarantee()
    plain = perceptron(relation=ReplaceOne()).guarantee()
    free = perceptron(
        relation=ReplaceOne(), stop=GaussianStop(sigma=3 / math.sqrt(3) + 1e-9, below=0)
    ).guarantee()
    dear = perceptron(relation=ReplaceOne(), stop=GaussianStop(sigma=1.7, below=0)).guarantee()

    assert joint == GDP(mu_squared=4 * (GDP(mu=1 / 4).mu_squared + 1 / GDP(mu=3).mu_squared))
    assert free == plain
    assert dear.gdp().lower > plain.gdp().upper


def test_a_norm_test_is_free_and_a_choice_is_bounded_range() -> None:
    """One looks at the noisy sum alone, the other is composed once."""
    plain = perceptron().guarantee()
    chosen = perceptron(stop=ChooseIterate(epsilon=0.5)).guarantee()

    assert perceptron(stop=NormStop(below=3)).guarantee() == plain
    assert chosen == compose(plain, BoundedRange(epsilon=0.5))


def test_a_laplace_test_on_samples_under_replace_one_is_refused() -> None:
    """No theorem covers it; the Gaussian test has one."""
    with pytest.raises(NotImplied):
        perceptron(rate=0.5, relation=ReplaceOne(), stop=TESTS[0]).guarantee()
    gaussian = perceptron(rate=0.5, relation=ReplaceOne(), stop=TESTS[1])
    assert gaussian.guarantee().epsilon(delta=1e-5).upper < 100


@pytest.mark.parametrize("stop", TESTS, ids=lambda stop: type(stop).__name__)
@pytest.mark.parametrize("rate", [1, pytest.param(0.5, marks=pytest.mark.slow)])
def test_every_rule_keeps_its_promise(stop: Any, rate: float) -> None:  # noqa: ANN401
    """Runs on worst neighbours do not refute the guarantee; certificates are verified."""
    learner = perceptron(stop=stop, rate=rate, sigma=1, steps=2)
    claim = learner.guarantee()
    row = Records([[1.0, 0.0]], [1])
    report = auditing.audit(
        learner.sampler(), (row, row[:0]), claim, samples=2_000, significance=AUDIT_ALARM
    )

    assert report.outcome is not auditing.Outcome.VIOLATION, str(report)
    if rate == 1:
        assert isinstance(proofs.check(claim.certify(delta=1e-5)), proofs.VerifiedUnder)


@pytest.mark.parametrize("stop", [LaplaceStop(scale=1, below=2), GaussianStop(sigma=1, below=2)])
def test_an_uncounted_test_is_caught(stop: Any) -> None:  # noqa: ANN401
    """Priced without its test, a learner that stops is refuted by two records."""
    claim = perceptron(steps=1, sigma=9).guarantee()
    learner = perceptron(steps=1, sigma=9, stop=stop)
    rows = Records([[1.0, 0.0]] * 2, [1, -1])
    report = auditing.audit(
        learner.sampler(), (rows, rows[:0]), claim, samples=4_000, significance=AUDIT_ALARM
    )

    assert report.outcome is auditing.Outcome.VIOLATION


def test_where_a_run_stops() -> None:
    """With next to no noise: stop when no mistake is left, and return the state without one."""
    sharp = 2.0**-30
    for stop in (
        LaplaceStop(scale=sharp, below=0.5),
        GaussianStop(sigma=sharp, below=0.5),
        NormStop(below=0.5),
    ):
        released = perceptron(sigma=sharp, stop=stop, steps=9).release(DATA)

        assert released.stopped
        assert released.steps == 1
        assert released.weights == pytest.approx([3.2, 0], abs=1e-6)
    never = perceptron(sigma=sharp, stop=GaussianStop(sigma=sharp, below=-1)).release(DATA)
    assert not never.stopped
    assert never.steps == 4


def test_a_run_that_stopped_keeps_its_state() -> None:
    """Many runs at once, some stopped: each has as many steps and the state of its own test."""
    learner = perceptron(stop=GaussianStop(sigma=2, below=2), average=False, steps=3)
    runs = learner.release_many(DATA, 400)

    assert 0 < runs["stopped"].sum() < 400
    assert (runs["steps"][~runs["stopped"]] == 3).all()
    first = runs["weights"][runs["stopped"] & (runs["steps"] == 0)]
    assert len(first) > 0
    assert not first.any()


def test_the_choice_has_few_mistakes() -> None:
    """At a large epsilon the pick is a state without mistakes, though the last one has some."""
    learner = KeslerPerceptron(
        classes=2,
        margin=0,
        steps=20,
        sigma=2,
        stop=ChooseIterate(epsilon=500),
        relation=AddRemove(),
    )
    rows = np.eye(4)[:2]
    released = learner.release_many(Records(rows, [0, 1]), 50)
    right = [(rows @ w.T).argmax(axis=1).tolist() == [0, 1] for w in released["weights"]]

    assert np.mean(right) > 0.9
    assert len(set(released["steps"].tolist())) > 1
    assert released["steps"].max() <= 20


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (LaplaceStop, {"scale": 0, "below": 1}),
        (LaplaceStop, {"scale": 1, "below": math.nan}),
        (GaussianStop, {"sigma": -1, "below": 1}),
        (GaussianStop, {"sigma": 1, "below": None}),
        (NormStop, {"below": 0}),
        (ChooseIterate, {"epsilon": 0}),
    ],
)
def test_refusals(kind: Any, bad: dict[str, Any]) -> None:  # noqa: ANN401
    """Bad arguments are refused, and so is what is no rule."""
    with pytest.raises(ParameterError, match="must be"):
        kind(**bad)
    with pytest.raises(ParameterError, match="stop must be"):
        perceptron(stop="early", relation=AddRemove())


STOP = SparseVectorStop(threshold_scale=5, query_scale=10, below=2.5)


def sparse_vector_stop_perceptron(**changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
    """Four steps on all records."""
    return BatchPerceptron(
        **{"relation": AddRemove(), "margin": 0.1, "steps": 4, "sigma": 3, "stop": STOP, **changes}
    )


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()], ids=str)
def test_it_costs_one_above_threshold_whatever_the_steps(relation: Any) -> None:  # noqa: ANN401
    """Of counts that move in one direction under add-remove, in any under replace-one."""
    for steps in (4, 400):
        plain = sparse_vector_stop_perceptron(stop=None, steps=steps, relation=relation).guarantee()
        tests = AboveThreshold(
            threshold_scale=5,
            query_scale=10,
            monotone=relation == AddRemove(),
            sensitivity=LInf(1, relation),
        )
        found = sparse_vector_stop_perceptron(steps=steps, relation=relation).guarantee()

        assert found.epsilon(delta=1e-5) == compose(plain, tests.guarantee()).epsilon(delta=1e-5)


@pytest.mark.parametrize("rate", [1, pytest.param(0.5, marks=pytest.mark.slow)])
def test_it_keeps_its_promise(rate: float) -> None:
    """Runs on worst neighbours do not refute it; the certificate is verified."""
    stop = SparseVectorStop(threshold_scale=2, query_scale=4, below=0.5)
    learner = sparse_vector_stop_perceptron(
        stop=stop, rate=rate, sigma=1, steps=1 if rate == 1 else 2
    )
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
    claim = sparse_vector_stop_perceptron(steps=1, sigma=9, stop=None).guarantee()
    rows = Records([[1.0, 0.0]] * 2, [1, -1])

    assert_caught(
        sparse_vector_stop_perceptron(steps=1, sigma=9, stop=stop), claim, (rows, rows[:0])
    )


def test_where_runs_stop_is_the_law_of_above_threshold() -> None:
    """Where all records stay mistakes: the noisy constant is one for all steps of a run."""
    rows = Records(np.eye(2)[[0, 1, 0]], [1, 1, 1])
    stop = SparseVectorStop(threshold_scale=4, query_scale=1, below=3)
    learner = sparse_vector_stop_perceptron(margin=2, stop=stop)
    runs = learner.release_many(rows, 20_000)
    known = AboveThreshold(
        threshold_scale=4, query_scale=1, threshold=-3, monotone=True, sensitivity=LInf(1)
    )
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

    assert not sparse_vector_stop_perceptron(**few, stop=sharp).release(rows).stopped
    assert sparse_vector_stop_perceptron(**few, stop=sampled).release(rows).steps == 0
    without = sparse_vector_stop_perceptron(**few, stop=sharp).release(rows[:10])
    assert (without.stopped, without.steps) == (True, 0)
    kesler = KeslerPerceptron(
        classes=2, margin=0, steps=9, sigma=2.0**-30, stop=sharp, relation=AddRemove()
    )
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
def test_sparse_vector_stop_refusals(bad: dict[str, Any]) -> None:
    """Bad arguments are refused where they enter."""
    with pytest.raises(ParameterError, match="must be"):
        SparseVectorStop(**{"threshold_scale": 1, "query_scale": 1, "below": 1, **bad})
