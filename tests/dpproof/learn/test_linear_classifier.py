"""What private linear classifiers share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant import ReplaceLabel
from dpproof.accountant.errors import ParameterError
from dpproof.learn import (
    CoverClassifier,
    LinearRegression,
    LogisticRegression,
    MarginClassifier,
    PerceptronClassifier,
    RefitRefused,
    TunedClassifier,
    tune,
)
from dpproof.mechanisms import RandomDirections
from dpproof.mechanisms.learning.covers import Cover
from tests.dpproof.learn.every_estimator import CHOICES, LINEAR

datasets = pytest.importorskip("sklearn.datasets")
calibration = pytest.importorskip("sklearn.calibration")
ensemble = pytest.importorskip("sklearn.ensemble")
linear_model = pytest.importorskip("sklearn.linear_model")
pytest.importorskip("sklearn.experimental.enable_iterative_imputer")
impute = pytest.importorskip("sklearn.impute")
multiclass = pytest.importorskip("sklearn.multiclass")
pipelines = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")
base = pytest.importorskip("sklearn.base")
searches = pytest.importorskip("sklearn.model_selection")
PUBLIC = "classes are an argument, as labels found in the data would be released"
HARMLESS = "a record that is not finite contributes nothing, as an error would tell it"
EXCUSED = {
    "check_estimators_empty_data_messages": "the number of records is private, none included",
    "check_estimators_nan_inf": HARMLESS,
    "check_supervised_y_no_nan": HARMLESS,
    "check_classifiers_classes": PUBLIC,
    "check_classifiers_train": PUBLIC,
    "check_classifiers_regression_target": PUBLIC,
    "check_dtype_object": "a cell that is no number contributes nothing, as an error would tell it",
}
WEIGHTS = {
    "check_all_zero_sample_weights_error": "weights are private, and an error would tell them",
    "check_sample_weight_equivalence_on_dense_data": "a weight of 2 is cut to max_weight",
    "check_sample_weight_equivalence_on_sparse_data": "a weight of 2 is cut to max_weight",
}
COLUMNS = "probabilities have a column for each public class, whatever the labels are"
LOGISTIC = {
    "check_classifiers_one_label": "without an offset no halfspace holds all rows",
    "check_decision_proba_consistency": PUBLIC,
    "check_estimator_sparse_array": COLUMNS,
    "check_estimator_sparse_matrix": COLUMNS,
}
ASKING = {"check_classifier_data_not_an_array": "the test asks the rows for their shape"}


@pytest.mark.parametrize("offset", [{}, {"fit_intercept": True}], ids=["plain", "two classes"])
@pytest.mark.parametrize("name", LINEAR)
def test_scikit_learns_own_checks(name: str, offset: dict[str, Any]) -> None:
    """They pass, but for those that contradict privacy, each with the reason."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    changes: dict[str, Any] = {"steps": 4, "records": 1_000} if name == "margin" else {}
    changes["classes"] = [0, 1] if offset or name == "margin" else [0, 1, 2]
    model = LINEAR[name](sigma=1e-3, **offset, **changes)
    excused = EXCUSED | WEIGHTS | (LOGISTIC if name == "logistic" else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(model, expected_failed_checks=excused, on_fail=None)
    failed = [one["check_name"] for one in results if one["status"] == "failed"]

    assert failed == []
    assert len(results) > 40
    unused = set(excused) - {one["check_name"] for one in results if one["status"] == "xfail"}
    assert unused <= set(LOGISTIC)  # these depend on the noise


class AsWide(Cover):
    """Directions of whatever width the last rows had: the checks fit rows of many widths."""

    __slots__ = ()
    width = 2
    size, paired, description = 400, False, "directions of the width of the rows"

    @property
    def dimension(self) -> int:
        """The width."""
        return self.width

    def _rows(self, start: int, stop: int) -> NDArray[np.float64]:
        return RandomDirections(size=400, dimension=self.width, seed=1)._rows(start, stop)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES)
