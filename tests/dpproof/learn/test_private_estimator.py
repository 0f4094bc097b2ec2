"""Estimators that pay from a ledger."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import dpproof as dp
from dpproof.learn import LogisticRegression, PerceptronClassifier, tune
from dpproof.ledger.errors import AlreadySpent, LedgerError

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


def _estimator(kind: type, **more: object) -> Any:  # noqa: ANN401  # of either class
    return kind(epsilon=1, delta=1e-6, classes=[0, 1], **more)


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    """A ledger that pays for one fit of epsilon 1, and not for two."""
    return dp.Ledger.create(str(tmp_path / "ledger"), budget=dp.ApproxDP(epsilon=1.1, delta=4e-6))


@pytest.mark.parametrize("kind", [PerceptronClassifier, LogisticRegression])
def test_a_fit_is_paid_for_once(kind: type, ledger: dp.Ledger) -> None:
    """By path or by object; the same key pays for no second fit, of a clone neither."""
    model = _estimator(kind, ledger=ledger.place, ledger_key="fit")
    model.fit(X, Y)

    assert ledger.status().committed == ("fit",)
    fitted = copy.deepcopy(model.coef_)
    for again in (clone(model), clone(_estimator(kind, ledger=ledger, ledger_key="fit"))):
        with pytest.raises(AlreadySpent):
            again.fit(X, Y)
        assert not hasattr(again, "coef_")
    assert (model.coef_ == fitted).all()
    assert ledger.status().committed == ("fit",)


def test_what_the_ledger_does_not_pay_is_not_released(ledger: dp.Ledger, tmp_path: Path) -> None:
    """Over the budget, out of reach and without a key there is no model."""
    ledger.spend(dp.PureDP(epsilon=1), key="other")
    for more, error in (
        ({"ledger": ledger, "ledger_key": "fit"}, dp.BudgetExceeded),
        ({"ledger": str(tmp_path / "nothing"), "ledger_key": "fit"}, LedgerError),
        ({"ledger": ledger}, dp.ParameterError),
        ({"ledger_key": "fit"}, dp.ParameterError),
    ):
        model = _estimator(PerceptronClassifier, **more)
        with pytest.raises(error):
            model.fit(X, Y)
        assert not hasattr(model, "coef_")
    assert ledger.status().committed == ("other",)


def test_a_fit_that_fails_pays_nothing(ledger: dp.Ledger) -> None:
    """An error before anything was released gives the reservation back."""
    model = _estimator(PerceptronClassifier, ledger=ledger, ledger_key="fit")
    with pytest.raises(ValueError, match="shape"):
        model.fit(X, Y[:-1])

    assert ledger.status().budgets[0].remaining == 1


@pytest.mark.slow
def test_a_search_pays_once(ledger: dp.Ledger) -> None:
    """All trainings, scores and the choice are one spend of the estimator's ledger."""
    model = _estimator(PerceptronClassifier, steps=3, ledger=ledger, ledger_key="search")
    tune(model, {"margin": [0.1, 1.0]}).fit(X, Y)

    assert ledger.status().committed == ("search",)
