"""No estimator shows or keeps a value of the rows, whatever becomes of the call."""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path

import pytest

import dpproof
import dpproof.learn
from dpproof.learn import PerceptronClassifier, TunedClassifier
from tests.contracts.markers import TEXT, bad_data, data_methods, kept, leaks, marked, rows
from tests.dpproof.learn.every_estimator import MODELS, shared_plan

NO_DATA = ("tune", "tuning_price", "private_pipeline", "pipeline_guarantee", "public_data")


@pytest.mark.parametrize("name", MODELS)
def test_no_estimator_shows_or_keeps_data(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits and predictions on data of many kinds; the fitted model, its pickle and its ledger."""
    monkeypatch.setattr(TunedClassifier, "plan", shared_plan)
    features = 2
    table, labels = rows(features)
    model = MODELS[name]()
    model.set_params(**({"n_components": 1} if "n_components" in model.get_params() else {}))
    methods = data_methods(type(model))

    assert "fit" in methods
    for data in bad_data():
        assert not leaks(partial(MODELS[name]().fit, data, labels))
        assert not leaks(partial(MODELS[name]().fit, table, data))
    assert not leaks(partial(model.fit, table, labels))
    assert not kept(model)
    for method in methods:
        if method != "fit" and "fit" not in method:
            named = [*inspect.signature(getattr(model, method)).parameters]
            for data in bad_data():
                given = [data, labels] if "y" in named else [data]
                assert not leaks(partial(getattr(model, method), *given)), method
                if "y" in named:
                    assert not leaks(partial(getattr(model, method), table, data)), method


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LinearRegression", "PCA", "KMeans", "PerceptronClassifier"])
def test_no_batch_or_block_shows_data(name: str) -> None:
    """Data of many kinds as a batch, as a block of its own, and as the labels of one."""
    table, labels = rows(2)
    for data in bad_data():
        model = MODELS[name]()
        model.set_params(**({"n_components": 1} if "n_components" in model.get_params() else {}))
        calls = [partial(model.fit_blocks, [one]) for one in (data, (data, labels), (table, data))]
        calls.append(partial(model.fit_blocks, data))
        if hasattr(model, "partial_fit"):
            budget = dpproof.GDPFilter(mu=9)
            calls.append(partial(model.partial_fit, data, labels, budget=budget))
            calls.append(partial(model.partial_fit, table, data, budget=budget))
        for call in calls:
            assert not leaks(call), call
        assert not kept(model)


def test_no_function_of_a_fitted_model_shows_data() -> None:
    """Every public function of the package that takes rows or their labels."""
    table, labels = rows(2)
    model = PerceptronClassifier(epsilon=1, delta=1e-5, classes=[0, 1], steps=3).fit(table, labels)
    public = [getattr(dpproof.learn, name) for name in vars(dpproof.learn)["__all__"]]
    taking = {one for one in public if inspect.isfunction(one)}
    taking -= {getattr(dpproof.learn, name) for name in NO_DATA}

    assert {one.__name__ for one in taking} == {"attack", "certify_radius", "robust_accuracy"}
    for one in taking:
        given = {"radius": 0.1} if "radius" in inspect.signature(one).parameters else {}
        for data in bad_data():
            assert not leaks(partial(one, model, data, labels, **given)), one.__name__
            assert not leaks(partial(one, model, table, data, **given)), one.__name__


def test_ledgers_of_fits_have_no_data(tmp_path: Path) -> None:
    """What a ledger keeps of a fit, and of one that failed, shows nothing of the rows."""
    place = str(tmp_path / "ledger")
    ledger = dpproof.Ledger.create(place, budget=dpproof.ApproxDP(epsilon=100, delta=1e-3))
    table, labels = rows(2)
    model = PerceptronClassifier(
        epsilon=1, delta=1e-5, classes=[0, 1], steps=3, ledger=place, ledger_key="fit"
    )
    for given in ([[TEXT]], table):
        assert not leaks(partial(model.fit, given, labels))

    assert not any(marked(path.read_bytes()) for path in tmp_path.iterdir())
    assert not marked(repr(ledger))
