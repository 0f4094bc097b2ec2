"""The common part of private linear classifiers with scikit-learn's interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpproof.accountant import Guarantee, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation
from dpproof.learn.private_estimator import PrivateEstimator
from dpproof.learn.reading import read_labels, read_rows, scored
from dpproof.mechanisms import FeatureMap, Records


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(ClassifierMixin, PrivateEstimator, ABC):  # type: ignore[misc]  # untyped
    """A classifier by released weights, whose scores are linear in the rows."""

    classes: Sequence[object] | None = None
    score = scored(ClassifierMixin.score)

    def _extended(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows that the mechanism gets."""
        return rows

    @property
    def scales_rows(self) -> bool:
        """Return whether the rows are scaled before the mechanism gets them."""
        return False

    @abstractmethod
    def _weighted(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows that the weights of the fit are multiplied with."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803  # scikit-learn
        """Release weights learned from the rows and their labels.

        A second fit is a second release: if it sees a record again, the costs of both add up.

        Args:
            X: shape (rows, features), numbers; rows that are not finite contribute nothing.
            y: labels, shape (rows,); a row whose label is not one of ``classes`` contributes
                nothing.
        Raises:
            ParameterError: as for ``learner``.
            BudgetExceeded, LedgerError: the ledger does not pay; nothing is released.
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        return self._released(lambda: self.records(X, y))

    def records(self, X: ArrayLike, y: ArrayLike) -> Records:  # noqa: N803  # scikit-learn
        """Return the rows and their labels as the mechanism reads them; nothing is released.

        Raises:
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        rows = read_rows(self, X, fitting=True)
        numbers = class_numbers(read_labels(y, len(rows)), self._classes())
        signed = np.array([-1, 1, 0])[numbers] if len(self._classes()) == 2 else numbers
        return Records(self._extended(rows), signed)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return scores: of the second class, shape (rows,), or of all, shape (rows, classes)."""
        check_is_fitted(self)
        rows = self._weighted(read_rows(self, X, fitting=False))
        scores = np.asarray(rows @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803  # scikit-learn
        """Return the class of largest score for every row; of equal scores, the first class."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return cast("NDArray[Any]", self.classes_[best])

    def _classes(self) -> list[object]:
        """Return the public labels, at least two and different."""
        if self.classes is None or isinstance(self.classes, str):
            allowed = "the sequence of all labels, known without looking at private data"
            raise ParameterError("classes", self.classes, allowed)
        classes = np.asarray(self.classes, dtype=np.object_).tolist()
        if len(classes) < 2 or len(set(classes)) < len(classes):
            raise ParameterError("classes", self.classes, "at least two different labels")
        return list(classes)


def class_numbers(labels: NDArray[Any], classes: Sequence[object]) -> NDArray[np.int64]:
    """Return the position of every label among the classes, -1 for a label that is none of them.

    Laws: of one label, whatever the others are; no label raises an error.
    Example:
        >>> class_numbers(np.array(["b", "c", "a"]), ["a", "b"]).tolist()
        [1, -1, 0]
    """
    if labels.dtype == np.object_:
        positions = {label: number for number, label in enumerate(classes)}
        return np.array([_position(label, positions) for label in labels], dtype=np.int64)
    numbers = np.full(len(labels), -1)
    for number, label in enumerate(classes):
        numbers[labels == label] = number
    return numbers


def _position(label: object, positions: Mapping[object, int]) -> int:
    """Return where a label stands, -1 if it is none of them."""
    try:
        return positions.get(label, -1)
    except TypeError:  # a label without a hash, such as a list, is none of the classes
        return -1


@dataclass(kw_only=True, eq=False, repr=False)
class MappedClassifier(LinearClassifier, ABC):
    """A linear classifier of rows with a constant feature, or of mapped rows."""

    map: FeatureMap | None = None
    fit_intercept: bool = False
    intercept_scaling: Number = 1

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the weights, and the steps that were made if the learner makes steps."""
        self.guarantee_ = guarantee
        self.classes_ = np.asarray(self._classes())
        self.map_ = self.score_map()
        weights = np.atleast_2d(released.weights)
        self.coef_ = weights[:, :-1] if self.fit_intercept else weights
        offsets = weights[:, -1] * float(self.intercept_scaling)
        self.intercept_ = offsets if self.fit_intercept else np.zeros(len(weights))
        self.n_features_in_ = self.coef_.shape[1] if self.map_ is None else self.map_.features
        if "steps" in released.dtype.names:
            self.n_iter_, self.stopped_ = int(released.steps), bool(released.stopped)
        return self

    def score_map(self) -> FeatureMap | None:
        """Return the map of the rows that released weights are multiplied with; None if none."""
        return self.map

    def _weighted(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map the rows as the fit did."""
        return rows if self.map_ is None else self.map_.apply(rows)

    def _extended(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Append the constant feature to every row that is not blank."""
        if not self.fit_intercept:
            return rows
        present = rows.any(axis=1)
        return np.column_stack([rows, np.where(present, float(self.intercept_scaling), 0.0)])

    def _check_intercept(self) -> None:
        """Refuse a constant feature beside a map, and one that is no positive number.

        Raises:
            ParameterError: naming the argument.
        """
        check.positive(intercept_scaling=self.intercept_scaling)
        fit_intercept: object = self.fit_intercept
        if not isinstance(fit_intercept, bool) or (fit_intercept and self.map is not None):
            raise ParameterError("fit_intercept", fit_intercept, "True or False, False with a map")
