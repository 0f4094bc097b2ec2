"""Hyperparameters chosen privately, in place of a grid search, and what that costs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final, NoReturn, TypeAlias, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from dpproof import mechanisms
from dpproof.accountant import (
    GDP,
    Guarantee,
    SelectionOption,
    SelectionPlan,
    TruncatedNegativeBinomial,
    arguments as check,
    calibrate,
    plan_selection,
)
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import Relation
from dpproof.learn import private_estimator
from dpproof.learn.linear_classifier import (
    LogisticRegression,
    MarginClassifier,
    PerceptronClassifier,
    public_classes,
)
from dpproof.proofs.certificate import Certificate

Tunable: TypeAlias = PerceptronClassifier | MarginClassifier | LogisticRegression

# What a candidate may differ in: not the budget, nor what decides who is protected.
_TUNED: Final = ("margin", "rate", "steps", "norm", "average", "radius", "regulariser")

_NO_SCORE: Final = "no score tells which fit is better: state its parameters, or tune what follows"
_NOT_TUNED: Final = {
    "LinearRegression": "its ridge is found in the release at no cost; its bounds are public",
    "PCA": _NO_SCORE,
    "KMeans": _NO_SCORE,
    "PrivateScaler": _NO_SCORE,
    "SelectKBest": _NO_SCORE,
    "CoverClassifier": "a CoverUnion picks among covers in the same draw, at no cost",
    "Pipeline": "tune the last step: make_pipeline(PrivateScaler(sigma=1), tune(model, grid))",
}


def tune(
    estimator: Tunable,
    grid: Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]],
    *,
    probability: Number = 0.9,
    score_share: Number = 0.1,
    report_share: Number = 0.02,
    expected_runs: Number = 1000,
) -> TunedClassifier:
    """Return a classifier that privately tries the candidates of a grid and keeps the best.

    It stands where ``GridSearchCV`` stands without privacy; see ``TunedClassifier``.

    Arguments are those of ``TunedClassifier``. The estimator's ``epsilon`` and ``delta`` are the
    budget of everything: all trainings, their scores and the choice. Values of the grid were chosen
    without looking at the data.

    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> model = PerceptronClassifier(epsilon=1, delta=1e-5, classes=range(10))
        >>> tuned = tune(model, {"margin": [0.03, 0.1, 0.3], "steps": [20, 60]})
        >>> tuned.guarantee().epsilon(delta=1e-5).upper <= 1
        True
    """
    tuned = TunedClassifier(
        estimator,
        grid,
        probability=probability,
        score_share=score_share,
        report_share=report_share,
        expected_runs=expected_runs,
    )
    tuned.candidates()
    return tuned


@final
@dataclass(kw_only=True, eq=False, repr=False)
class TunedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """The best of a random number of private trainings, each with parameters drawn from a grid.

    One run draws a candidate uniformly, trains it, and counts its mistakes on the same records
    twice, with independent noise; the run with the smallest first count is released, and nothing
    of the others. The number of runs is random, by a law that ``plan_selection`` chooses, which
    keeps many at the cost of a few. The running time tells how many there were: do not publish it.

    Statement: a run is a choice among chains of a training and a count, all at the same mu in the
        limit of many steps, or their mixture; the best of the runs is a selection from it, priced
        exactly.
    Source: Liu & Talwar, arXiv:1811.07971; Papernot & Steinke, arXiv:2110.03620; tuning by a
        noisy score: Wang, Zhu & Wang, arXiv:2505.24737; proofs/theory/selection.md and choice.md.

    Args:
        estimator: with a budget (``epsilon`` and ``delta``); candidates are clones of it. Its
            ledger, if it has one, pays once for the whole search.
        grid: as for ``sklearn.model_selection.ParameterGrid``, over ``margin``, ``steps``,
            ``norm``, ``average``, ``rate``, ``radius`` and ``regulariser``, those that the
            estimator has. For two classes a ``regulariser`` below the least that costs nothing
            stands for that one. Between candidates of different prices the budget is split by the
            central limit theorem, and the price is that of their mixture.
        probability: that a given candidate is among those tried, in (0, 1).
        score_share: of mu^2 of one run, what pays for its score, in (0, 1).
        report_share: likewise for the reported count; both together below 1.
        expected_runs: the most runs on average; of the laws within it the one that needs the least
            noise is taken.
    Attributes:
        best_params_: the parameters of the run that was released.
        best_index_: their position in ``candidates()``.
        best_mistakes_: its noisy number of mistakes, with noise that did not choose it: it is right
            on average, and ``reported`` makes bounds of it. The count that chose is not kept.
        best_mistakes_sigma_: the standard deviation of that noise.
        best_estimator_: the model, which predicts.
        guarantee_: the guarantee of the whole search.
        classes_, n_features_in_: those of the model.
    Raises:
        ParameterError: an argument outside its domain, or an estimator without a budget.
        RefitRefused: on fit, within scikit-learn's model selection.
    Example:
        >>> from sklearn.datasets import load_iris
        >>> model = PerceptronClassifier(epsilon=8, delta=1e-5, classes=range(3), steps=5)
        >>> tuned = tune(model, {"margin": [0.1, 1.0]}).fit(*load_iris(return_X_y=True))
        >>> tuned.best_params_["margin"] in (0.1, 1.0)
        True
    """

    score = private_estimator.scored(ClassifierMixin.score)

    estimator: Tunable = field(kw_only=False)
    grid: Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]] = field(
        kw_only=False
    )
    probability: Number = 0.9
    score_share: Number = 0.1
    report_share: Number = 0.02
    expected_runs: Number = 1000

    def __sklearn_tags__(self) -> Any:
        """Say that rows may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the arguments, and whether the fit was on data declared public."""
        return str(super().__repr__(N_CHAR_MAX)) + private_estimator.said_public(self)

    def candidates(self) -> list[dict[str, Any]]:
        """Return the parameters of all candidates, in the order of ``best_index_``."""
        estimator: object = self.estimator
        if not isinstance(estimator, Tunable):
            others = "MarginClassifier(...) or LogisticRegression(...)"
            name, allowed = type(estimator).__name__, f"a PerceptronClassifier(...), {others}"
            raise ParameterError("estimator", name, allowed, _NOT_TUNED.get(name, ""))
        if estimator.epsilon is None or estimator.delta is None:
            allowed = "with epsilon and delta: the budget of the whole search"
            raise ParameterError("estimator", estimator, allowed)
        try:
            listed = [dict(sorted(one.items())) for one in ParameterGrid(self.grid)]
        except (TypeError, ValueError) as refusal:
            allowed = "a mapping from parameters to lists of values"
            raise ParameterError("grid", self.grid, allowed, str(refusal)) from refusal
        for name in {name for one in listed for name in one}:
            if name not in _TUNED or name not in estimator.get_params():
                raise ParameterError("grid", name, f"over {', '.join(_TUNED)}")
        if len(listed) < 2:
            raise ParameterError("grid", self.grid, "at least 2 candidates")
        tried = [self._clone(one) for one in listed]
        for regulariser in (getattr(one, "regulariser", None) for one in tried):
            if regulariser is not None:
                check.positive(regulariser=regulariser)
        if len({one.scales_rows for one in tried}) > 1:
            hint = "rows are scaled for None and clipped for numbers: tune one of both"
            raise ParameterError("norm", None, "None or a number for all candidates", hint)
        self._shares()
        return listed

    def plan(self) -> SelectionPlan:
        """Return the number of runs and the noise of each, with the needs of the alternatives.

        The noise is 1 / mu of one run. If ``selecting_pays`` is False, there are so few candidates
        that releasing a training of each would cost less.

        Raises:
            ParameterError: as for the class.
            CalibrationError: no noise meets the budget.
        """
        number = len(self.candidates())  # refuses an estimator without a budget
        return plan_selection(
            self._run,
            epsilon=cast("Number", self.estimator.epsilon),
            delta=cast("Number", self.estimator.delta),
            candidates=number,
            probability=self.probability,
        )

    def learner(self) -> mechanisms.Selected[Relation]:
        """Return the mechanism that ``fit`` releases from; it raises what ``plan`` does."""
        option = self.affordable()
        return self._run(option.noise).select(option.runs, score=fewest_mistakes)

    def affordable(self) -> SelectionOption:
        """Return the law of runs, and the noise of each, that are used; as ``plan``."""
        most = check.positive(expected_runs=self.expected_runs)
        # A law that may make no run at all would sometimes leave no model.
        options = [o for o in self.plan().options if isinstance(o.runs, TruncatedNegativeBinomial)]
        affordable = [option for option in options if option.runs.mean <= most]
        if not affordable:
            least = min(option.runs.mean for option in options)
            raise ParameterError("expected_runs", self.expected_runs, f"at least {least:.4g} here")
        return affordable[0]

    def guarantee(self) -> Guarantee[Relation]:
        """Return the guarantee of one fit, known before there is data; it raises as ``plan``."""
        return self.learner().guarantee()

    def certificate(self, *, delta: Number | None = None) -> Certificate:
        """Return a certificate of the whole search, as ``PerceptronClassifier.certificate``."""
        at = self.estimator.delta if delta is None else delta
        fitted = hasattr(self, "guarantee_")
        return (self.guarantee_ if fitted else self.guarantee()).certify(delta=at)

    def fit_blocks(self, blocks: object, *, executor: object = None) -> NoReturn:
        """Raise ``NeedsAllRecords``: candidates are trained and scored on all records."""
        del blocks, executor
        why = "TunedClassifier trains and scores its candidates on all records"
        raise mechanisms.NeedsAllRecords(why)

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> TunedClassifier:
        """Release the best model found, with its parameters and its noisy number of mistakes.

        Arguments and errors are as for the estimator; the same rows take part in all runs.
        """
        private_estimator.refuse_search()
        option, listed = self.affordable(), self.candidates()
        learner = self._run(option.noise).select(option.runs, score=fewest_mistakes)
        if hasattr(self, "guarantee_"):
            warnings.warn(
                "this search was fitted before; on the same records the guarantee of both is their "
                "composition",
                private_estimator.SecondRelease,
                stacklevel=2,
            )
        reader = self._clone(listed[0])  # as every candidate reads
        records = reader.labelled(X, y, sample_weight)
        guarantee = private_estimator.marked(learner.guarantee())
        account, name = (reader.ledger, reader.ledger_key), type(self).__name__
        with private_estimator.paid(*account, guarantee, name):
            index, (model, (_, wrong)) = learner.release(records, rng=reader.rng())
        self.guarantee_, self.public_data_ = guarantee, private_estimator.data_are_public()
        self.best_index_ = int(index)
        self.best_params_ = listed[self.best_index_]
        self.best_mistakes_ = float(wrong)
        self.best_mistakes_sigma_ = float(self._sigmas(option.noise)[1])
        self.best_estimator_ = self._clone(self.best_params_).adopt(model, self.guarantee_)
        self.best_estimator_.public_data_ = self.public_data_
        self.classes_ = self.best_estimator_.classes_
        self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    def reported(self, *, records: int) -> mechanisms.NoisyCount:
        """Return the reported count as risk bounds take it, without a price for the choice.

        Its noise is independent of everything that chose, so that ``selected`` is 1.

        Args:
            records: n, public.
        Raises:
            ParameterError: a relation under which n is not public.
            NotFittedError: there is no count yet.
        Example:
            >>> from sklearn.datasets import load_iris
            >>> from dpproof.accountant import ReplaceOne
            >>> given = {"epsilon": 8, "delta": 1e-5, "classes": range(3), "steps": 5}
            >>> tuned = tune(
            ...     PerceptronClassifier(relation=ReplaceOne(), **given), {"margin": [0.1, 1.0]}
            ... ).fit(*load_iris(return_X_y=True))
            >>> tuned.reported(records=150).value == tuned.best_mistakes_
            True
        """
        check_is_fitted(self)
        return mechanisms.NoisyCount(
            value=self.best_mistakes_,
            sigma=self.best_mistakes_sigma_,
            records=records,
            relation=self.guarantee_.relation,
        )

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores of the best model, as for its own class."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the classes that the best model predicts."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def _clone(self, changes: Mapping[str, Any]) -> Tunable:
        return cast("Tunable", clone(self.estimator).set_params(**changes))

    def _run(self, noise: float) -> mechanisms.UniformChoice[Relation]:
        """Return one run whose training and score together cost mu = 1 / noise, or nearly."""
        total, sigmas = (1 - sum(self._shares())) / Fraction(noise) ** 2, self._sigmas(noise)
        parts = [self._trained(one, total) for one in self.candidates()]
        counts = mechanisms.NoisyMistakes(
            sigma=sigmas[0],
            report_sigma=sigmas[1],
            map=self.estimator.score_map(),
            relation=parts[0].relation,
        )
        chains = (mechanisms.Chained(first=part, then=counts) for part in parts)
        return mechanisms.UniformChoice(parts=tuple(chains))

    def _shares(self) -> tuple[Fraction, Fraction]:
        """Return the shares of the count that chooses and of the one that is reported."""
        score = check.open_probability(score_share=self.score_share)
        report = check.open_probability(report_share=self.report_share)
        if score + report >= 1:
            allowed = f"below 1 - score_share = {float(1 - score):g}"
            raise ParameterError("report_share", self.report_share, allowed)
        return score, report

    def _sigmas(self, noise: float) -> tuple[Fraction, Fraction]:
        """Return the noise of the choosing and of the reported count, for that of a run, 1 / mu."""
        score, report = self._shares()
        squared = 1 / Fraction(noise) ** 2
        return 1 / sqrt_up(squared * score), 1 / sqrt_up(squared * report)

    def _trained(
        self, changes: Mapping[str, Any], mu_squared: Fraction
    ) -> mechanisms.Mechanism[Relation]:
        """Return a candidate's learner, one training of which costs mu, exactly or in the limit."""
        # Heuristic: a limit theorem splits the budget; the price is of the noise there is.
        candidate = self._clone({**changes, "epsilon": None, "delta": None, "sigma": 1})
        regulariser, number = None, len(public_classes(candidate.classes))
        if isinstance(candidate, LogisticRegression) and number == 2:
            regulariser = candidate.regulariser
            candidate.set_params(regulariser=None)
        stated = candidate.learner().guarantee()
        if isinstance(stated, GDP):
            sigma = sqrt_up(stated.mu_squared / mu_squared)
        else:
            one = math.sqrt(mu_squared / candidate.steps) / float(_rate(candidate))
            sigma = Fraction(_contribution(candidate) / math.sqrt(math.log1p(one**2)))
        learner = candidate.set_params(sigma=sigma).learner()
        base: Any = learner.base if isinstance(learner, mechanisms.Featured) else learner
        if regulariser is not None and check.positive(regulariser=regulariser) > base.regulariser:
            learner = candidate.set_params(regulariser=regulariser).learner()
        return cast("mechanisms.Mechanism[Relation]", learner)


