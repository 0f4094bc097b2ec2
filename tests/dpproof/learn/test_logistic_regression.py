"""Private logistic regression as a scikit-learn classifier."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import GDP, NotImplied, Relation, ReplaceLabel, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.learn import (
    LogisticRegression,
    PredictableNoise,
    PrivateScaler,
    SecondRelease,
    pipeline_guarantee,
    private_pipeline,
)
from dpproof.mechanisms import LogisticObjective, MonomialFeatures
from dpproof.mechanisms.learning.bounded_updates import learned

datasets = pytest.importorskip("sklearn.datasets")
base = pytest.importorskip("sklearn.base")
X, Y = datasets.load_breast_cancer(return_X_y=True)
# Divided by public bounds, not by what the data say.
X = X / np.array([30, 40, 200, 2000, 0.2, 0.4, 0.5, 0.2, 0.4, 0.1] * 3)
BUDGET: dict[str, Any] = {"epsilon": 4, "delta": 1e-5, "classes": [0, 1]}


def test_breast_cancer_end_to_end() -> None:
    """Priced before the fit, accurate after it, certified, and with probabilities."""
    model = LogisticRegression(**BUDGET)
    before = model.guarantee()
    rows = np.column_stack([X, np.full(len(X), 2.0)])
    model.fit(rows, Y)
    shares = model.predict_proba(rows)

    assert 3.99 < before.epsilon(delta=1e-5).lower <= before.epsilon(delta=1e-5).upper <= 4
    assert model.guarantee_ == before
    assert model.score(rows, Y) > 0.75
    assert isinstance(proofs.check(model.certificate()), proofs.VerifiedUnder)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert ((shares[:, 1] > 0.5) == (model.predict(rows) == 1)).all()


def test_what_is_kept_is_a_function_of_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the release is the same, other data leaves the same pickle, byte for byte."""
    output = learned(np.array([False]), np.array([1]), np.ones((1, 30)))[np.newaxis]
    monkeypatch.setattr(LogisticObjective, "draw", lambda *_: output)
    one = LogisticRegression(**BUDGET).fit(X, Y)
    other = LogisticRegression(**BUDGET).fit(X[5:300] / 3 - 1, 1 - Y[5:300])

    assert pickle.dumps(one) == pickle.dumps(other)


def test_several_classes_cost_one_chain_and_give_probabilities() -> None:
    """Ten steps cost sqrt(20) / sigma; probabilities and scores order classes alike."""
    names = np.array(["a", "b", "c"])
    labels = names[np.arange(3_000) % 3]
    rows = np.eye(3)[np.arange(3_000) % 3]
    model = LogisticRegression(sigma=4, steps=10, classes=list(names)).fit(rows, labels)
    guarantee = model.guarantee_
    mixed = np.random.default_rng(1).normal(size=(50, 3))
    order = model.decision_function(mixed).argsort(axis=1)

    assert isinstance(guarantee, GDP)
    assert float(guarantee.mu_squared) == pytest.approx(20 / 16)
    assert (model.predict(rows) == labels).all()
    assert model.predict_proba(mixed).sum(axis=1) == pytest.approx(1)
    assert (model.predict_proba(mixed).argsort(axis=1) == order).all()
    assert (model.n_iter_, model.stopped_) == (10, False)


def test_digits_in_one_chain() -> None:
    """Within the budget, certified, and nearly as good as in a loop of one's own."""
    rows, labels = datasets.load_digits(return_X_y=True)
    model = LogisticRegression(epsilon=1, delta=1e-5, classes=range(10)).fit(rows, labels)

    assert 0.999 < model.guarantee_.epsilon(delta=1e-5).upper <= 1
    assert model.score(rows, labels) > 0.75
    assert isinstance(proofs.check(model.certificate()), proofs.VerifiedUnder)


