"""Linear regression, principal components and k-means."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import ReplaceOne
from dpproof.learn import PCA, KMeans, LinearRegression, SecondRelease
from dpproof.learn.reading import clipped_to_norm
from dpproof.proofs import VerifiedUnder

checks = pytest.importorskip("sklearn.utils.estimator_checks")
MODELS: dict[str, Any] = {
    "regression": LinearRegression(sigma=1e-3, norm=10, bound=10),
    "components": PCA(n_components=1, sigma=1e-3, norm=10),
    "clusters": KMeans(n_clusters=3, sigma=1e-3, norm=10),
}
HARMLESS = "a record that is not finite contributes nothing, as an error would tell it"
EXCUSED = {
    "check_estimators_empty_data_messages": "the number of records is private, none included",
    "check_estimators_nan_inf": HARMLESS,
    "check_supervised_y_no_nan": HARMLESS,
    "check_clustering": "labels of the fitted rows are not kept, as they are not released",
    "check_methods_subset_invariance": "distances are rounded by blocks of rows",
    "check_fit2d_1sample": "the number of records is private",
    "check_dtype_object": "a cell that is no number contributes nothing, as an error would tell it",
}


@pytest.mark.parametrize("name", MODELS)
def test_scikit_learns_own_checks(name: str) -> None:
    """They pass, but for those that contradict privacy, each with the reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(MODELS[name], expected_failed_checks=EXCUSED, on_fail=None)
    failed = [one["check_name"] for one in results if one["status"] == "failed"]

    assert failed == []
    assert len(results) > 30


@pytest.mark.parametrize("model", [LinearRegression, PCA, KMeans])
@pytest.mark.parametrize("relation", [None, ReplaceOne()], ids=str)
def test_fits_keep_to_the_budget_and_prove_it(model: Any, relation: Any) -> None:  # noqa: ANN401
    """Epsilon is the budget's within a thousandth; the certificate is verified."""
    found = model(epsilon=1, delta=1e-5, norm=3, relation=relation)
    epsilon = found.guarantee().epsilon(delta=1e-5)

    assert epsilon.lower > 0.999
    assert epsilon.upper <= 1
    assert isinstance(proofs.check(found.certificate()), VerifiedUnder)


def test_regression_recovers_the_weights() -> None:
    """Without noise to speak of: least squares; with a budget: close to it."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(5000, 4))
    weights = np.array([1.0, -2.0, 0.5, 0.0])
    targets = rows @ weights + 3 + 0.1 * rng.normal(size=5000)
    exact = LinearRegression(sigma=1e-3, norm=10, bound=20).fit(rows, targets)
    private = LinearRegression(epsilon=2, delta=1e-5, norm=5, bound=15).fit(rows, targets)

    assert exact.coef_ == pytest.approx(weights, abs=0.01)
    assert exact.intercept_ == pytest.approx(3, abs=0.01)
    assert exact.regulariser_ == 0
    assert private.score(rows, targets) > 0.95


def test_regression_adds_ridge_where_noise_needs_it() -> None:
    """Twice the norm of the noise, less the smallest eigenvalue, if nothing else is asked for."""
    rows, targets = np.zeros((3, 2)), np.zeros(3)
    found = LinearRegression(sigma=1, norm=1, bound=1, fit_intercept=False).fit(rows, targets)
    asked = LinearRegression(sigma=1, norm=1, bound=1, regulariser=7).fit(rows, targets)

    assert 0 < found.regulariser_ < 12
    assert np.linalg.norm(found.coef_) < 10
    assert asked.regulariser_ == 7


@pytest.mark.parametrize("center", [True, False])
def test_components_are_those_of_the_covariance(*, center: bool) -> None:
    """Without noise to speak of: the eigenvectors, signs aside, and the mean."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(4000, 3)) * [3.0, 1.0, 0.2] + [0.0, 0.0, 2.0]
    found = PCA(n_components=2, sigma=1e-2, norm=40, center=center).fit(rows)
    around = rows - rows.mean(axis=0) if center else rows
    moments = around.T @ around / (len(rows) if center else 1)
    values, vectors = np.linalg.eigh(moments)

    assert np.abs(found.components_ @ vectors[:, :0:-1]) == pytest.approx(np.eye(2), abs=1e-3)
    assert found.explained_variance_ == pytest.approx(values[:0:-1], rel=1e-3)
    if center:
        assert found.mean_ == pytest.approx(rows.mean(axis=0), abs=1e-3)
    back = found.inverse_transform(found.transform(rows))
    assert np.mean((back - rows)[:, :2] ** 2) < (0.01 if center else 4)


def test_clusters_of_rows() -> None:
    """Well separated clusters are told apart within a small budget; centres may be given."""
    rng = np.random.default_rng(3)
    means = np.array([[2.0, 0.0], [-2.0, 0.0]])
    rows = np.concatenate([rng.normal(mean, 0.2, size=(2000, 2)) for mean in means])
    truth = np.repeat([0, 1], 2000)
    for init in (None, [[1.0, 0.0], [-1.0, 0.0]]):
        model = KMeans(n_clusters=2, epsilon=1, delta=1e-5, norm=3, init=init)
        labels = model.fit_predict(rows)
        assert max(np.mean(labels == truth), np.mean(labels != truth)) > 0.99


def test_a_second_fit_warns_and_bad_arguments_are_refused() -> None:
    """As for classifiers."""
    rows = np.zeros((5, 2))
    model = KMeans(n_clusters=2, sigma=1).fit(rows)
    with pytest.warns(SecondRelease):
        model.fit(rows)
    with pytest.raises(ParameterError, match="init"):
        KMeans(n_clusters=3, sigma=1, init=np.eye(2)).fit(rows)
    with pytest.raises(ParameterError, match="n_components"):
        PCA(n_components=3, sigma=1).fit(rows)
    with pytest.raises(ParameterError, match="center"):
        PCA(sigma=1, center=1).guarantee()  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="bound"):
        LinearRegression(sigma=1, bound=0).guarantee()


def test_clipping_is_by_row_and_takes_any_number() -> None:
    """Long rows get the norm, short ones stay, and what is not finite becomes nan."""
    rows = np.array([[1e308, 1e308], [0.3, 0.4], [np.inf, 1], [np.nan, 0], [5e-324, 0], [0, 0]])
    found = clipped_to_norm(rows, 1.0)

    assert np.linalg.norm(found[0]) == pytest.approx(1)
    assert (found[[1, 4, 5]] == rows[[1, 4, 5]]).all()
    assert np.isnan(found[[2, 3]]).all()