def _contribution(candidate: Tunable) -> float:
    """Return what one row moves a sum by, 1 if unknown. Heuristic: it splits the budget."""
    stated = clone(candidate).set_params(rate=1, batch=None, sigma=1).learner().guarantee()
    return math.sqrt(stated.mu_squared / candidate.steps) if isinstance(stated, GDP) else 1.0


def _rate(candidate: Tunable) -> Fraction:
    """Return the sampling rate of a step; margin learners take all rows."""
    return check.rate(rate=getattr(candidate, "rate", 1))


def fewest_mistakes(output: Any) -> float:
    """Return minus the first noisy count of a run, which is (index, (model, two noisy counts))."""
    return -float(output[1][1][0])


# That the scores of all other runs together do not hide a better one.
_FAILURE: Final = 0.05


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPrice:
    """What a search costs, beside one fit at the whole budget.

    Attributes:
        noise: the noise of one training in the search, divided by that of a fit without a search.
        epsilon: a fit without a search has as much noise as the search at this epsilon.
        resolution: with probability .95 a candidate wins whose accuracy on the rows of the fit is
            so much above that of all others, in a search with the average number of runs.
        may_pay: False if the resolution is above what the best candidate can gain on guessing: the
            search then draws a candidate almost at random.
    """

    noise: float
    epsilon: float
    resolution: float
    may_pay: bool

    def __str__(self) -> str:
        """Return the price and the question that is left, as a sentence each."""
        words = (
            f"A training in the search has {self.noise:.2f} times the noise: that of a fit without "
            f"a search at epsilon {self.epsilon:.3g}. Scores tell accuracies apart that differ by "
            f"{self.resolution:.2g}. "
        )
        if not self.may_pay:
            return words + "The search does not pay: its choice is nearly random."
        return words + (
            f"It pays only if the best candidate at epsilon {self.epsilon:.3g} is better than the "
            "defaults at the whole budget."
        )


