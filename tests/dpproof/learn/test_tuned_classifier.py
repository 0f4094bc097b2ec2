"""Hyperparameters chosen privately: priced, released, proved; other searches are refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpproof import proofs
from dpproof.accountant import GDP, DominatingPair, ReplaceOne, TruncatedNegativeBinomial
from dpproof.accountant.errors import ParameterError
from dpproof.learn import (
    PCA,
    CoverClassifier,
    KMeans,
    LinearRegression,
    LogisticRegression,
    PerceptronClassifier,
    PrivateScaler,
    RefitRefused,
    SecondRelease,
    SelectKBest,
    TunedClassifier,
    pipeline_guarantee,
    private_pipeline,
    tune,
    tuning_price,
)
from dpproof.mechanisms import (
    Chained,
    FourierFeatures,
    NoisyMistakes,
    Records,
    Selected,
    SystemRng,
    UniformChoice,
)

datasets = pytest.importorskip("sklearn.datasets")
selection = pytest.importorskip("sklearn.model_selection")
base = pytest.importorskip("sklearn.base")
X, Y = datasets.load_iris(return_X_y=True)
GRID: dict[str, list[Any]] = {"margin": [0.05, 0.5], "steps": [2, 8]}


def model(**changes: Any) -> PerceptronClassifier:  # noqa: ANN401  # whatever it takes
    """The classifier of the three irises."""
    given = {"epsilon": 4, "delta": 1e-5, "classes": range(3), **changes}
    return PerceptronClassifier(**given)


def _noise(tuned: TunedClassifier) -> float:
    """Twelve standard deviations of the reported count: it is farther with probability 1e-32."""
    run = tuned.learner().base
    assert isinstance(run, UniformChoice)
    (chain, *_) = run.parts
    assert isinstance(chain, Chained)
    assert isinstance(chain.then, NoisyMistakes)
    assert chain.then.report_sigma is not None
    return 12 * float(chain.then.report_sigma)


def test_the_whole_search_stays_within_the_budget() -> None:
    """The price is known before the fit, near the budget and not above, and is kept after it."""
    tuned = tune(model(), GRID)
    before = tuned.guarantee()
    tuned.fit(X, Y)
    spent = before.epsilon(delta=1e-5)

    assert 3.9 < spent.lower <= spent.upper <= 4
    assert tuned.guarantee_ == before == tuned.best_estimator_.guarantee_
    assert tuned.best_params_ == tuned.candidates()[tuned.best_index_]
    assert tuned.best_params_["steps"] == tuned.best_estimator_.n_iter_
    assert tuned.plan().best.probability_drawn >= 0.9
    assert (tuned.predict(X) == tuned.best_estimator_.predict(X)).all()
    assert tuned.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("relation", [None, "replace-one"])
def test_every_candidate_costs_the_same(relation: str | None) -> None:
    """All trainings are mu-GDP with one mu, and both counts have their share of mu^2."""
    tuned = tune(
        model(relation=ReplaceOne() if relation else None), GRID, score_share=0.2, report_share=0.05
    )
    run = tuned.learner().base
    assert isinstance(run, UniformChoice)
    chains = [part for part in run.parts if isinstance(part, Chained)]
    squares = [chain.first.guarantee().mu_squared for chain in chains]  # type: ignore[attr-defined]
    score = chains[0].then.guarantee()

    assert len(chains) == 4
    assert isinstance(score, GDP)
    assert max(squares) - min(squares) < 1e-9 * max(squares)
    assert float(score.mu_squared / max(squares)) == pytest.approx(1 / 3, rel=1e-6)
    assert float(run.guarantee().mu_squared) == pytest.approx(4 / 3 * float(max(squares)))  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_best_has_the_fewest_mistakes() -> None:
    """At a budget that needs no noise, the count is that of the model, and the best one is kept."""
    two = np.arange(150) % 2
    rows = np.stack([2.0 * two - 1, np.ones(150)], axis=1)
    rows[:120, 0] *= 0.02  # in the mean of all rows, the others drown these
    grid = {"margin": [0.0, 5.0]}
    tuned = tune(model(epsilon=200, norm=2, classes=[0, 1], steps=9), grid, expected_runs=20).fit(
        rows, two
    )
    wrong = int((tuned.predict(rows) != two).sum())

    assert tuned.best_mistakes_ == pytest.approx(wrong, abs=_noise(tuned))
    with pytest.raises(ParameterError, match="relation must be"):
        tuned.reported(records=150)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [{"margin": [0.1, 0.5]}, {"rate": [0.25, 0.5, 1]}])
def test_candidates_may_take_samples_of_one_rate_or_of_several(grid: Any) -> None:  # noqa: ANN401
    """One rate has one pair, several have their mixture; both meet the budget and no less."""
    sampled = tune(model(steps=4, rate=0.5), grid, probability=0.5, expected_runs=5)

    assert isinstance(sampled.learner().base.guarantee(), DominatingPair)
    assert 3.9 < sampled.guarantee().epsilon(delta=1e-5).upper <= 4
    assert sampled.fit(X, Y).best_params_ in sampled.candidates()


@pytest.mark.slow
def test_certificate_is_verified() -> None:
    """The checker accepts the search's epsilon, and a lowered one it rejects."""
    certificate = tune(model(epsilon=1), GRID).certificate()
    verdict = proofs.check(certificate)
    lowered = certificate.to_json().replace(f'"{certificate.claim["epsilon"]}"', '"0.9"')

    assert isinstance(verdict, proofs.VerifiedUnder)
    assert "(0.99" in str(verdict.claim)
    assert any("looking at no data" in one for one in verdict.assumptions)
    assert isinstance(proofs.check_text(lowered), proofs.Rejected)


