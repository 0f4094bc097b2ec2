"""Classifiers of scikit-learn as witnesses: a test ranks outputs by the odds that they learned."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.errors import MissingDependency
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.standard import Standard
from dpproof.auditing.witnesses.witness import Score, Witness

_MOST_COORDINATES = 1024
_MOST_PRODUCTS = 32
_MOST_DEVIATIONS = 20.0
_LEAST_TRAINING = 32


@final
@dataclass(frozen=True, slots=True, eq=False)
class LearnedScore:
    """The log-odds of a fitted classifier, rounded so that equal outputs score the same."""

    name: str
    standard: Standard
    degree: int
    classifier: Any

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        design = _design(self.standard, features, self.degree)
        with _one_thread():
            odds = np.asarray(self.classifier.decision_function(design), dtype=np.float64)
        return np.asarray(np.round(odds, 6))

    def __str__(self) -> str:
        return f"log-odds of {self.name}"


@final
@dataclass(frozen=True, slots=True)
class Logistic(Witness):
    """Logistic regression: of the coordinates, and of their products of two.

    Products of two different coordinates up to 32 of them, squares only above.

    Args:
        strength: inverse of the L2 penalty, as scikit-learn's ``C``.
    Raises:
        MissingDependency: scikit-learn is not installed.
    """

    learns: ClassVar[bool] = True

    strength: float = 1.0

    def __post_init__(self) -> None:
        """Raise MissingDependency early if scikit-learn is not installed."""
        _library("linear_model")

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield a linear and a quadratic logistic regression."""
        model = _library("linear_model").LogisticRegression
        for degree, name in ((1, "logistic regression"), (2, "quadratic logistic regression")):
            yield from _fitted(name, model(C=self.strength, max_iter=1_000), training, degree)


@final
@dataclass(frozen=True, slots=True)
class Boosting(Witness):
    """Gradient boosting of trees over histograms.

    Args:
        rounds: how many trees.
        leaves: of each.
    Raises:
        MissingDependency: scikit-learn is not installed.
    """

    learns: ClassVar[bool] = True

    rounds: int = 100
    leaves: int = 15

    def __post_init__(self) -> None:
        """Raise MissingDependency early if scikit-learn is not installed."""
        _library("ensemble")

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield boosted trees."""
        model = _library("ensemble").HistGradientBoostingClassifier(
            max_iter=self.rounds,
            max_leaf_nodes=self.leaves,
            learning_rate=0.05,
            early_stopping=False,
            random_state=0,
        )
        yield from _fitted("boosted trees", model, training, 1)


def learned() -> tuple[Witness, ...]:
    """Return the classifiers in the order in which they are tried.

    Training samples choose among them.

    Raises:
        MissingDependency: scikit-learn is not installed.
    Example:
        >>> [type(witness).__name__ for witness in learned()]
        ['Logistic', 'Boosting']
    """
    return (Logistic(), Boosting())


def _fitted(name: str, classifier: Any, training: Training, degree: int) -> Iterator[Score]:  # noqa: ANN401
    """Yield the trained classifier, if there are enough samples to learn from."""
    if len(training) < _LEAST_TRAINING or len(set(training.labels.tolist())) < 2:
        return
    width = min(training.features.shape[1], _MOST_COORDINATES)
    standard = Standard.of(training.features, width=width, most=_MOST_DEVIATIONS)
    with warnings.catch_warnings(), _one_thread():  # what did not converge is a weaker witness
        warnings.simplefilter("ignore")
        classifier.fit(_design(standard, training.features, degree), training.labels)
    yield LearnedScore(name, standard, degree, classifier)


def _design(standard: Standard, features: Floats, degree: int) -> Floats:
    """Return standardised coordinates, indicators that they are finite, and products of two."""
    plain = standard(features)
    width = min(plain.shape[1], features.shape[1])
    there = np.zeros(plain.shape)
    there[:, :width] = np.isfinite(features[:, :width])
    parts = [plain, there]
    if degree == 2 and plain.shape[1] <= _MOST_PRODUCTS:
        first, second = np.triu_indices(plain.shape[1])
        parts.append(plain[:, first] * plain[:, second])
    elif degree == 2:
        parts.append(plain * plain)
    return np.concatenate(parts, axis=1)


def _one_thread() -> AbstractContextManager[Any]:
    """Limit a fit to one thread: more wait for each other where audits run side by side."""
    limit: AbstractContextManager[Any] = importlib.import_module("threadpoolctl").threadpool_limits(
        limits=1
    )
    return limit


def _library(module: str) -> Any:  # noqa: ANN401  # a module without types
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise MissingDependency(
            "learned witnesses need scikit-learn: pip install 'dpproof[learn]'"
        ) from error
