"""Witnesses: thresholds, ratios of values and bins, summaries, discriminants, classifiers."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.auditing.counts import Floats, MissingDependency
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.witness import Score, SmoothOdds, Witness, log_odds

MOST_COORDINATES = 16


@final
@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate; nan below everything."""

    index: int

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return without_nan(column(features, self.index))

    def __str__(self) -> str:
        return f"output[{self.index}]"


@final
@dataclass(frozen=True, slots=True)
class FarFrom:
    """A score: distance of a coordinate from the training median. It finds a wrong scale."""

    index: int
    centre: float

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return without_nan(np.abs(column(features, self.index) - self.centre))

    def __str__(self) -> str:
        return f"|output[{self.index}] - {self.centre:.6g}|"


@final
@dataclass(frozen=True, slots=True)
class Thresholds(Witness):
    """Scores: coordinates up to a number, and their distances from the middle."""

    learns: ClassVar[bool] = False

    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield the scores named in the class docstring."""
        width = training.features.shape[1]
        for index in range(min(width, self.most)):
            yield Coordinate(index)
            finite = training.features[:, index][np.isfinite(training.features[:, index])]
            if len(finite):
                yield FarFrom(index, float(np.median(finite)))


def column(features: Floats, index: int) -> Floats:
    """Return one column, nan where the outputs are shorter than in training."""
    if index < features.shape[1]:
        return np.asarray(features[:, index])
    return np.full(len(features), np.nan)


def without_nan(values: Floats) -> Floats:
    """Return the values, -inf where they are nan, so that what is missing scores least."""
    return np.where(np.isnan(values), -np.inf, values)


@final
@dataclass(frozen=True, slots=True)
class LowestBit:
    """Minus the exponent of the lowest set bit of a coordinate: how fine a grid it needs."""

    # A sum fl(f(D) + noise) lies on the grid of the last bit of the larger of the two, so it tells
    # how large f(D) is: 1 wipes out low bits of a small noise, 0 does not (Mironov, CCS 2012; Haney
    # et al., arXiv:2207.13793).

    index: int

    def __call__(self, features: Floats) -> Floats:
        """Score every row; 0 and what is not finite need no grid at all: -2000."""
        return -lowest_bit(column(features, self.index))

    def __str__(self) -> str:
        return f"-lowest_bit(output[{self.index}])"


def lowest_bit(values: Floats) -> Floats:
    """Return the largest e for which a float is a multiple of 2^e; 2000 for 0, nan, infinities."""
    ordinary = np.isfinite(values) & (values != 0)
    mantissa, exponent = np.frexp(np.where(ordinary, values, 1.0))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64))
    return np.where(ordinary, exponent - 53 + lowest, 2000.0)


@final
@dataclass(frozen=True, slots=True)
class FloatGrid(Witness):
    """The lowest set bit of every coordinate up to a number."""

    learns: ClassVar[bool] = False

    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield one score for each coordinate whose values are not all on one grid."""
        for index in range(min(training.features.shape[1], self.most)):
            bits = lowest_bit(training.features[:, index])
            if np.ptp(bits) > 0:
                yield LowestBit(index)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SumOfOdds:
    """Log-odds of each coordinate, added; 0 for nan. Rounded, as ``LinearScore``."""

    bends: tuple[tuple[int, Floats, Floats], ...]  # of each its index, places, and odds there

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        total = np.zeros(len(features))
        for index, places, odds in self.bends:
            total += np.nan_to_num(np.interp(column(features, index), places, odds))
        return np.asarray(np.round(total, 6))

    def __str__(self) -> str:
        return f"the summed log-odds of {len(self.bends)} coordinates"