def test_scikit_learns_own_checks_of_choices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What chooses among candidates passes them, but for those that contradict privacy."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    fit = CoverClassifier.fit

    def fitted(model: CoverClassifier, X: Any, y: Any) -> Any:  # noqa: ANN401, N803
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
        AsWide.width = max(shape[1], 1) if len(shape) == 2 else AsWide.width
        return fit(model, X, y)

    monkeypatch.setattr(CoverClassifier, "fit", fitted)
    noiseless: dict[str, Any] = {"epsilon": 10**4, "delta": 1e-5, "random_state": 1}
    cover: dict[str, Any] = {"cover": AsWide(), "random_state": 1}  # ties are drawn
    model: Any = CoverClassifier(epsilon=1_000, classes=[0, 1], **cover)
    excused = EXCUSED | ASKING
    if name == "tuned":
        base = PerceptronClassifier(classes=[0, 1, 2], steps=4, **noiseless)
        model, excused = tune(base, {"margin": [0.1, 0.2]}, probability=0.5), EXCUSED | WEIGHTS
        plan = model.plan()  # of every clone
        monkeypatch.setattr(TunedClassifier, "plan", lambda _: plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(model, expected_failed_checks=excused, on_fail=None)
    failed = [one["check_name"] for one in results if one["status"] == "failed"]

    assert failed == []
    assert len(results) > 40
    assert set(excused) == {one["check_name"] for one in results if one["status"] == "xfail"}


@pytest.mark.parametrize("name", LINEAR)
def test_searches_are_refused(name: str) -> None:
    """Cross-validation would fit again and again for nothing; the refusal says what to do."""
    model = LINEAR[name](sigma=9, classes=[0, 1])
    rows, labels = datasets.load_breast_cancer(return_X_y=True)
    with pytest.raises(RefitRefused, match="tune"):
        searches.cross_val_score(model, rows, labels, error_score="raise")


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda one: ensemble.BaggingClassifier(one, n_estimators=2),
        lambda one: ensemble.VotingClassifier([("a", one), ("b", one)]),
        lambda one: multiclass.OneVsRestClassifier(one),  # noqa: PLW0108  # imported or skipped
        lambda one: calibration.CalibratedClassifierCV(one, cv=2),
    ],
)
def test_what_fits_many_members_is_refused(wrapped: Callable[[object], Any]) -> None:
    """Ensembles and wrappers fit clones on the same records; a pipeline fits once and may."""
    rows, labels = datasets.load_breast_cancer(return_X_y=True)
    model = PerceptronClassifier(sigma=9, classes=[0, 1], steps=2)
    with pytest.raises(RefitRefused, match="every fit is a release"):
        wrapped(model).fit(rows, labels)
    regressor = LinearRegression(sigma=9)
    with pytest.raises(RefitRefused, match="_ransac fits"):
        linear_model.RANSACRegressor(regressor, min_samples=9).fit(rows, rows[:, 0])
    with pytest.raises(RefitRefused, match="impute"):
        impute.IterativeImputer(regressor).fit(np.where(np.eye(*rows.shape), np.nan, rows))
    once = pipelines.make_pipeline(preprocessing.FunctionTransformer(np.log1p), model)
    assert once.fit(rows, labels)[-1].n_iter_ == 2


@pytest.mark.parametrize("kind", [PerceptronClassifier, LogisticRegression, MarginClassifier])
def test_weights_decide_who_takes_part(kind: Any) -> None:  # noqa: ANN401
    """Of weight 0, or nan, nobody does, of the largest all do, between them a share.

    The count of a share is farther than 6.2 deviations away with probability below 1e-9.
    """
    two = kind is MarginClassifier
    rows, labels = np.ones((4_000, 2)), np.arange(4_000) % (2 if two else 3)
    fit: dict[str, Any] = {"records": 4_000} if two else {}
    model = kind(sigma=1, classes=range(2 if two else 3), max_weight=2, **fit)
    weights = np.repeat([0.0, np.nan, 2.0, 5.0, 0.5], 800)
    read = model.labelled(rows, labels, weights).labels
    absent = 0 if two else -1
    present = (read != absent).reshape(5, 800).sum(axis=1)

    assert present[:4].tolist() == [0, 0, 800, 800]
    assert abs(present[4] - 200) < 6.2 * (800 * 0.25 * 0.75) ** 0.5
    assert (read[1600:3200] == (2 * labels - 1 if two else labels)[1600:3200]).all()
    assert model.fit(rows, labels, sample_weight=weights).guarantee_ == model.guarantee()


def test_weights_balance_classes() -> None:
    """A rare class that has ten times the weight is predicted, and without weights it is not."""
    rng = np.random.default_rng(5)
    labels = (rng.random(6_000) < 0.1).astype(int)
    rows = np.column_stack([np.ones(6_000), rng.normal(size=6_000) + labels])
    model = LogisticRegression(epsilon=20, delta=1e-5, classes=[0, 1], max_weight=10)
    plain = model.fit(rows, labels).predict(rows)
    weighted = base.clone(model).fit(rows, labels, sample_weight=np.where(labels, 10, 1))

    assert plain[labels == 1].mean() < 0.2
    assert weighted.predict(rows)[labels == 1].mean() > 0.5
    with pytest.raises(ParameterError, match="left out under replace-label"):
        model.set_params(relation=ReplaceLabel(), sigma=1, epsilon=None).labelled(
            rows, labels, labels
        )
    with pytest.raises(TypeError):
        CoverClassifier(epsilon=1, classes=[0, 1], cover=AsWide()).fit(
            rows,
            labels,
            sample_weight=labels,  # type: ignore[call-arg]
        )


def test_ranges_of_mixtures_are_wider() -> None:
    """Why a cover takes no weights: two pairs of range 1, whose mixture has nearly the range 2."""

    def pair(share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        law = np.array([share, 1 - share])
        tilted = law * [np.e, 1]
        return law, tilted / tilted.sum()

    first, second = pair(0.01), pair(0.99)
    whole = [np.concatenate([a, b]) / 2 for a, b in zip(first, second, strict=True)]
    ranges = [np.ptp(np.log(p / q)) for q, p in (first, second, whole)]

    assert ranges[:2] == pytest.approx([1, 1])
    assert ranges[2] > 1.9
