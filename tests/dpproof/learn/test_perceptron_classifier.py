"""The private perceptron as a scikit-learn classifier."""

from __future__ import annotations

import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant import AddRemove, ReplaceOne, WithoutReplacement
from dpproof.accountant.errors import ParameterError
from dpproof.learn import PerceptronClassifier, PredictableNoise, SecondRelease
from dpproof.mechanisms import (
    ChooseIterate,
    FourierFeatures,
    GaussianStop,
    KeslerPerceptron,
    NormStop,
    Records,
)
from dpproof.mechanisms.learning.bounded_updates import learned
from dpproof.pipeline.parse import load
from tests.architecture.tree import ROOT
from tests.contracts.mechanism_contract import AUDIT_ALARM

datasets = pytest.importorskip("sklearn.datasets")
base = pytest.importorskip("sklearn.base")
X, Y = datasets.load_digits(return_X_y=True)
WAVES = FourierFeatures(features=64, frequencies=300, width=40, seed=1, norm=80)
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}


def digits(**changes: Any) -> PerceptronClassifier:  # noqa: ANN401  # whatever it takes
    """The classifier of the ten digits at epsilon 1."""
    return PerceptronClassifier(**{**BUDGET, "classes": range(10), **changes})


def test_digits_end_to_end(tmp_path: Path) -> None:
    """Priced before the fit, accurate after it, and its certificate convinces the checker."""
    model = digits()
    before = model.guarantee()
    model.fit(X, Y)
    file = tmp_path / "certificate.json"
    file.write_text(model.certificate().to_json(), encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "dpproof.proofs", str(file)],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )

    assert 0.99 < before.epsilon(delta=1e-5).lower <= before.epsilon(delta=1e-5).upper <= 1
    assert model.guarantee_ == before
    assert model.score(X, Y) > 0.85
    assert checked.returncode == 0, checked.stdout
    assert b"1e-05)-DP for add-remove neighbours" in checked.stdout


@pytest.mark.slow
def test_audit_on_neighbours_is_green() -> None:
    """Runs with and without one image do not contradict the guarantee."""
    model = digits(epsilon=4)
    data = Records(X[:20], Y[:20])
    report = auditing.audit(
        model.learner().sampler(),
        (data, data[1:]),
        model.guarantee(),
        samples=200,
        significance=AUDIT_ALARM,
    )

    assert report.outcome is not auditing.Outcome.VIOLATION, str(report)


def test_the_pipeline_file_prices_the_same_training() -> None:
    """``examples/private-digits.toml`` is this classifier, at its sigma rounded to six digits."""
    pipeline = load(str(ROOT / "examples" / "private-digits.toml"))
    (stage,) = pipeline.stages
    learner = stage.build(pipeline.relation)

    assert isinstance(learner, KeslerPerceptron)
    assert pipeline.delta == Fraction(1e-5)
    sigma = float(learner.sigma)
    assert digits(epsilon=None, delta=None, sigma=sigma).guarantee() == learner.guarantee()
    assert sigma == pytest.approx(float(digits().learner().sigma), rel=1e-5)  # type: ignore[attr-defined]