@final
@dataclass(frozen=True, slots=True)
class Independent(Witness):
    """Naive Bayes with smooth odds: they saturate, as those of Laplace noise do."""

    learns: ClassVar[bool] = True

    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield one score when at least two coordinates vary."""
        fitted = [
            (index, SmoothOdds.of(training.features[:, index], training.labels))
            for index in range(min(training.features.shape[1], self.most))
        ]
        bends = tuple((index, *smooth.knots()) for index, smooth in fitted if smooth is not None)
        if len(bends) > 1:
            yield SumOfOdds(bends)


_MOST_ATOMS = 4096


@final
@dataclass(frozen=True, slots=True, eq=False)
class AtomOdds:
    """Log-odds of every output that repeated in training; 0 for what was not seen there."""

    keys: NDArray[np.void]
    odds: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        rows = row_keys(features, self.keys.dtype.itemsize // 8)
        place = np.minimum(np.searchsorted(self.keys, rows), len(self.keys) - 1)
        return np.where(self.keys[place] == rows, self.odds[place], 0.0)

    def __str__(self) -> str:
        return f"log-odds of {len(self.keys)} values"


@final
@dataclass(frozen=True, slots=True, eq=False)
class BinOdds:
    """Log-odds of the training bin that a coordinate falls into."""

    index: int
    edges: Floats
    odds: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        return np.asarray(self.odds[_bins(column(features, self.index), self.edges)])

    def __str__(self) -> str:
        return f"log-odds of {len(self.odds)} bins of output[{self.index}]"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Unusual:
    """One for an output that is not the usual one, zero for the usual one."""

    usual: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        width = len(self.usual)
        other = row_keys(features, width) != row_keys(self.usual[None], width)
        return np.asarray(other, dtype=np.float64)

    def __str__(self) -> str:
        return "[output is not the usual one]"


@final
@dataclass(frozen=True, slots=True)
class Histogram(Witness):
    """Whole outputs where they repeat, quantile bins of each coordinate where they do not."""

    learns: ClassVar[bool] = True

    bins: int = 16  # a coordinate
    most: int = MOST_COORDINATES

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield atoms when at most half of the training outputs are distinct, else bins."""
        features, labels = training.features, training.labels
        keys, place = np.unique(row_keys(features, features.shape[1]), return_inverse=True)
        if len(keys) <= min(_MOST_ATOMS, max(len(training) // 2, 2)):
            yield AtomOdds(keys, _odds(place, labels, len(keys)))
            return
        for index in range(min(features.shape[1], self.most)):
            values = features[:, index]
            finite = values[np.isfinite(values)]
            if len(finite) > self.bins:
                edges = np.unique(np.quantile(finite, np.linspace(0, 1, self.bins + 1)[1:-1]))
                odds = _odds(_bins(values, edges), labels, len(edges) + 2)
                yield BinOdds(index, edges, odds)


def _odds(place: NDArray[np.int64], labels: NDArray[np.bool_], cells: int) -> Floats:
    return log_odds(
        np.bincount(place[labels], minlength=cells), np.bincount(place[~labels], minlength=cells)
    )


def _bins(values: Floats, edges: Floats) -> NDArray[np.int64]:
    """Bin of every value; nan has a bin of its own, the last."""
    place = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, place)


def row_keys(features: Floats, width: int) -> NDArray[np.void]:
    """Return rows as opaque values of ``width`` numbers; -0.0 is 0.0 and all nans are equal."""
    rows = np.full((len(features), width), np.nan)
    shared = min(width, features.shape[1])
    rows[:, :shared] = features[:, :shared] + 0.0
    rows[np.isnan(rows)] = np.nan
    return np.ascontiguousarray(rows).view(np.dtype((np.void, 8 * width))).ravel()


def _total(values: Floats) -> Floats:
    """Add up every row from the left, so that nan at its end, counted as 0, changes no bit."""
    return np.asarray(np.cumsum(np.where(np.isnan(values), 0.0, values), axis=1)[:, -1])


def _repeats(features: Floats) -> Floats:
    """Count how many numbers of every row are equal to an earlier one; nan equals nothing."""
    ordered = np.sort(features, axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).sum(axis=1), dtype=np.float64)


def _bits(features: Floats) -> Floats:
    """Add up the lowest bits of the numbers that have one."""
    bits = lowest_bit(features)
    return _total(np.where(np.isfinite(features) & (features != 0), bits, 0.0))


_EXTREME: Final = "the most extreme number of an output"
_SUMMARIES: Final[dict[str, tuple[Callable[[Floats], Floats], str]]] = {
    "sum(output)": (_total, "the sum of an output's numbers"),
    "sum(output ** 2)": (lambda x: _total(x * x), "the norm of an output"),
    "sum(|output|)": (lambda x: _total(np.abs(x)), "the sum of the sizes of an output's numbers"),
    "max(output)": (lambda x: np.max(without_nan(x), axis=1), _EXTREME),
    "-min(output)": (lambda x: np.max(without_nan(-x), axis=1), _EXTREME),
    "max(|output|)": (lambda x: np.max(np.where(np.isnan(x), 0.0, np.abs(x)), axis=1), _EXTREME),
    "sum(output > 0)": (
        lambda x: (x > 0).sum(axis=1).astype(np.float64),
        "how many numbers of an output are positive",
    ),
    "len(output) - len(set(output))": (_repeats, "how many numbers of an output are repeated"),
    "sum(output == output)": (
        lambda x: (~np.isnan(x)).sum(axis=1).astype(np.float64),
        "how many numbers an output has, apart from nan",
    ),
    "sum(lowest_bit(output))": (_bits, "the lowest bits of an output's numbers"),
}


@final
@dataclass(frozen=True, slots=True)
class Summary:
    """One number of a whole output, the same for every dataset and every audit."""

    name: str  # of the number, one of ``Summaries``

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        with np.errstate(over="ignore", invalid="ignore"):
            return without_nan(_SUMMARIES[self.name][0](features))

    def __str__(self) -> str:
        return self.name

    @property
    def meaning(self) -> str:
        """Return what the score looks at, in words."""
        return _SUMMARIES[self.name][1]


@final
@dataclass(frozen=True, slots=True)
class Summaries(Witness):
    """Numbers of whole outputs: sums, sizes, signs, repeats, length and lowest bits.

    They find a wrong scale of a whole gradient, which a fit to few outputs of many numbers cannot.
    """

    learns: ClassVar[bool] = False

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield those that vary, where an output has several numbers."""
        if training.features.shape[1] < 2:
            return
        for score in map(Summary, _SUMMARIES):
            values = score(training.features)
            if (values != values[0]).any():
                yield score


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


_MOST_COORDINATES, _MOST_DEVIATIONS, _RIDGE = 512, 1e6, 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """Rounded weights on standardised coordinates, and on squares where there are twice as many."""

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


_MOST_LEARNED_COORDINATES, _MOST_PRODUCTS, _MOST_LEARNED_DEVIATIONS = 1024, 32, 20.0
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

    Products of two different coordinates up to 32 of them, squares only above. ``strength`` is the
    inverse of the L2 penalty, as scikit-learn's ``C``.
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
    """Gradient boosting of so many trees as ``rounds``, over histograms."""

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
