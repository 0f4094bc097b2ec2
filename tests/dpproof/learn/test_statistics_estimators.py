"""Linear regression, principal components and k-means."""

from __future__ import annotations

import functools
import pickle
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dpproof import proofs
from dpproof.accountant import GDP, GDPFilter
from dpproof.accountant.errors import BudgetExceeded, ParameterError
from dpproof.accountant.relation import ReplaceOne
from dpproof.learn import (
    PCA,
    KMeans,
    LinearRegression,
    PredictableNoise,
    SecondRelease,
    public_data,
)
from dpproof.learn.private_estimator import clipped_to_norm
from dpproof.proofs import VerifiedUnder
from tests.dpproof.learn.every_estimator import STATISTICS

checks = pytest.importorskip("sklearn.utils.estimator_checks")
linear_model = pytest.importorskip("sklearn.linear_model")
HARMLESS = "a record that is not finite contributes nothing, as an error would tell it"
EXCUSED = {
    "check_estimators_empty_data_messages": "the number of records is private, none included",
    "check_estimators_nan_inf": HARMLESS,
    "check_supervised_y_no_nan": HARMLESS,
    "check_all_zero_sample_weights_error": "weights are private, and an error would tell them",
    "check_sample_weight_equivalence_on_dense_data": "a weight of 2 is cut to max_weight",
    "check_clustering": "labels of the fitted rows are not kept, as they are not released",
    "check_methods_subset_invariance": "distances are rounded by blocks of rows",
    "check_fit2d_1sample": "the number of records is private",
    "check_dtype_object": "a cell that is no number contributes nothing, as an error would tell it",
}


def with_filter(call: Any) -> Any:  # noqa: ANN401  # a method
    """The same with a filter that has much left, as the checks have none."""
    budget = GDPFilter(mu=10**9)

    @functools.wraps(call)
    def paid(*given: Any) -> Any:  # noqa: ANN401
        return call(*given, budget=budget)

    return paid


@pytest.mark.parametrize("name", STATISTICS)
def test_scikit_learns_own_checks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They pass, but for those that contradict privacy, each with the reason."""
    for kind in (LinearRegression, PCA):
        monkeypatch.setattr(kind, "partial_fit", with_filter(kind.partial_fit))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(
            STATISTICS[name], expected_failed_checks=EXCUSED, on_fail=None
        )
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


def test_weights_of_rows_are_those_of_their_errors() -> None:
    """They are relative to a public bound, beyond which they are cut; nan and 0 are no row."""
    rng = np.random.default_rng(4)
    rows, targets = rng.normal(size=(3000, 2)), rng.normal(size=3000)
    weights = rng.uniform(0, 2, size=3000)
    given: dict[str, Any] = {"norm": 10, "bound": 10, "max_weight": 2}
    found = LinearRegression(sigma=1e-3, **given).fit(rows, targets, sample_weight=weights)
    true = linear_model.LinearRegression().fit(rows, targets, sample_weight=weights)

    assert found.coef_ == pytest.approx(true.coef_, abs=1e-4)
    assert found.guarantee_ == LinearRegression(sigma=1e-3, **given).guarantee()

    def coefficients(*where: Any) -> Any:  # noqa: ANN401  # rows, targets and weights
        with pytest.warns(PredictableNoise):
            return LinearRegression(sigma=1, random_state=1, **given).fit(*where).coef_

    cut = [1e300, np.nan, -1.0, 0.0, np.inf, 2.0]
    kept, all_of = [0, 4, 5], np.array([2.0, 2.0, 2.0])
    first = coefficients(rows[:6], targets[:6], cut)
    np.testing.assert_array_equal(first, coefficients(rows[kept], targets[kept], all_of))
    np.testing.assert_array_equal(first, coefficients(rows[kept], targets[kept]))
    with pytest.raises(ValueError, match="sample_weight has shape"):
        LinearRegression(sigma=1, **given).fit(rows, targets, weights[1:])
    for weight in (0, 10**400, 10**5000, Fraction(1, 10**400)):
        with pytest.raises(ParameterError, match=r"max_weight must be .*, got (0|about 1e)"):
            LinearRegression(sigma=1, max_weight=weight).guarantee()


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


def test_batches_add_up_within_a_filter() -> None:
    """Without noise to speak of they are one fit on all rows; the filter states the whole price."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(900, 3))
    targets = rows @ [1.0, -2.0, 0.5] + 3
    budget = GDPFilter(mu=10**9)
    shared: dict[str, Any] = {"sigma": 1e-6, "norm": 9}
    whole = LinearRegression(**shared, bound=30).fit(rows, targets)
    axes = PCA(1, **shared).fit(rows)
    parts, axis = LinearRegression(**shared, bound=30), PCA(1, **shared)
    for batch in range(3):
        some = slice(batch * 300, batch * 300 + 300)
        parts.partial_fit(rows[some], targets[some], budget=budget)
        axis.partial_fit(rows[some], budget=budget)

    assert parts.coef_ == pytest.approx(whole.coef_, rel=1e-6)
    assert parts.intercept_ == pytest.approx(whole.intercept_, rel=1e-6)
    assert axis.mean_ == pytest.approx(axes.mean_, abs=1e-6)
    assert axis.components_ == pytest.approx(axes.components_, abs=1e-6)
    assert parts.guarantee_ == GDP(mu=10**9)


