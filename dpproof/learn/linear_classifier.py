"""What private linear classifiers with scikit-learn's interface share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from accountant import Guarantee, calibrate
from accountant.arguments import Number
from accountant.errors import ParameterError
from accountant.relation import Relation
from dpproof.learn.refits import refuse_search
from dpproof.learn.spending import LedgerPlace, paid
from dpproof.learn.warnings import PredictableNoise, SecondRelease
from mechanisms import Mechanism, Records
from proofs.certificate import Certificate


class LinearClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # untyped library
    """A classifier by released weights: the budget, one paid fit, and scores linear in the rows.

    A subclass says which mechanism runs at a given sigma, and what of its release it keeps.
    """

    epsilon: Number | None
    delta: Number | None
    sigma: Number | None
    classes: Sequence[object] | None
    random_state: int | None
    ledger: LedgerPlace | None
    ledger_key: str | None

    @abstractmethod
    def _at(self, sigma: Number) -> Mechanism[Relation]:
        """Return the mechanism with noise of this standard deviation."""

    @abstractmethod
    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep a model that the learner released, with what its release satisfies.

        Args:
            released: an output of ``learner()``, with fields ``weights``, ``steps``, ``stopped``.
            guarantee: of the mechanism that released it, which may have been one of many runs.
        """

    def _extended(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows that the mechanism gets."""
        return rows

    @abstractmethod
    def _weighted(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows that the weights of the fit are multiplied with."""

    def learner(self) -> Mechanism[Relation]:
        """The mechanism that ``fit`` releases from, its noise calibrated to the budget.

        Raises:
            ParameterError: an argument outside its domain, or not one of a budget and sigma.
        """
        if (self.sigma is None) == (self.epsilon is None):
            raise ParameterError(
                "sigma", self.sigma, "given if and only if epsilon and delta are not"
            )
        if self.sigma is not None:
            return self._at(self.sigma)
        self._at(1)  # refuses every other bad argument by its name
        found = calibrate(self._at, epsilon=self.epsilon, delta=self.delta, increasing=False)
        return self._at(found.value)

    def guarantee(self) -> Guarantee[Relation]:
        """What one fit satisfies; it is known before there is any data.

        Raises:
            ParameterError: as for ``learner``.
        """
        return self.learner().guarantee()

    def certificate(self, *, delta: Number | None = None) -> Certificate:
        """A certificate of the fit's (epsilon, delta), for ``python -m proofs``.

        After a fit it is about that fit, whatever arguments were set since; before, about the next.

        Args:
            delta: where epsilon is certified; by default that of the budget.
        Raises:
            ParameterError: no delta here and none in the budget.
        """
        at = self.delta if delta is None else delta
        if at is None:
            raise ParameterError("delta", None, "given, here or as part of the budget")
        fitted = hasattr(self, "guarantee_")
        return (self.guarantee_ if fitted else self.guarantee()).certify(delta=at)

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
        refuse_search()
        learner = self.learner()
        guarantee = learner.guarantee()
        if hasattr(self, "coef_"):
            warnings.warn(
                "this estimator was fitted before; on the same records the guarantee of both fits "
                "is their composition",
                SecondRelease,
                stacklevel=2,
            )
        records = self.records(X, y)
        with paid(self.ledger, self.ledger_key, guarantee, type(self).__name__):
            released = learner.release(records, rng=self.rng())
        return self.adopt(released, guarantee)

    def records(self, X: ArrayLike, y: ArrayLike) -> Records:  # noqa: N803  # scikit-learn
        """The rows and their labels as the mechanism reads them; nothing is released.

        Raises:
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        rows = validate_data(self, X, ensure_all_finite=False, ensure_min_samples=0)
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None")
        # A list is read label by label: as one array, a single text turns all its numbers to texts.
        labels = column_or_1d(y, warn=True, dtype=None if hasattr(y, "dtype") else np.object_)
        if labels.shape != (len(rows),):
            raise ValueError(f"y has shape {labels.shape}, expected one label for {len(rows)} rows")
        numbers = class_numbers(labels, self._classes())
        signed = np.array([-1, 1, 0])[numbers] if len(self._classes()) == 2 else numbers
        return Records(self._extended(rows), signed)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Scores: of the second class, shape (rows,), or of every class, shape (rows, classes)."""
        check_is_fitted(self)
        rows = self._weighted(np.asarray(validate_data(self, X, reset=False), dtype=np.float64))
        scores = np.asarray(rows @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803  # scikit-learn
        """The class of largest score for every row; of equal scores, the first class."""
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

    def rng(self) -> np.random.Generator | None:
        """Where the noise comes from: None is the operating system; a seed warns."""
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise predictable, and the fit protects nobody: tests only",
            PredictableNoise,
            stacklevel=3,
        )
        return np.random.default_rng(self.random_state)


def class_numbers(labels: NDArray[Any], classes: Sequence[object]) -> NDArray[np.int64]:
    """The position of every label among the classes, -1 for a label that is none of them.

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
