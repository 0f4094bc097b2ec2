"""Columns chosen by their noisy covariances with the classes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpproof import auditing, proofs
from dpproof.accountant import AddRemove, ReplaceOne, ZeroOut, compose
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Outcome
from dpproof.learn import (
    PerceptronClassifier,
    PrivateScaler,
    SelectKBest,
    UnpaidTransformer,
    pipeline_guarantee,
    private_pipeline,
)
from dpproof.learn.transformers import _Covariances
from dpproof.mechanisms import Chained, SystemRng
from dpproof.mechanisms.samplers.rng import as_rng

base = pytest.importorskip("sklearn.base")
datasets = pytest.importorskip("sklearn.datasets")
pipelines = pytest.importorskip("sklearn.pipeline")
BUDGET: dict[str, Any] = {"epsilon": 2, "delta": 1e-5}


def scores(model: SelectKBest, rows: Any, labels: Any, counts: Any) -> Any:  # noqa: ANN401
    """The scores of the columns for these counts of the classes."""
    picks: Any = SimpleNamespace(draw=lambda found, _count, _rng: np.array(found)[:, np.newaxis])
    then = _Covariances(picks, float(model.bound))
    return then.draw(model._rows(rows, labels), np.array([counts]), SystemRng())[0]


@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_covariances(*, sparse: bool) -> None:
    """For the exact shares of the classes, n times numpy's largest covariance with a class."""
    rng = np.random.default_rng(1)
    rows = rng.integers(-8, 9, size=(64, 5)) / 4
    labels = np.array([0] * 16 + [1] * 16 + [2] * 32)
    model = SelectKBest(1, **BUDGET, classes=range(3), bound=2)
    found = scores(model, csr_array(rows) if sparse else rows, labels, [16.0, 16.0, 32.0])
    members = (labels == np.arange(3)[:, np.newaxis]).astype(float)
    expected = [
        max(abs(np.cov(rows[:, j], one, bias=True)[0, 1]) * 64 / 2 for one in members)
        for j in range(5)
    ]

    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("counts", [[3.0, 5.0, 0.5], [-1.0, -2.0, -3.0], [0.0, 0.0, 99.0]])
def test_no_record_moves_a_score_by_more_than_the_bound(counts: list[float]) -> None:
    """Every record removed, and replaced by every other: exact differences, and some attain 1."""
    rng = np.random.default_rng(2)
    rows = rng.choice([-1e308, -3, -0.3, 0, 0.1, 1, 7], size=(24, 3))
    labels = rng.integers(-1, 4, size=24)
    rows[3, 1], rows[4, 0] = np.nan, np.inf
    model = SelectKBest(1, **BUDGET, classes=range(3))
    whole = scores(model, rows, labels, counts)
    moved, replaced = 0.0, 0.0
    for gone in range(24):
        left = np.arange(24) != gone
        moved = max(moved, np.abs(whole - scores(model, rows[left], labels[left], counts)).max())
        for other in range(24):
            changed, named = rows.copy(), labels.copy()
            changed[gone], named[gone] = -rows[other], labels[other]
            replaced = max(replaced, np.abs(whole - scores(model, changed, named, counts)).max())

    assert 0.9 < moved <= 1
    assert 1 < replaced <= 2


@pytest.mark.parametrize("relation", [AddRemove(), ZeroOut(), ReplaceOne()], ids=str)
def test_counts_of_classes_move_as_they_are_priced(relation: Any) -> None:  # noqa: ANN401
    """A record that is left out, zeroed out or replaced: the exact counts, and the noise's norm."""
    rows, labels = np.ones((6, 2)), np.array([0, 1, 0, 1, 1, 0])
    model = SelectKBest(1, **BUDGET, classes=[0, 1], relation=relation)
    learner: Any = model.learner()
    whole, worst = learner.first.query(model._rows(rows, labels)), 0.0
    for place in range(6):
        other, named = rows.copy(), labels.copy()
        if relation == ReplaceOne():
            named[place] = 1 - named[place]
        else:
            other[place] = 0
        moved = learner.first.query(model._rows(other, named)) - whole
        worst = max(worst, float(np.linalg.norm(moved)))

    assert worst == pytest.approx(float(learner.first.sensitivity.value), rel=1e-9)