@pytest.mark.parametrize("steps", [3, 60])
def test_scikit_learns_searches_are_refused(steps: int) -> None:
    """A grid search and a cross-validation fail, saying what to use; a plain fit does not."""
    plain = model(steps=steps)
    with pytest.raises(ValueError, match=r"dpproof.learn.tune\(estimator, grid\)"):
        selection.GridSearchCV(plain, {"margin": [0.1, 0.2]}).fit(X, Y)
    with pytest.raises(ValueError, match="every fit and score is a release"):
        selection.cross_val_score(tune(plain, GRID), X, Y)
    with pytest.raises(RefitRefused):
        selection.cross_val_score(plain, X, Y, error_score="raise")
    half, _, labels, _ = selection.train_test_split(X, Y)
    assert plain.fit(half, labels).score(half, labels) > 0.3


@pytest.mark.slow
def test_what_is_kept_is_a_function_of_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the release is the same, other data leaves the same pickle, byte for byte."""
    output = tune(model(), GRID, probability=0.5).learner().draw([Records(X, Y)], 1, SystemRng())
    monkeypatch.setattr(Selected, "draw", lambda *_: output)
    one = tune(model(), GRID).fit(X, Y)
    other = tune(model(), GRID).fit(X[9:] * 2, (Y[9:] + 1) % 3)

    assert pickle.dumps(one) == pickle.dumps(other)


def test_a_second_fit_says_that_it_is_a_second_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first fit is silent, the second one warns; a clone is fresh."""
    tuned = tune(model(), GRID)
    planned = tuned.plan()
    monkeypatch.setattr(TunedClassifier, "plan", lambda _: planned)
    tuned.fit(X, Y)
    with pytest.warns(SecondRelease, match="composition"):
        tuned.fit(X, Y)
    fresh = base.clone(tuned)

    assert isinstance(fresh, TunedClassifier)
    assert fresh.grid == tuned.grid
    fresh.fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "grid", "given", "text"),
    [
        (None, GRID, {}, "estimator must be a PerceptronClassifier"),
        (LinearRegression(epsilon=1, delta=1e-5), GRID, {}, "found in the release at no cost"),
        (PCA(epsilon=1, delta=1e-5), GRID, {}, "no score tells which fit is better"),
        (KMeans(epsilon=1, delta=1e-5), GRID, {}, "no score tells which fit is better"),
        (SelectKBest(epsilon=1, delta=1e-5), GRID, {}, "or tune what follows"),
        (CoverClassifier(epsilon=1), GRID, {}, "a CoverUnion picks among covers"),
        (
            private_pipeline(model(epsilon=None, delta=None), epsilon=1, delta=1e-5),
            GRID,
            {},
            "tune the last step",
        ),
        (model(epsilon=None, delta=None, sigma=3), GRID, {}, "the budget of the whole search"),
        (model(), {"margin": [0.1]}, {}, "at least 2 candidates"),
        (model(), {"margin": 0.1}, {}, "a mapping from parameters to lists"),
        (model(), {"sigma": [1, 2]}, {}, "over margin, rate, steps"),
        (model(), {"classes": [[0, 1], [1, 2]]}, {}, "over margin, rate, steps"),
        (model(), GRID, {"score_share": 1}, "score_share must be"),
        (model(), GRID, {"score_share": 0}, "score_share must be"),
        (model(), GRID, {"report_share": 0}, "report_share must be"),
        (model(), GRID, {"report_share": 0.9}, "below 1 - score_share"),
    ],
)
def test_refusals(estimator: Any, grid: Any, given: dict[str, Any], text: str) -> None:  # noqa: ANN401
    """Every argument is checked where it enters, and the error says what is allowed."""
    with pytest.raises(ParameterError, match=text):
        tune(estimator, grid, **given)


