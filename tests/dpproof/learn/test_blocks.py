"""Estimators on rows in blocks: the same model, little memory, and a reason where it cannot be."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpproof.accountant import ZCDP, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.learn import (
    PCA,
    CoverClassifier,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MarginClassifier,
    PerceptronClassifier,
    PrivateScaler,
    tune,
)
from dpproof.ledger.ledger import Ledger
from dpproof.mechanisms import BlockError, Blocks, FourierFeatures, NeedsAllRecords, Polygon

NOISE: dict[str, Any] = {"sigma": 2, "random_state": 1}
TWO: dict[str, Any] = {**NOISE, "classes": ["no", "yes"]}
MODELS: dict[str, Any] = {
    "perceptron": lambda: PerceptronClassifier(**TWO, steps=5, fit_intercept=True),
    "mapped": lambda: PerceptronClassifier(
        **TWO, steps=5, map=FourierFeatures(features=4, frequencies=6, width=1, seed=1)
    ),
    "margin": lambda: MarginClassifier(**TWO, steps=5, relation=ReplaceOne(), fit_intercept=True),
    "logistic": lambda: LogisticRegression(**NOISE, classes=["no", "yes", "so"], steps=5),
    "regression": lambda: LinearRegression(**NOISE, norm=3, bound=2),
    "components": lambda: PCA(**NOISE, norm=3),
    "scaler": lambda: PrivateScaler(**NOISE, norm=3, with_std=True),
    "clusters": lambda: KMeans(3, **NOISE, norm=3),
}
GRID = {"margin": [0.1, 0.2]}
KEPT = ("coef_", "components_", "cluster_centers_", "intercept_", "mean_", "scale_")


def made(model: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Rows, and labels or targets as the model takes them."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 4))
    rows[17], rows[40, 1] = 0, np.nan
    labels = rng.choice(["no", "yes", "so"], size=300)
    return rows, labels if hasattr(model, "classes") else rng.normal(size=300)


def kept(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a fit keeps, as lists."""
    return {
        name: np.asarray(getattr(model, name)).tolist() for name in KEPT if hasattr(model, name)
    }


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A seed warns, as it should."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", MODELS)
def test_blocks_give_the_model_of_all_rows(name: str, tmp_path: Path) -> None:
    """Arrays, memory-mapped files, frames, blocks here and on threads: one model, bit for bit."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows, y = made(MODELS[name]())
    model = MODELS[name]().fit(rows, y)
    expected = kept(model)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    names = [f"column {i}" for i in range(4)]
    for given in (mapped, pandas.DataFrame(rows), polars.DataFrame(rows, schema=names), rows[:, :]):
        assert kept(MODELS[name]().fit(given, y)) == expected
    cut = [(rows[i : i + 70], y[i : i + 70]) for i in range(0, 300, 70)]
    with ThreadPoolExecutor(2) as pool:
        found = MODELS[name]().fit_blocks(cut, executor=pool)
    assert kept(found) == kept(MODELS[name]().fit_blocks(Blocks.of(rows, y, size=9))) == expected
    assert found.n_features_in_ == 4
    assert found.guarantee_ == model.guarantee_
    assert not hasattr(found, "feature_names_in_")
    assert (
        MODELS[name]().fit(pandas.DataFrame(rows, columns=names), y).feature_names_in_[1]
        == names[1]
    )


def test_dask_arrays_are_fitted_where_they_lie() -> None:
    """A fit takes them as it takes arrays."""
    arrays = pytest.importorskip("dask.array")
    for name, model in MODELS.items():
        rows, y = made(model())
        lazy = arrays.from_array(rows, chunks=(70, 3)), arrays.from_array(y, chunks=110)

        assert kept(model().fit(*lazy)) == kept(model().fit(rows, y)), name


def test_frames_of_dask_are_fitted_where_they_lie() -> None:
    """A fit takes them as it takes frames of pandas."""
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    rows, y = made(MODELS["perceptron"]())
    table = pandas.DataFrame(rows, columns=list("abcd"))
    lazy = frames.from_pandas(table, npartitions=3), frames.from_pandas(pandas.Series(y), 3)
    found = MODELS["perceptron"]().fit(*lazy)

    assert kept(found) == kept(MODELS["perceptron"]().fit(table, y))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (LogisticRegression(**TWO), "minimises"),
        (MarginClassifier(**TWO, solver="phased", relation=ReplaceOne()), "random order"),
        (CoverClassifier(epsilon=1, classes=[0, 1], cover=Polygon(corners=8)), "one order"),
        (tune(PerceptronClassifier(epsilon=1, delta=1e-5, classes=[0, 1]), GRID), "all records"),
    ],
)
def test_learners_that_are_no_sums_refuse_blocks(model: Any, why: str) -> None:  # noqa: ANN401
    """The error says why, and no block is read."""

    def never() -> Any:  # noqa: ANN401
        raise AssertionError

    with pytest.raises(NeedsAllRecords, match=why):
        model.fit_blocks([never])


def test_a_lost_block_costs_nothing(tmp_path: Path) -> None:
    """What the ledger has left is what it had before, and the key pays for the next fit."""
    rows, y = made(MODELS["perceptron"]())

    def lost() -> Any:  # noqa: ANN401
        raise ConnectionError

    ledger = Ledger.create(tmp_path / "ledger", budget=ZCDP(rho=9))
    model = PerceptronClassifier(**TWO, steps=5, ledger=ledger, ledger_key="first")
    with pytest.raises(BlockError, match="nothing was released"):
        model.fit_blocks([(rows, y), lost])

    assert not hasattr(model, "coef_")
    assert (ledger.status().committed, ledger.status().pending) == ((), ())
    model.fit_blocks([(rows, y)])
    assert ledger.status().committed == ("first",)
    ledger.close()
    with pytest.raises(ParameterError, match="again and again"):
        model.fit_blocks(iter([(rows, y)]))


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_dense_and_sparse_blocks_in_memory_give_the_model_of_all_rows(first: str) -> None:
    """A sparse row of one entry was spread over all columns, so that its norm was above 1."""
    dense, thin = np.array([[0.5, 0.1, 0.2], [0.3, -0.4, 0.1]]), np.eye(2, 3)
    y = np.array(["no", "yes"])
    model = PerceptronClassifier(**TWO, steps=3, norm=1, fit_intercept=False)
    blocks = [(dense, y), (sparse.csr_array(thin), y)]
    order = [0, 1] if first == "dense" else [1, 0]
    found = model.fit_blocks(Blocks([blocks[one] for one in order], records=4)).coef_.tolist()
    rows = np.vstack([(dense, thin)[one] for one in order])

    assert found == model.fit(rows, np.tile(y, 2)).coef_.tolist()


def test_a_block_of_one_column_among_wider_ones_is_refused() -> None:
    """Its rows of norm 1 filled all columns: they were as long as the root of the width."""
    y = np.array(["no", "yes"])
    blocks = Blocks([(np.eye(2, 9), y), (np.ones((2, 1)), y)], records=4)
    model = PerceptronClassifier(sigma=2, classes=["no", "yes"], norm=1, fit_intercept=False)
    with pytest.raises(ParameterError, match="9 wide"):
        model.fit_blocks(blocks)


@pytest.mark.parametrize("records", [1, 3])
def test_fewer_records_than_blocks_hold_are_refused(records: int) -> None:
    """The error names ``records``, and neither their number nor what numpy says of it."""
    y = np.array([0, 1])
    model = PerceptronClassifier(epsilon=1, delta=1e-5, classes=[0, 1], norm=1)
    with pytest.raises(DataError, match="records must be at least as many as the blocks"):
        model.fit_blocks(Blocks([(np.eye(2, 9), y), (np.eye(2, 9), y)], records=records))


def test_blocks_of_classifiers_have_no_weights() -> None:
    """Each step drew coins again, and a cover, whose price has no coins, took them."""
    blocks = [(np.eye(2), np.array(["no", "yes"]), np.array([0.5, 0.5]))]
    cover = CoverClassifier(epsilon=1, classes=["no", "yes"], cover=Polygon(corners=8))
    for model in (MODELS["perceptron"](), cover):
        with pytest.raises(ParameterError, match="weights go to fit"):
            model.fit_blocks(Blocks(blocks, records=2))


def test_a_block_of_columns_of_two_lengths_is_refused() -> None:
    """Rows were cut evenly, and what was left of the labels was dropped."""
    rows = np.ones((2**16, 2))
    with pytest.raises(ParameterError, match="columns of one length"):
        MODELS["perceptron"]().fit_blocks([(rows, np.full(len(rows) + 1, "no"))])


@pytest.mark.slow
def test_memory_of_two_classes_of_logistic_regression_is_three_arrays() -> None:
    """Rows on the grid, the same scaled, and a product; exact sums took five more."""
    rng = np.random.default_rng(1)
    rows, y = rng.normal(size=(80_000, 50)), rng.integers(0, 2, 80_000)
    tracemalloc.start()
    LogisticRegression(**NOISE, classes=[0, 1]).fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak <= 3.2 * rows.nbytes


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [one for one in MODELS if one != "mapped"])
def test_memory_of_a_fit_is_that_of_a_block(name: str, dtype: str, tmp_path: Path) -> None:
    """Beyond the data, 1.3 times a block at most: of a file that is mapped, and of an array."""
    model = MODELS[name]().set_params(**({"steps": 2} if hasattr(MODELS[name](), "steps") else {}))
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80_000, 100)).astype(dtype)
    y = rng.integers(0, 2, 80_000) if hasattr(model, "classes") else rng.normal(size=80_000)
    if hasattr(model, "classes"):
        model.set_params(classes=list(range(len(model.classes))))
    np.save(tmp_path / "rows.npy", rows)
    block = 2**22 * rows.itemsize  # an array in memory is one block, with its labels
    for given, limit in (
        (np.load(tmp_path / "rows.npy", mmap_mode="r"), block),
        (rows, rows.nbytes + y.nbytes),
    ):
        tracemalloc.start()
        model.fit(given, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert peak <= 1.3 * limit
