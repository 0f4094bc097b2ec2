"""Coordinates on one scale, and classifiers of scikit-learn that rank outputs by learned odds."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from dpproof.auditing.counts import Floats
from dpproof.auditing.errors import MissingDependency
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.coordinates import (
    AtomOdds,
    BinOdds,
    Coordinate,
    FarFrom,
    LowestBit,
    Summary,
    SumOfOdds,
    Unusual,
)
from dpproof.auditing.witnesses.witness import Score, Witness


@final
@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """The training mean and standard deviation of each coordinate."""

    centre: Floats  # mean of the finite values
    scale: Floats  # their standard deviation, 1 where there is none
    most: float  # standardised values are cut to [-most, most]; nan becomes 0

    @staticmethod
    def of(features: Floats, *, width: int, most: float) -> Standard:
        """Return the standardisation of the first ``width`` coordinates."""
        finite = np.where(np.isfinite(features[:, :width]), features[:, :width], np.nan)
        with np.errstate(all="ignore"):
            seen = np.isfinite(finite).sum(axis=0)
            centre = np.where(seen > 0, np.nansum(finite, axis=0) / np.maximum(seen, 1), 0.0)
            spread = np.sqrt(np.nansum((finite - centre) ** 2, axis=0) / np.maximum(seen, 1))
        scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
        return Standard(centre, scale, most)

    def __call__(self, features: Floats) -> Floats:
        """Return rows of training deviations; coordinates that a row does not have are 0."""
        width = len(self.centre)
        rows = np.full((len(features), width), np.nan)
        shared = min(width, features.shape[1])
        rows[:, :shared] = features[:, :shared]
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = (rows - self.centre) / self.scale
        return np.clip(np.nan_to_num(deviations), -self.most, self.most)


_MOST_COORDINATES = 512
_MOST_DEVIATIONS = 1e6
_RIDGE = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """Weights on standardised coordinates, and on their squares where there are twice as many.

    Rounded, so that outputs which differ by rounding errors alone score the same.
    """

    standard: Standard
    weights: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        design = _design(self.standard(features), len(self.weights))
        return np.asarray(np.round(design @ self.weights, 6))

    def __str__(self) -> str:
        width = len(self.standard.centre)
        squares = " and their squares" if len(self.weights) > width else ""
        return f"a linear score of {width} coordinates{squares}"


@final
@dataclass(frozen=True, slots=True)
class LinearDiscriminant(Witness):
    """Fisher's discriminant: least squares of the labels, with and without squares."""

    learns: ClassVar[bool] = True

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield two scores when there are at least two coordinates."""
        features = training.features
        width = min(features.shape[1], _MOST_COORDINATES)
        if width < 2 or len(training) < 8:
            return
        standard = Standard.of(features, width=width, most=_MOST_DEVIATIONS)
        plain = standard(features)
        targets = training.labels - training.labels.mean()
        for columns in (width, 2 * width):
            design = _design(plain, columns)
            gram = design.T @ design
            gram[np.diag_indices_from(gram)] += _RIDGE * len(training)
            yield LinearScore(standard, np.linalg.solve(gram, design.T @ targets))


def _design(plain: Floats, columns: int) -> Floats:
    """Return coordinates, then their squares where twice as many columns are wanted."""
    return plain if columns == plain.shape[1] else np.concatenate([plain, plain * plain], axis=1)


def meaning(score: Score) -> str:
    """Return what a score looks at in words; empty if it is another's."""
    match score:
        case LowestBit(index=index):
            return f"the lowest bit of number {index} of an output"
        case Coordinate(index=index):
            return f"how large number {index} of an output is"
        case FarFrom(index=index):
            return f"how far number {index} of an output is from its usual place"
        case AtomOdds():
            return "values that come up on one dataset more than on the other"
        case BinOdds(index=index):
            return f"where number {index} of an output lies, by bins"
        case Unusual():
            return "whether an output is released that is not the usual one"
        case Summary():
            return score.meaning
        case LinearScore() | SumOfOdds():
            return "many numbers of an output together"
        case _:
            return ""


_MOST_LEARNED_COORDINATES = 1024
_MOST_PRODUCTS = 32
_MOST_LEARNED_DEVIATIONS = 20.0
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
        design = _learned_design(self.standard, features, self.degree)
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
    width = min(training.features.shape[1], _MOST_LEARNED_COORDINATES)
    standard = Standard.of(training.features, width=width, most=_MOST_LEARNED_DEVIATIONS)
    with warnings.catch_warnings(), _one_thread():  # what did not converge is a weaker witness
        warnings.simplefilter("ignore")
        classifier.fit(_learned_design(standard, training.features, degree), training.labels)
    yield LearnedScore(name, standard, degree, classifier)


def _learned_design(standard: Standard, features: Floats, degree: int) -> Floats:
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