@pytest.mark.parametrize(("norm", "classes"), [(None, 2), (3, 2), (None, 3), (3, 3)])
def test_an_offset_is_learned(norm: int | None, classes: int) -> None:
    """Of rows on one side of 0; predictions scale rows with the constant as the fit did."""
    rng = np.random.default_rng(3)
    rows = rng.uniform(0.1, 0.9, size=(4_000, 1))
    labels = (rows[:, 0] > 0.5).astype(int)
    model = LogisticRegression(
        sigma=3, classes=range(classes), norm=norm, fit_intercept=True, intercept_scaling=0.5
    ).fit(rows, labels)
    scale = np.hypot(rows, 0.5) if norm is None else 1.0
    scores = (rows @ model.coef_.T + model.intercept_) / scale

    assert model.score(rows, labels) > 0.9
    assert model.coef_.shape == (1 if classes == 2 else 3, 1)
    found = model.decision_function(rows)
    assert found == pytest.approx(scores[:, 0] if classes == 2 else scores)
    assert model.guarantee_ == base.clone(model).set_params(fit_intercept=False).guarantee()


def test_features_of_a_map_are_learned() -> None:
    """Products of two features tell apart what lines cannot, and cost nothing."""
    rng = np.random.default_rng(4)
    rows = rng.uniform(-1, 1, size=(3_000, 2))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    plan = MonomialFeatures(features=2, degree=2)
    for classes in (2, 3):
        model = LogisticRegression(sigma=0.01, classes=range(classes), map=plan)
        model.fit(rows, labels)

        assert model.score(rows, labels) > 0.9
        assert plan.description in model.guarantee_.derivation.explain()


def test_unknown_labels_contribute_nothing_and_refits_warn() -> None:
    """A label that is not among the classes changes no bit; a second fit is a second release."""
    labels: list[Any] = [*Y.tolist(), "x"]
    with pytest.warns(PredictableNoise):
        one = LogisticRegression(**BUDGET, random_state=1).fit(X, Y.tolist())
    with pytest.warns(PredictableNoise):
        other = LogisticRegression(**BUDGET, random_state=1).fit(np.vstack([X, X[:1]]), labels)

    assert (one.coef_ == other.coef_).all()
    with pytest.warns(SecondRelease):
        base.clone(one).set_params(random_state=None).fit(X, Y).fit(X, Y)


def test_refuses_what_has_no_price() -> None:
    """A budget or sigma, public classes, a large enough regulariser, and steps and radii."""
    for changes in (
        *({"sigma": 1}, {"epsilon": None}, {"classes": None}, {"classes": [1, 1]}),
        *({"steps": 0}, {"radius": 0}, {"fit_intercept": 1}, {"intercept_scaling": 0}),
    ):
        with pytest.raises(ParameterError):
            LogisticRegression(**{**BUDGET, **changes}).guarantee()
    model = LogisticRegression(sigma=3, regulariser=1, classes=[0, 1], relation=ReplaceOne())
    with pytest.raises(NotImplied):
        model.fit(X, Y)
    doubled = LogisticRegression(sigma=3, classes=[0, 1], relation=ReplaceOne()).guarantee()
    assert doubled.gdp().upper == pytest.approx(2 / 3)


@pytest.mark.parametrize("relation", [ReplaceOne(), ReplaceLabel()])
def test_budgets_where_records_are_replaced(relation: Relation) -> None:
    """Any regulariser at or above the free one has the free one's noise; one below is refused.

    The refusal names the least regulariser for the budget.
    """
    given: dict[str, Any] = {**BUDGET, "epsilon": 1, "relation": relation}
    free: Any = LogisticRegression(**given).learner()
    for factor in (1, 1.01, 1.5, 10):
        learner: Any = LogisticRegression(**given, regulariser=free.regulariser * factor).learner()
        assert learner.sigma == free.sigma
        assert learner.guarantee().epsilon(delta=1e-5).upper <= 1
    steps = (PrivateScaler(relation=relation), LogisticRegression(classes=[0, 1], regulariser=9))
    steps[1].set_params(relation=relation)
    whole = private_pipeline(*steps, epsilon=1, delta=1e-5)
    assert 0.999 < pipeline_guarantee(whole).epsilon(delta=1e-5).upper <= 1
    for low in (1e-3, 0.1, 0.99 * free.regulariser):
        with pytest.raises(NotImplied, match=r"at least ([\d.]+), got") as refused:
            LogisticRegression(**given, regulariser=low).fit(X, Y)
        named = float(str(refused.value).split("at least ")[1].split(",")[0])
        assert named == pytest.approx(float(free.regulariser), rel=1e-4)
