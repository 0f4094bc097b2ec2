"""What private linear classifiers share."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from dpproof.learn import (
    LogisticRegression,
    MarginClassifier,
    PerceptronClassifier,
    RefitRefused,
)

datasets = pytest.importorskip("sklearn.datasets")
searches = pytest.importorskip("sklearn.model_selection")
MODELS: dict[str, Any] = {
    "perceptron": PerceptronClassifier,
    "logistic": LogisticRegression,
    "margin": MarginClassifier,
}
PUBLIC = "classes are an argument, as labels found in the data would be released"
HARMLESS = "a record that is not finite contributes nothing, as an error would tell it"
EXCUSED = {
    "check_estimators_empty_data_messages": "the number of records is private, none included",
    "check_estimators_nan_inf": HARMLESS,
    "check_supervised_y_no_nan": HARMLESS,
    "check_classifiers_classes": PUBLIC,
    "check_classifiers_train": PUBLIC,
    "check_classifiers_regression_target": PUBLIC,
}
LOGISTIC = {
    "check_classifiers_one_label": "without an offset no halfspace holds all rows",
    "check_decision_proba_consistency": PUBLIC,
}


@pytest.mark.parametrize("name", MODELS)
def test_scikit_learns_own_checks(name: str) -> None:
    """They pass, but for those that contradict privacy, each with the reason."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    changes = {"steps": 4} if name == "margin" else {}
    model = MODELS[name](sigma=1e-3, classes=[0, 1, 2], **changes)
    excused = EXCUSED | (LOGISTIC if name == "logistic" else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(model, expected_failed_checks=excused, on_fail=None)
    failed = [one["check_name"] for one in results if one["status"] == "failed"]

    assert failed == []
    assert len(results) > 40
    unused = set(excused) - {one["check_name"] for one in results if one["status"] == "xfail"}
    assert unused <= set(LOGISTIC)  # these depend on the noise


@pytest.mark.parametrize("name", MODELS)
def test_searches_are_refused(name: str) -> None:
    """Cross-validation would fit again and again for nothing; the refusal says what to do."""
    model = MODELS[name](sigma=9, classes=[0, 1])
    rows, labels = datasets.load_breast_cancer(return_X_y=True)
    with pytest.raises(RefitRefused, match="tune"):
        searches.cross_val_score(model, rows, labels, error_score="raise")