def test_what_is_kept_is_a_function_of_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the release is the same, other data leaves the same pickle, byte for byte."""
    weights = np.arange(640.0).reshape(1, 10, 64)
    output = learned(np.array([False]), np.array([60]), weights)[np.newaxis]
    monkeypatch.setattr(KeslerPerceptron, "draw", lambda *_: output)
    one, other = digits().fit(X, Y), digits().fit(X[5:300] / 3 - 1, (Y[5:300] + 1) % 12)

    assert pickle.dumps(one) == pickle.dumps(other)


def test_unknown_labels_and_broken_rows_contribute_nothing() -> None:
    """A label that is not among the classes, and a row with a nan, change no bit."""
    broken = X.copy()
    broken[::7, 3] = np.nan
    unknown = np.where(np.arange(len(Y)) % 5 == 0, -3, Y)
    kept = np.isfinite(broken).all(axis=1) & (unknown >= 0)
    with pytest.warns(PredictableNoise):
        one = digits(random_state=1).fit(broken, unknown)
    with pytest.warns(PredictableNoise):
        other = digits(random_state=1).fit(X[kept], Y[kept])

    assert (one.coef_ == other.coef_).all()


@pytest.mark.parametrize("odd", ["x", 0.5, None, [1], {}, 10**400])
def test_one_label_in_a_list_changes_no_other(odd: Any) -> None:  # noqa: ANN401  # any label
    """Of a list of labels, a text or a fraction is one unknown label, and the others stay."""
    big = 2**53 + 1
    rows, labels = np.tile(np.eye(2), (20, 1)), [big - 1, big] * 20
    plain = PerceptronClassifier(sigma=1, steps=3, classes=[big - 1, big], random_state=1)
    with pytest.warns(PredictableNoise):
        one = base.clone(plain).fit(rows, labels)
    with pytest.warns(PredictableNoise):
        other = base.clone(plain).fit(np.concatenate([rows, rows[:1]]), [*labels, odd])

    assert (one.coef_ == other.coef_).all()
    assert abs(one.coef_[0, 0]) > 10


def test_the_certificate_is_about_the_fit_that_was_made() -> None:
    """Arguments that are set after a fit change what the next one costs, not what this one did."""
    model = digits(steps=2).fit(X, Y)
    before = model.certificate()
    model.set_params(epsilon=0.01)

    assert model.certificate().to_json() == before.to_json()
    assert base.clone(model).certificate().to_json() != before.to_json()


@pytest.mark.parametrize("classes", [["small", "large"], [True, False], [5, 3, 8], ("a", "b", "c")])
def test_labels_are_what_the_user_calls_them(classes: Any) -> None:  # noqa: ANN401
    """Predictions are labels, of two classes and of more, words and numbers."""
    labels = np.asarray(classes)[np.arange(400) % len(classes)]
    rows = np.eye(len(classes))[np.arange(400) % len(classes)]
    model = PerceptronClassifier(epsilon=4, delta=1e-5, classes=classes).fit(rows, labels)

    assert (model.predict(rows) == labels).all()
    assert model.classes_.tolist() == list(classes)
    assert model.decision_function(rows).shape == ((400,) if len(classes) == 2 else (400, 3))


def test_a_second_fit_says_that_it_is_a_second_release() -> None:
    """The first fit is silent, a clone's as well, the second one warns."""
    model = digits(steps=2).fit(X, Y)
    fresh = base.clone(model)
    with pytest.warns(SecondRelease, match="composition"):
        model.fit(X, Y)

    fresh.fit(X, Y)
    assert fresh.get_params() == model.get_params()


def test_parameters_reach_the_learner() -> None:
    """Relation, rate, norm, margin, steps and averaging are those of the mechanism."""
    model = PerceptronClassifier(
        sigma=3, classes=[0, 1], norm=2, margin=0.5, rate=0.25, steps=7, average=False
    )
    learner = model.learner()

    for name, value in model.get_params().items():
        if name in ("sigma", "norm", "margin", "rate", "steps", "average"):
            assert getattr(learner, name) == value
    assert learner.relation == AddRemove()
    assert model.set_params(relation=ReplaceOne()).learner().relation == ReplaceOne()


def test_an_offset_is_learned() -> None:
    """Of rows on one side of 0 that a line through 0 cannot tell apart; blank rows stay blank."""
    rng = np.random.default_rng(3)
    rows = rng.uniform(0.1, 0.9, size=(2_000, 1))
    labels = (rows[:, 0] > 0.5).astype(int)
    without = PerceptronClassifier(epsilon=4, delta=1e-5, classes=[0, 1], fit_intercept=False)
    without.fit(rows, labels)
    model = base.clone(without).set_params(fit_intercept=True, intercept_scaling=0.5)
    model.fit(rows, labels)

    assert without.score(rows, labels) < 0.7
    assert model.score(rows, labels) > 0.9
    assert model.coef_.shape == (1, 1)
    assert -model.intercept_[0] / model.coef_[0, 0] == pytest.approx(0.5, abs=0.1)
    assert model.guarantee_ == without.guarantee_
    with pytest.warns(PredictableNoise):
        one = base.clone(model).set_params(random_state=1).fit(rows, labels)
    blank = np.zeros((5, 1))
    with pytest.warns(PredictableNoise):
        other = base.clone(one).fit(np.concatenate([rows, blank]), [*labels, 1, 1, 1, 1, 1])
    assert (one.coef_ == other.coef_).all()
    assert (one.intercept_ == other.intercept_).all()


def test_features_of_a_map_are_learned() -> None:
    """Digits through Fourier features: as costly, the map in the derivation, and as accurate."""
    model = digits(map=WAVES).fit(X, Y)

    assert model.guarantee_ == digits().guarantee()
    assert WAVES.description in model.guarantee_.derivation.explain()
    assert model.coef_.shape == (10, 600)
    assert model.score(X, Y) > 0.8
    with pytest.raises(ParameterError, match="64 wide"):
        base.clone(model).fit(X[:, 1:], Y)


