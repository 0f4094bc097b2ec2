"""Margin learners as scikit-learn classifiers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import AddRemove, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.learn import MarginClassifier, PerceptronClassifier, TunedClassifier, tune
from dpproof.mechanisms import (
    FourierFeatures,
    MarginDescent,
    PhasedHinge,
    RademacherProjection,
    Records,
)
from dpproof.mechanisms.learning.bounded_updates import learned
from dpproof.mechanisms.learning.descent import MarginDescent as Descent

datasets = pytest.importorskip("sklearn.datasets")
X, Y = datasets.load_digits(return_X_y=True)
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
PLAN = RademacherProjection(features=64, dimension=30, seed=1, norm=80)
WAVES = FourierFeatures(features=64, frequencies=50, width=40, seed=1, norm=80)


def even(**changes: Any) -> MarginClassifier:  # noqa: ANN401  # whatever it takes
    """The classifier of even digits."""
    return MarginClassifier(
        **{"relation": ReplaceOne(), **BUDGET, "classes": [False, True], "steps": 20, **changes}
    )


@pytest.mark.parametrize("solver", ["descent", "phased"])
def test_even_digits_end_to_end(solver: str) -> None:
    """Priced before the fit, better than guessing after it, and certified."""
    model = even(solver=solver, epsilon=40, margin=0.05, fit_intercept=True)
    before = model.guarantee()
    model.fit(X, Y % 2 == 0)

    assert 39.9 < before.epsilon(delta=1e-5).lower <= before.epsilon(delta=1e-5).upper <= 40
    assert model.guarantee_ == before
    assert model.score(X, Y % 2 == 0) > 0.7
    assert isinstance(proofs.check(model.certificate()), proofs.VerifiedUnder)


@pytest.mark.parametrize("relation", [None, ReplaceOne()])
def test_sigma_is_that_of_the_sums(relation: Any) -> None:  # noqa: ANN401
    """Twenty sums with noise 40: mu is the sensitivity sqrt(20) / 40, twice if records change."""
    model = even(epsilon=None, delta=None, sigma=40, norm=3, relation=relation, records=2_000)
    learner, sides = model.learner(), 1 if relation is None else 2

    assert isinstance(learner, MarginDescent)
    assert float(learner.mu) == pytest.approx(sides * 3 * 20**0.5 / 40)
    assert float(learner.sigma) == pytest.approx(40)
    assert learner.relation == (relation or AddRemove())


@pytest.mark.parametrize("plan", [PLAN, WAVES], ids=["linear", "waves"])
def test_maps_go_with_the_model(plan: Any) -> None:  # noqa: ANN401
    """Weights after a projection are for the rows; else predictions map their rows first."""
    model = even(epsilon=50, map=plan).fit(X, Y % 2 == 0)
    kept = plan is WAVES

    assert (model.map_ is plan) == kept
    assert model.coef_.shape == (1, 100 if kept else 64)
    assert model.n_features_in_ == 64
    assert model.score(X, Y % 2 == 0) > 0.7


def test_what_is_kept_is_a_function_of_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the release is the same, other data leaves the same pickle, byte for byte."""
    output = learned(np.array([False]), np.array([20]), np.ones((1, 64)))[np.newaxis]
    monkeypatch.setattr(Descent, "draw", lambda *_: output)
    one = even().fit(X, Y % 2 == 0)
    other = even().fit(X[5:300] / 3 - 1, Y[5:300] > 4)

    assert pickle.dumps(one) == pickle.dumps(other)


def test_a_record_reaches_the_learner_as_itself() -> None:
    """Scaled rows depend on their own row alone, and a row that is not finite stays out."""
    model, rows = even(fit_intercept=True), X[:50].copy()
    rows[3, 4] = np.inf
    read = model.labelled(rows, Y[:50] % 2 == 0).rows

    assert np.isnan(read[3]).all()
    assert np.linalg.norm(np.delete(read, 3, axis=0), axis=1) == pytest.approx(1)
    for place in range(5, 50):
        alone = model.labelled(rows[place : place + 1], Y[place : place + 1] % 2 == 0).rows
        assert (alone[0] == read[place]).all()


@pytest.mark.slow
def test_tuning_the_margin_stays_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole search is priced, and its count is that of the weights on unmapped rows."""
    search = tune(
        even(epsilon=200, map=PLAN), {"margin": [1.0, 50.0]}, probability=0.3, expected_runs=5
    )
    planned = search.plan()
    monkeypatch.setattr(TunedClassifier, "plan", lambda _: planned)
    search.fit(X, Y % 2 == 0)
    wrong = int((search.predict(X) != (Y % 2 == 0)).sum())

    assert search.guarantee_.epsilon(delta=1e-5).upper <= 200
    assert search.best_estimator_.map_ is None
    assert search.best_mistakes_ == pytest.approx(wrong, abs=60)
    with pytest.raises(ParameterError, match="over margin"):
        tune(even(), {"average": [True, False]})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"solver": "newton"}, "solver must be"),
        ({"sigma": 3}, "a budget or the noise must be given, and not both"),
        ({"classes": None}, "classes must be"),
        ({"classes": [0, 1, 2]}, "in one chain"),
        ({"relation": AddRemove()}, "records must be"),
        ({"solver": "phased", "relation": AddRemove()}, "relation must be"),
        ({"map": PLAN, "fit_intercept": True}, "fit_intercept must be"),
        ({"map": "waves"}, "map must be"),
        ({"norm": 0}, "norm must be"),
        ({"steps": 0}, "steps must be"),
        ({"records": 0}, "records must be"),
        ({"records": 1.5, "solver": "phased"}, "records must be"),
    ],
)
def test_refusals(changes: dict[str, Any], text: str) -> None:
    """Every argument is checked before there is data, and the error says what is allowed."""
    with pytest.raises(ParameterError, match=text):
        even(**changes).guarantee()


def test_phases_and_perceptrons_keep_their_own_learners() -> None:
    """The solver decides the mechanism; other estimators are as they were."""
    assert isinstance(even(solver="phased").learner(), PhasedHinge)
    model = PerceptronClassifier(sigma=9, classes=[0, 1], fit_intercept=True, norm=2)
    assert isinstance(model.labelled([[1.0], [0.0]], [0, 1]), Records)
    assert model.labelled([[1.0], [0.0]], [0, 1]).rows.tolist() == [[1.0, 0.25], [0.0, 0.0]]
