"""Public data sets, split and scaled by public constants alone.

Nothing is learned from a data set in order to prepare it: no maximum, no mean, no list of labels or
categories. Bounds and categories are those of the data sets' published descriptions.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]

_SEED: Final = 20211108  # of the public split of sets that come in one piece


@final
@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A data set in a training and a test part.

    Attributes:
        name: its name in tables.
        delta: at which its experiments state epsilon.
        classes: their number; labels are 0 to classes - 1.
        train_x, train_y, test_x, test_y: rows in raw units, and labels.
    """

    name: str
    delta: float
    classes: int
    train_x: Matrix
    train_y: Labels
    test_x: Matrix
    test_y: Labels

    def two(self, name: str, positive: Callable[[Labels], NDArray[np.bool_]]) -> Split:
        """Return the same rows with two classes: 1 where a label is positive, else 0."""
        return Split(
            name=name,
            delta=self.delta,
            classes=2,
            train_x=self.train_x,
            train_y=positive(self.train_y).astype(np.int64),
            test_x=self.test_x,
            test_y=positive(self.test_y).astype(np.int64),
        )


def digits(_: Path | None = None) -> Split:
    """Return the small digits that come with scikit-learn: 8 x 8 pixels, scaled to [0, 1]."""
    from sklearn.datasets import load_digits  # noqa: PLC0415  # an optional library

    rows, labels = load_digits(return_X_y=True)
    return _cut("digits", rows / 16, labels, delta=1e-4, classes=10, size=1_500)


def breast_cancer(_: Path | None = None) -> Split:
    """Return cells of tumours, from scikit-learn.

    The thirty measurements are divided by generous public bounds.
    """
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415  # an optional library

    rows, labels = load_breast_cancer(return_X_y=True)
    bounds = np.array([30, 40, 200, 3000, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1])
    errors = np.array([3, 5, 25, 550, 0.05, 0.15, 0.4, 0.06, 0.08, 0.03])
    worst = np.array([40, 50, 260, 4500, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25])
    scaled = rows / np.concatenate([bounds, errors, worst])
    extended = np.column_stack([scaled, np.ones(len(rows))])
    return _cut("breast cancer", extended, labels, delta=1e-4, classes=2, size=450)


def usps(directory: Path) -> Split:
    """Return USPS digits, 16 x 16 pixels in [0, 1], in the published split of 7,291 and 2,007."""
    with np.load(directory / "usps.npz") as file:
        parts = {name: file[name] for name in ("train_x", "train_y", "test_x", "test_y")}
    return Split(
        name="USPS",
        delta=1e-4,
        classes=10,
        train_x=parts["train_x"].astype(np.float64),
        train_y=parts["train_y"].astype(np.int64),
        test_x=parts["test_x"].astype(np.float64),
        test_y=parts["test_y"].astype(np.int64),
    )


def mnist(directory: Path) -> Split:
    """Return MNIST's 10,000 test images, 28 x 28 pixels in [0, 1].

    They are split into 8,000 and 2,000.
    """
    with gzip.open(directory / "t10k-images-idx3-ubyte.gz") as file:
        rows = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784) / 255.0
    with gzip.open(directory / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return _cut("MNIST (test images)", rows, labels, delta=1e-5, classes=10, size=8_000)


NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 4_000),
    "hours-per-week": (1, 99),
}
CATEGORIES: Final[Mapping[str, str]] = {
    "workclass": "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc "
    "State-gov Without-pay",
    "education": "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors "
    "Doctorate HS-grad Masters Preschool Prof-school Some-college",
    "marital-status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent "
    "Never-married Separated Widowed",
    "occupation": "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
    "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
    "Protective-serv Sales Tech-support Transport-moving",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador "
    "El-Salvador England France Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong "
    "Hungary India Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua "
    "Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South "
    "Taiwan Thailand Trinadad&amp;Tobago United-States Vietnam Yugoslavia",
}


def adult(directory: Path) -> Split:
    """Return Adult: five numbers over public bounds, public categories, and a constant feature.

    The label is an income above 50,000; a category that is not listed is none of them.
    """
    with gzip.open(directory / "adult.csv.gz", "rt", encoding="utf-8") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    columns = [_number([row[name] for row in table], *ends) for name, ends in NUMBERS.items()]
    for name, listed in CATEGORIES.items():
        found = np.array([row[name] for row in table])
        columns += [(found == category).astype(np.float64) for category in listed.split()]
    rows = np.column_stack([*columns, np.ones(len(table))])
    labels = np.array([row["label"] == "&gt;50K" for row in table]).astype(np.int64)
    return _cut("Adult", rows, labels, delta=1e-5, classes=2, size=39_073)


LOADERS: Final[Mapping[str, Callable[[Path], Split]]] = {
    "usps": usps,
    "mnist": mnist,
    "adult": adult,
}


def available(directory: Path | None, names: tuple[str, ...]) -> list[Split]:
    """Return the data sets by name from a directory, by default those of scikit-learn."""
    if directory is None:
        return [digits(), breast_cancer()]
    loaders = [partial(LOADERS[name], directory) for name in names]
    return [load() for load in loaders]


def unit(rows: Matrix) -> Matrix:
    """Return rows scaled to norm 1, for methods that do not do it; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0))


def _number(texts: list[str], low: float, high: float) -> Matrix:
    return (np.clip(np.array(texts, dtype=np.float64), low, high) - low) / (high - low)


def _cut(
    name: str,
    rows: Any,  # noqa: ANN401  # any matrix
    labels: Any,  # noqa: ANN401  # any vector
    *,
    delta: float,
    classes: int,
    size: int,
) -> Split:
    """Split a set by a public permutation."""
    order = np.random.default_rng(_SEED).permutation(len(rows))
    x, y = np.asarray(rows, dtype=np.float64)[order], np.asarray(labels).astype(np.int64)[order]
    return Split(name, delta, classes, x[:size], y[:size], x[size:], y[size:])
