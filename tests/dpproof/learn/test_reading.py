"""How estimators read rows and targets."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import dpproof.learn
from dpproof.accountant import ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.relation import AddRemove
from dpproof.learn import (
    CoverClassifier,
    MarginClassifier,
    PerceptronClassifier,
    TunedClassifier,
    tune,
)
from dpproof.learn.private_estimator import matrix
from dpproof.mechanisms.learning import records
from tests.dpproof.learn.every_estimator import (
    BUDGET,
    CHOICES,
    LINEAR,
    MODELS,
    STATISTICS,
    shared_plan,
)

datasets = pytest.importorskip("sklearn.datasets")


@pytest.fixture(autouse=True)
def one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches without samples share their plans, which cost more than their fits."""
    monkeypatch.setattr(TunedClassifier, "plan", shared_plan)


def digits(model: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:  # noqa: ANN401
    """Whole numbers from 0 to 16, their sums of squares far beyond the largest float16."""
    rows, labels = datasets.load_digits(return_X_y=True)
    width = 2 if isinstance(model, CoverClassifier) else 16
    return rows[:200, 20 : 20 + width], labels[:200]


def fitted(model: Any, rows: object, labels: object) -> dict[str, Any]:  # noqa: ANN401
    """What a fit keeps, as numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, labels)
    best = getattr(model, "best_estimator_", model)
    names = ("coef_", "components_", "columns_", "cluster_centers_", "intercept_", "mean_")
    return {name: np.asarray(getattr(best, name)) for name in names if hasattr(best, name)}


@functools.cache
def of_float64(name: str) -> dict[str, Any]:
    """What a fit on float64 keeps."""
    model = MODELS[name]()
    return fitted(model, *digits(model))


def test_every_estimator_is_among_the_models() -> None:
    """A new estimator has to be added to the models here, and to scikit-learn's own checks."""
    kinds = [getattr(dpproof.learn, name) for name in vars(dpproof.learn)["__all__"]]
    estimators = {one.__name__ for one in kinds if isinstance(one, type) and hasattr(one, "fit")}

    checked = [*LINEAR.values(), *CHOICES.values(), *map(type, STATISTICS.values())]

    assert estimators == set(MODELS)
    assert estimators == {one.__name__ for one in checked}


@pytest.mark.parametrize("dtype", ["float16", "float32", "longdouble", "uint8", "int64", "object"])
@pytest.mark.parametrize("name", MODELS)
def test_the_type_of_the_rows_changes_nothing(name: str, dtype: str) -> None:
    """Rows that every type holds exactly give the model of float64, bit for bit, by one seed."""
    rows, labels = digits(MODELS[name]())
    expected = of_float64(name)
    typed = np.asfortranarray(rows.astype(dtype))
    found = fitted(MODELS[name](), typed, labels)

    assert expected
    for part, values in expected.items():
        np.testing.assert_array_equal(found[part], values)


def test_margins_are_learned_from_short_floats() -> None:
    """Even and odd float16 rows are told apart as those of float64 are."""
    rows, labels = datasets.load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MarginClassifier(**BUDGET, classes=[0, 1], relation=ReplaceOne())
        model.fit(rows.astype("float16"), labels % 2)

    assert model.score(rows, labels % 2) > 0.7


@pytest.mark.parametrize("name", MODELS)
def test_no_cell_decides_whether_a_fit_raises(name: str) -> None:
    """A row with a cell that is no number contributes nothing, in arrays of objects and lists."""
    rows, labels = digits(MODELS[name]())
    cells = ["a", 10**400, None, {"b": 1}, 1j, [2], float("inf")]
    blank, mixed = rows.copy(), rows.astype(object)
    for place, cell in enumerate(cells):
        blank[place] = np.nan
        mixed[place, 1] = cell
    expected = fitted(MODELS[name](), blank, labels)

    assert expected
    for given in (mixed, mixed.tolist()):
        for part, values in fitted(MODELS[name](), given, labels).items():
            np.testing.assert_array_equal(values, expected[part])


def test_a_target_that_is_no_number_contributes_nothing() -> None:
    """A list or a text among the targets is as good as nan."""
    rows, labels = digits(MODELS["LinearRegression"]())
    targets = labels.astype(float)
    targets[3] = np.nan
    expected = fitted(MODELS["LinearRegression"](), rows, targets)

    for other in ([1, 2], "marker", None):
        mixed = [*targets[:3].tolist(), other, *targets[4:].tolist()]
        np.testing.assert_array_equal(
            fitted(MODELS["LinearRegression"](), rows, mixed)["coef_"], expected["coef_"]
        )


@pytest.mark.parametrize("name", [name for name in MODELS if "Classifier" in name or "Log" in name])
def test_sparse_rows_give_the_bits_of_dense_ones(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every format, a few rows at a time, with offsets and bad cells; scores agree too."""
    monkeypatch.setattr(records, "_ENTRIES", 100)
    rows, labels = digits(MODELS[name]())
    rows = rows.copy()
    rows[3, 1], rows[5] = np.nan, 0
    model = MODELS[name]()
    expected = fitted(model, rows, labels)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        given = form(rows)
        found = MODELS[name]()
        for part, values in fitted(found, given, labels).items():
            np.testing.assert_array_equal(values, expected[part])
        scores = found.decision_function(form(rows[6:]))
        np.testing.assert_allclose(scores, model.decision_function(rows[6:]), rtol=1e-12)
    with pytest.raises(DataError, match="Complex data not supported"):
        MODELS[name]().fit(sparse.csr_array(rows * 1j), labels)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (np.array([[8675309.125 + 1j]]), "Complex data not supported"),
        (np.array([8675309.125]), "Reshape your data"),
        (np.array([["marker"]]), "real numbers"),
        ([[1.0], [2.0, 3.0]], "Reshape your data"),
    ],
)
def test_matrices_are_refused_by_their_form(rows: Any, text: str) -> None:  # noqa: ANN401
    """A dtype or a shape is refused with a hint, and no cell is shown."""
    with pytest.raises(DataError, match=text) as refusal:
        matrix(rows)

    assert "8675309" not in str(refusal.value)
    assert "marker" not in str(refusal.value)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_alone_is_clipped_as_among_others(order: Any) -> None:  # noqa: ANN401
    """One row of a matrix of any order has the same bits by itself."""
    rng = np.random.default_rng(5)
    for _ in range(400):
        rows = np.asarray(rng.normal(size=(2, 100)), order=order)
        alone = np.asarray(rows[:1], order=order)

        both = dpproof.learn.private_estimator.clipped_to_norm(rows, 1.0)
        np.testing.assert_array_equal(
            both[:1], dpproof.learn.private_estimator.clipped_to_norm(alone, 1.0)
        )


@pytest.mark.parametrize("base", [None, 70], ids=str)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("margin", [0.01, 0.02]),
        pytest.param("steps", [20, 30], marks=pytest.mark.slow),
        ("norm", [60, 70]),
        ("norm", [None]),
        pytest.param("rate", [0.5, 1], marks=pytest.mark.slow),
        ("average", [True, False]),
    ],
)
@pytest.mark.parametrize("model", [MarginClassifier, PerceptronClassifier])
def test_every_tunable_name_learns_whatever_the_base_has(
    model: type[Any], name: str, values: list[Any], base: float | None
) -> None:
    """Each name of a grid gives a model that tells digits apart, whatever the base has."""
    if name not in model().get_params():
        pytest.skip("no such parameter")
    rows, labels = datasets.load_digits(return_X_y=True)
    rows, labels = rows[:900], labels[:900] % (2 if model is MarginClassifier else 10)
    classes = range(2 if model is MarginClassifier else 10)
    budget = {**BUDGET, "classes": classes, "epsilon": 30, "relation": ReplaceOne()}
    grid = {name: values, "margin": [0.01, 0.1]} if name != "margin" else {name: values}
    tuned = tune(model(**budget, norm=base), grid, probability=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned.fit(rows, labels)

    assert isinstance(tuned, TunedClassifier)
    assert tuned.score(rows, labels) > 0.6


def test_scaled_and_clipped_rows_are_not_tuned_together() -> None:
    """A margin learner that scales its rows for one candidate and not for another is refused."""
    with pytest.raises(ParameterError, match="None or a number for all candidates"):
        tune(
            MarginClassifier(**BUDGET, classes=[0, 1], relation=ReplaceOne()), {"norm": [None, 70]}
        )


def test_a_missing_number_of_records_is_named_as_the_estimator_names_it() -> None:
    """Under add-remove the refusal names ``records``, which the user can give."""
    with pytest.raises(ParameterError, match=r"^records must be") as refusal:
        MarginClassifier(**BUDGET, classes=[0, 1], relation=AddRemove()).guarantee()

    assert refusal.value.name == "records"