def test_stopping_rules_reach_the_learner() -> None:
    """A test ends the run and says so; what it costs is in the budget; a choice makes all steps."""
    plain = digits(epsilon=None, delta=None, sigma=40)
    tested = base.clone(plain).set_params(stop=NormStop(below=10_000)).fit(X, Y)
    chosen = base.clone(plain).set_params(stop=ChooseIterate(epsilon=0.5)).fit(X, Y)
    counted = digits(stop=GaussianStop(sigma=400, below=100))

    assert (tested.stopped_, tested.n_iter_) == (True, 0)
    assert tested.guarantee_ == plain.guarantee()
    assert not chosen.stopped_
    assert chosen.guarantee_.epsilon(delta=1e-5).lower > plain.guarantee().epsilon(delta=1e-5).upper
    assert counted.guarantee().epsilon(delta=1e-5).upper <= 1
    assert counted.learner().sigma > digits().learner().sigma  # type: ignore[attr-defined]


def test_batches_of_a_fixed_size_reach_the_learner() -> None:
    """Under replace-one, for as many rows as the scheme says."""
    batch = WithoutReplacement(sample_size=200, population_size=len(X))
    model = digits(epsilon=None, delta=None, sigma=4, relation=ReplaceOne(), batch=batch, steps=9)
    model.fit(X, Y)

    assert model.guarantee_.relation == ReplaceOne()
    assert model.guarantee_ == model.learner().guarantee()
    with pytest.raises(ParameterError, match="1797 records"):
        base.clone(model).fit(X[:-1], Y[:-1])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"classes": None}, "classes must be the sequence of all labels"),
        ({"classes": [1]}, "at least two"),
        ({"classes": [1, 1, 2]}, "different"),
        ({"classes": "ab"}, "classes must be the sequence"),
        ({"epsilon": None}, r"given, and not both, got 'neither'; write Perceptron\w+\(epsilon=1"),
        ({"sigma": 1}, r"given, and not both, got 'both'; write Perceptron"),
        ({"delta": None}, "delta must be given together"),
        ({"steps": 0}, "steps must be"),
        ({"rate": 2}, "rate must be"),
        ({"margin": -1}, "margin must be"),
        ({"stop": "early"}, "stop must be"),
        ({"batch": WithoutReplacement(sample_size=1, population_size=2)}, "ReplaceOne"),
        ({"map": np.eye(64)}, "map must be"),
        ({"fit_intercept": 1}, "fit_intercept must be"),
        ({"fit_intercept": True, "map": WAVES}, "fit_intercept must be"),
        ({"intercept_scaling": 0}, "intercept_scaling must be"),
        ({"relation": "add-remove"}, "relation must be"),
    ],
)
def test_refusals(changes: dict[str, Any], text: str) -> None:
    """Every argument is checked before the data is looked at, and the error says what to do."""
    with pytest.raises(ParameterError, match=text):
        digits(**changes).fit(X, Y)
    with pytest.raises(ParameterError, match=text):
        digits(**changes).guarantee()


def test_shapes_are_refused() -> None:
    """Rows and labels have to be a matrix and a vector of the same length."""
    cases: list[tuple[Any, Any]] = [(X[0], Y), (X, Y[:-1]), (X, X[:, :2]), (X, None)]
    for rows, labels in cases:
        with pytest.raises(ValueError, match=r"[Ss]hape|2D|1d array|y is None"):
            digits().fit(rows, labels)
    with pytest.raises(ParameterError, match="delta"):
        digits(epsilon=None, delta=None, sigma=9).certificate()


@pytest.mark.filterwarnings("ignore:random_state")
def test_two_classes_have_an_offset_unless_told_otherwise() -> None:
    """The same as a stated one, bit for bit; three classes, and mapped rows, have none."""
    rows, labels = datasets.load_iris(return_X_y=True)
    plan = FourierFeatures(features=4, frequencies=8, width=1, seed=1)
    given: dict[str, Any] = {"sigma": 3, "random_state": 1}
    stated: dict[str, Any] = {"fit_intercept": True, "intercept_scaling": 0.25}
    two = PerceptronClassifier(**given, classes=[0, 1]).fit(rows, labels)
    same = PerceptronClassifier(**given, classes=[0, 1], **stated).fit(rows, labels)
    three = PerceptronClassifier(**given, classes=range(3)).fit(rows, labels)
    mapped = PerceptronClassifier(**given, classes=[0, 1], map=plan).fit(rows, labels)

    assert two.intercept_[0] == same.intercept_[0] != 0
    np.testing.assert_array_equal(two.coef_, same.coef_)
    assert not three.intercept_.any()
    assert not mapped.intercept_.any()