def test_the_best_columns_are_found_and_paid_for() -> None:
    """Classes of unequal size, columns that are large and useless: the two useful ones are kept."""
    rng = np.random.default_rng(3)
    labels = (rng.random(4_000) < 0.2).astype(int)
    rows = rng.normal(size=(4_000, 30)) / 4
    rows[:, :10] = 1
    rows[:, [17, 23]] += labels[:, np.newaxis] / 2
    model = SelectKBest(2, **BUDGET, classes=[0, 1]).fit(rows, labels)
    price = model.guarantee_.epsilon(delta=1e-5)
    learner = model.learner()
    assert isinstance(learner, Chained)
    parts = compose(learner.first.guarantee(), learner.then.guarantee())

    assert sorted(model.columns_) == [17, 23]
    assert model.transform(rows).shape == (4_000, 2)
    assert 1.999 < price.lower <= price.upper <= 2
    assert parts.epsilon(delta=1e-5) == price
    assert isinstance(proofs.check(model.certificate()), proofs.VerifiedUnder)


@pytest.mark.slow
@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()], ids=str)
def test_a_pipeline_pays_for_its_columns(relation: Any) -> None:  # noqa: ANN401
    """Beside a scaler and a classifier, all within one budget, without a warning."""
    rows, labels = datasets.load_digits(return_X_y=True)
    steps = (
        SelectKBest(40, classes=range(10), bound=16, relation=relation),
        PrivateScaler(relation=relation),
        PerceptronClassifier(classes=range(10), relation=relation),
    )
    model = private_pipeline(*steps, epsilon=4, delta=1e-5).fit(rows[:1500], labels[:1500])

    assert 3.99 < pipeline_guarantee(model).epsilon(delta=1e-5).upper <= 4
    assert model.score(rows[1500:], labels[1500:]) > 0.5


def test_scikit_learns_choice_is_named() -> None:
    """The choice by exact scores looks at the rows, and a private estimator behind it says so."""
    selection = pytest.importorskip("sklearn.feature_selection")
    rows, labels = datasets.load_iris(return_X_y=True)
    careless = selection.SelectKBest(k=2)
    model = pipelines.make_pipeline(careless, PerceptronClassifier(sigma=4, classes=range(3)))
    with pytest.warns(UnpaidTransformer, match="SelectKBest"):
        model.fit(rows, labels)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 5}, "at most the number of columns, 4"),
        ({"bound": 0}, "bound must be"),
        ({"classes": None}, "the sequence of all labels"),
        ({"classes": [1, 1]}, "at least two different labels"),
        ({"sigma": 2}, "a budget or the noise"),
    ],
)
def test_refusals(changes: dict[str, Any], text: str) -> None:
    """Every argument is checked where it enters."""
    rows, labels = datasets.load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match=text):
        SelectKBest(**{"k": 2, **BUDGET, "classes": range(3), **changes}).fit(rows, labels)


@pytest.mark.slow
def test_audits_see_no_more_than_is_claimed() -> None:
    """One record more: the claim stands, and that of 64 times the noise falls; alarm 1e-9."""
    model = SelectKBest(1, sigma=0.5, classes=[0, 1])
    rows, labels = np.array([[1.0, -1.0], [0.5, 0.5], [1.0, -1.0]]), np.array([0, 1, 0])
    pair = (model._rows(rows, labels), model._rows(rows[:2], labels[:2]))
    learner = model.learner()

    def sampler(data: object, size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
        drawn = learner.draw([data], size, as_rng(rng))[0]
        return np.array([[*counts, *columns] for counts, columns in drawn], dtype=float)

    claims = [base.clone(model).set_params(sigma=sigma).guarantee() for sigma in (0.5, 64)]
    found = [
        auditing.audit(sampler, pair, claim, samples=4_000, significance=1e-9, seed=1).outcome
        for claim in claims
    ]

    assert found[0] is not Outcome.VIOLATION
    assert found[1] is Outcome.VIOLATION