def tuning_price(search: TunedClassifier, *, records: int) -> TuningPrice:
    """Return what a search costs beside one fit without it; no data are needed.

    Heuristic: noise is compared as that of mu-GDP, which samples have in the limit of many steps.
    What the candidates gain is no number that is known before: compare on public rows like yours,
    the defaults at the whole budget and the grid at ``epsilon``.

    Args:
        search: made by ``tune``.
        records: about how many rows there will be, a public number.
    Raises:
        ParameterError: as for ``search.plan``, or no number of rows.
        CalibrationError: no noise meets the budget.
    Example:
        >>> from dpproof.learn import PerceptronClassifier, tune
        >>> model = PerceptronClassifier(epsilon=1, delta=1e-5, classes=range(10))
        >>> price = tuning_price(tune(model, {"margin": [0.03, 0.1, 0.3]}), records=1_500)
        >>> price.may_pay, price.epsilon < 0.7
        (True, True)
    """
    size, model = check.count(records=records), search.estimator
    option, delta = search.affordable(), cast("Number", model.delta)
    training = option.noise / math.sqrt(1 - float(search.score_share) - float(search.report_share))
    alone = calibrate(
        lambda noise: GDP(mu=1 / noise), epsilon=model.epsilon, delta=delta, increasing=False
    ).value
    one_sided = 1 - _FAILURE / (2 * max(option.runs.mean, 1))
    sigma = option.noise / math.sqrt(float(search.score_share))
    resolution = 2 * NormalDist().inv_cdf(one_sided) * sigma / size
    return TuningPrice(
        noise=training / float(alone),
        epsilon=GDP(mu=1 / training).epsilon(delta=delta).upper,
        resolution=resolution,
        may_pay=resolution < 1 - 1 / len(public_classes(model.classes)),
    )