@pytest.mark.slow
def test_mapped_rows_and_offsets_are_tuned_as_well() -> None:
    """The count is that of the model, on mapped rows and with a constant feature."""
    plan = FourierFeatures(features=4, frequencies=20, width=3, seed=1)
    for changes in ({"map": plan}, {"fit_intercept": True}):
        tuned = tune(model(epsilon=200, **changes), GRID, expected_runs=30).fit(X, Y)
        wrong = int((tuned.predict(X) != Y).sum())

        assert tuned.best_mistakes_ == pytest.approx(wrong, abs=_noise(tuned))
        assert tuned.n_features_in_ == 4


def test_laws_with_more_runs_than_wanted_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A law that needs less noise but many more runs is not taken; too few are refused."""
    tuned = tune(model(epsilon=200), GRID)
    planned = tuned.plan()
    monkeypatch.setattr(TunedClassifier, "plan", lambda _: planned)
    laws = [option.runs for option in planned.options]
    fewest = min(law.mean for law in laws if isinstance(law, TruncatedNegativeBinomial))

    assert planned.best.runs.mean > 1000
    assert tuned.learner().runs.mean <= 1000
    assert tuned.set_params(expected_runs=fewest).learner().runs.mean == fewest
    assert min(law.mean for law in laws) < fewest  # Poisson runs, of which there may be none
    with pytest.raises(ParameterError, match="expected_runs must be at least"):
        tuned.set_params(expected_runs=2).learner()


def test_a_probability_is_one() -> None:
    """The probability of trying the best candidate lies inside (0, 1)."""
    with pytest.raises(ParameterError, match="probability"):
        tune(model(), GRID, probability=1).guarantee()


def test_a_regulariser_in_the_grid_is_checked() -> None:
    """One that is no positive number does not stand for the least silently."""
    candidate = LogisticRegression(epsilon=4, delta=1e-5, classes=range(2))
    for bad in (-1, float("nan"), "private"):
        with pytest.raises(ParameterError, match="regulariser"):
            tune(candidate, {"regulariser": [9, bad]}).guarantee()


@pytest.mark.slow
def test_regularisers_are_tuned_behind_a_map() -> None:
    """Of two classes; a small one stands for the least that costs nothing."""
    plan = FourierFeatures(features=4, frequencies=8, width=2, seed=1)
    candidate = LogisticRegression(epsilon=4, delta=1e-5, classes=range(2), map=plan)
    tuned = tune(candidate, {"regulariser": [0.25, 99]}, probability=0.5).fit(X, Y)
    run = tuned.learner().base
    assert isinstance(run, UniformChoice)
    low, high = (part.first.base.regulariser for part in run.parts)  # type: ignore[attr-defined]

    assert 0.25 < low < high == 99
    assert tuned.guarantee_.epsilon(delta=1e-5).upper <= 4


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_tuned_at_the_end_of_a_pipeline(classes: int) -> None:
    """Over regularisers and radii, within the budget, behind a step that looks at nothing."""
    pipelines = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    grid: dict[str, list[Any]] = {"regulariser": [0.25, 9]}
    if classes == 3:
        grid = {"radius": [2, 16], "steps": [4, 16]}
    candidate = LogisticRegression(epsilon=4, delta=1e-5, classes=range(classes))
    tuned = tune(candidate, grid, probability=0.5)
    whole = pipelines.make_pipeline(preprocessing.Normalizer(), tuned).fit(X, Y)
    run = tuned.learner().base
    assert isinstance(run, UniformChoice)
    sigmas = {part.first.sigma for part in run.parts if isinstance(part, Chained)}  # type: ignore[attr-defined]

    assert 3.9 < tuned.guarantee_.epsilon(delta=1e-5).upper <= 4
    assert len(sigmas) == (1 if classes == 2 else 2)
    if classes == 2:
        low, high = (part.first.regulariser for part in run.parts)  # type: ignore[attr-defined]
        assert 0.25 < low == min(sigmas) / 2 < high == 9
    assert whole.predict(X).shape == Y.shape
    assert tuned.best_params_ in tuned.candidates()


def test_the_price_of_a_search_is_known_before_it() -> None:
    """Noise against that of the two learners; the resolution by an integral over the best score."""
    tuned = tune(model(), GRID)
    price = tuning_price(tuned, records=150)
    alone = model().learner().guarantee()
    run = tuned.learner().base
    assert isinstance(run, UniformChoice)
    chain = run.parts[0]
    assert isinstance(chain, Chained)
    trained = chain.first.guarantee()
    ratio = float(alone.mu_squared / trained.mu_squared) ** 0.5  # type: ignore[attr-defined]
    alike = model(epsilon=price.epsilon).learner().guarantee()
    others = tuned.learner().runs.mean
    moved = 150 * price.resolution / float(chain.then.sigma)  # type: ignore[attr-defined]
    noise = np.linspace(-9, 9, 20_001)
    density = stats.norm.pdf(noise) * (noise[1] - noise[0])
    wins = [(density * stats.norm.sf(noise - gap) ** others).sum() for gap in (moved, moved / 2)]

    assert price.noise == pytest.approx(ratio, rel=1e-6)
    assert alike.mu_squared == pytest.approx(trained.mu_squared, rel=1e-4)  # type: ignore[attr-defined]
    assert wins[0] > 0.95 > wins[1]
    assert price.may_pay
    assert "better than the defaults" in str(price)
    hopeless = tuning_price(tuned, records=3)
    assert not hopeless.may_pay
    assert "nearly random" in str(hopeless)


@pytest.mark.slow
def test_a_search_behind_a_private_step_is_paid_beside_it() -> None:
    """A scaler runs once, whatever the number of runs; the pipeline states the sum."""
    pipelines = pytest.importorskip("sklearn.pipeline")
    tuned = tune(model(epsilon=3), {"margin": [0.05, 0.5]}, probability=0.5)
    whole = pipelines.make_pipeline(PrivateScaler(sigma=40), tuned).fit(X, Y)
    price = pipeline_guarantee(whole).epsilon(delta=1e-5)

    assert 3 < price.lower <= price.upper < 3.2
    assert whole.predict(X).shape == Y.shape


@pytest.mark.slow
def test_classes_may_be_an_array() -> None:
    """A price and a search of logistic regression asked whether the array is true."""
    classes: Any = np.array([0, 1])
    model = LogisticRegression(epsilon=1, delta=1e-5, classes=classes)
    search = tune(model, {"regulariser": [1000.0, 2000.0]})

    assert tuning_price(search, records=1_000).noise > 1
