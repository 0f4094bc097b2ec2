"""Private logistic regression as a scikit-learn classifier."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import GDP, NotImplied, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.learn import LogisticRegression, PredictableNoise, SecondRelease
from dpproof.mechanisms import LogisticObjective
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


def test_several_classes_cost_their_number_and_give_probabilities() -> None:
    """Three runs cost sqrt(3) mu; labels are what the user calls them."""
    names = np.array(["a", "b", "c"])
    labels = names[np.arange(3_000) % 3]
    rows = np.eye(3)[np.arange(3_000) % 3]
    model = LogisticRegression(sigma=4, classes=list(names)).fit(rows, labels)
    guarantee = model.guarantee_

    assert isinstance(guarantee, GDP)
    assert float(guarantee.mu_squared) == pytest.approx(3 / 16)
    assert (model.predict(rows) == labels).all()
    assert model.predict_proba(rows[:3]).shape == (3, 3)


def test_several_classes_meet_a_budget() -> None:
    """Floors of several runs add up, so their regulariser is the one without a floor."""
    model = LogisticRegression(epsilon=1, delta=1e-5, classes=range(10))
    base = model.learner().base  # type: ignore[attr-defined]

    assert 0.999 < model.guarantee().epsilon(delta=1e-5).upper <= 1
    assert base.regulariser == base.sigma


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
    """A budget or sigma, classes that are public, and a regulariser that is large enough."""
    for changes in ({"sigma": 1}, {"epsilon": None}, {"classes": None}, {"classes": [1, 1]}):
        with pytest.raises(ParameterError):
            LogisticRegression(**{**BUDGET, **changes}).guarantee()
    model = LogisticRegression(sigma=3, regulariser=1, classes=[0, 1], relation=ReplaceOne())
    with pytest.raises(NotImplied):
        model.fit(X, Y)
    doubled = LogisticRegression(sigma=3, classes=[0, 1], relation=ReplaceOne()).guarantee()
    assert doubled.gdp().upper == pytest.approx(2 / 3)
