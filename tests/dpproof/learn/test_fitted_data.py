"""What is said of the data of a fit: that they are public, or that nobody paid for a look."""

from __future__ import annotations

import contextvars
import threading
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from dpproof import proofs
from dpproof.learn import PerceptronClassifier, PrivateScaler, UnpaidTransformer, public_data, tune
from dpproof.proofs import VerifiedUnder

LABELS = np.arange(40) % 2
ROWS = np.ones((40, 4)) + LABELS[:, np.newaxis]


def small() -> PerceptronClassifier:
    """A classifier of one step."""
    return PerceptronClassifier(sigma=1, steps=1, classes=[0, 1])


def test_a_transformer_that_learns_from_rows_is_named() -> None:
    """Also inside another one; those of constants, and private ones, are not."""
    inside = ColumnTransformer([("inner", StandardScaler(), [0, 1, 2, 3])])
    for step in (StandardScaler(), inside):
        with pytest.warns(UnpaidTransformer, match="StandardScaler"):
            make_pipeline(step, small()).fit(ROWS, LABELS)
    constant = (Normalizer(), FunctionTransformer(np.sqrt), "passthrough", PrivateScaler(sigma=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(*constant, small()).fit(ROWS, LABELS)
        with public_data():
            make_pipeline(StandardScaler(), small()).fit(ROWS, LABELS)


def test_an_outer_pipeline_is_warned_of_too() -> None:
    """A pipeline as the last step of another one hides no transformer of the outer one."""
    inner = make_pipeline(Normalizer(), small())
    with pytest.warns(UnpaidTransformer, match="StandardScaler"):
        make_pipeline(StandardScaler(), inner).fit(ROWS, LABELS)


def test_the_end_of_the_block_is_the_end_for_tasks_too() -> None:
    """A copy of the context, as an asynchronous task has one, is private after the block."""
    with public_data(), public_data():
        copied = contextvars.copy_context()
        assert copied.run(small().fit, ROWS, LABELS).public_data_

    assert not copied.run(small().fit, ROWS, LABELS).public_data_


def test_searches_go_on_where_data_are_public_and_models_say_so() -> None:
    """Inside the block alone; the model, its guarantee and its certificate tell of it."""
    with public_data():
        search = GridSearchCV(small(), {"margin": [0.1, 0.2]}, cv=2).fit(ROWS, LABELS)
        assert len(cross_val_score(small(), ROWS, LABELS, cv=2)) == 2
    best, outside = search.best_estimator_, small().fit(ROWS, LABELS)
    inside, plain = (proofs.check(one.certificate(delta=1e-5)) for one in (best, outside))

    assert best.public_data_
    assert "declared public" in repr(best)
    assert isinstance(inside, VerifiedUnder)
    assert any("declared public" in label for label in inside.labels)
    assert not outside.public_data_
    assert "public" not in repr(outside)
    assert isinstance(plain, VerifiedUnder)
    assert not plain.labels
    with pytest.raises(ValueError, match="public_data"):
        GridSearchCV(small(), {"margin": [0.1]}, cv=2).fit(ROWS, LABELS)


@pytest.mark.slow
def test_a_tuned_model_says_so_too() -> None:
    """A search of our own that was fitted in the block."""
    model = PerceptronClassifier(epsilon=8, delta=1e-5, steps=1, classes=[0, 1])
    with public_data():
        found = tune(model, {"margin": [0.1, 0.2]}, probability=0.5).fit(ROWS, LABELS)

    assert found.public_data_
    assert found.guarantee_.derivation.label == "fitted on data declared public"
    assert found.best_estimator_.public_data_
    assert all("declared public" in repr(one) for one in (found, found.best_estimator_))


def test_the_block_is_of_one_thread_and_ends_with_an_error() -> None:
    """Another thread is not in it, and neither is what comes after an exception."""
    found: list[bool] = []

    def fit() -> None:
        found.append(bool(small().fit(ROWS, LABELS).public_data_))

    with public_data():
        worker = threading.Thread(target=fit)
        worker.start()
        worker.join()
        with pytest.raises(ZeroDivisionError), public_data():
            raise ZeroDivisionError
        fit()

    assert found == [False, True]
    assert not small().fit(ROWS, LABELS).public_data_