def test_batches_stop_where_the_filter_does() -> None:
    """The price of a batch is spent before it; nothing is released, or changed, without it."""
    rows = np.ones((50, 2))
    model = LinearRegression(sigma=4, norm=1)
    price = model.guarantee().mu_squared  # type: ignore[attr-defined]
    budget: Any = GDPFilter(mu=2 * float(price) ** 0.5)  # of four batches, nearly
    for _ in range(3):
        model.partial_fit(rows, rows[:, 0], budget=budget)
    before = pickle.dumps(model)
    while budget.admits(model.guarantee()):
        budget.spend(model.guarantee())
    with pytest.raises(BudgetExceeded):
        model.partial_fit(rows, rows[:, 0], budget=budget)

    assert pickle.dumps(model) == before
    with pytest.raises(ParameterError, match="the filter of the batches before"):
        model.partial_fit(rows, rows[:, 0], budget=GDPFilter(mu=9))
    with pytest.raises(ParameterError, match="the filter of the batches before"):
        pickle.loads(before).partial_fit(rows, rows[:, 0], budget=budget)  # noqa: S301
    with pytest.raises(ParameterError, match="ledger must be None"):
        clone(model).set_params(ledger="x").partial_fit(rows, rows[:, 0], budget=budget)
    with pytest.raises(ParameterError, match="those of the batches before"):
        model.set_params(sigma=5).partial_fit(rows, rows[:, 0], budget=GDPFilter(mu=9))
    with pytest.raises(ParameterError, match="those of the batches before"):
        model.set_params(sigma=4, bound=7).partial_fit(rows, rows[:, 0], budget=budget)
    model.set_params(bound=1)
    with pytest.raises(ParameterError, match="budget must be a filter"):
        model.partial_fit(rows, rows[:, 0])
    with pytest.warns(SecondRelease):
        assert not hasattr(model.fit(rows, rows[:, 0]), "batches_")


def test_batches_are_public_if_all_of_them_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """One public batch made the model say that private ones before were; and no price is too low.

    A filter that cannot state its price leaves the model without one, not with that of a batch.
    """
    rows, budget = np.ones((9, 2)), GDPFilter(mu=9)
    model = LinearRegression(sigma=4).partial_fit(rows, rows[:, 0], budget=budget)
    with public_data():
        model.partial_fit(rows, rows[:, 0], budget=budget)
        public = LinearRegression(sigma=4).partial_fit(rows, rows[:, 0], budget=budget)

    assert not model.public_data_
    assert public.public_data_
    monkeypatch.setattr(GDPFilter, "guarantee", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (unknown := clone(model)).partial_fit(rows, rows[:, 0], budget=budget)
    assert not hasattr(unknown, "guarantee_")


def test_the_ridge_knows_the_noise_of_all_batches() -> None:
    """Four batches of no rows: the spectral bound of twice the noise of one of them."""
    model, budget = LinearRegression(sigma=4, norm=1), GDPFilter(mu=9)
    blank = np.zeros((0, 2))
    for _ in range(4):
        model.partial_fit(blank, np.zeros(0), budget=budget)
    smallest = float(np.linalg.eigvalsh(model.batches_[1][:-1, :-1])[0])
    deviation = float(model.learner().sigma) * 2  # type: ignore[attr-defined]

    assert model.regulariser_ == pytest.approx(2 * deviation * 6**0.5 - smallest, rel=1e-6)
