"""The common part of private linear classifiers with scikit-learn's interface."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpproof.accountant import Guarantee, ReplaceLabel
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation
from dpproof.learn.private_estimator import PrivateEstimator
from dpproof.learn.reading import read_labels, read_rows, read_targets, scored
from dpproof.mechanisms import FeatureMap, Records
from dpproof.mechanisms.learning.records import Matrix, dense_blocks, with_column
from dpproof.mechanisms.parameters import scale
from dpproof.mechanisms.samplers.rng import as_rng


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(ClassifierMixin, PrivateEstimator, ABC):  # type: ignore[misc]  # untyped
    """A classifier by released weights, linear in rows with a constant, or in mapped rows."""

    classes: Sequence[object] | None = None
    map: FeatureMap | None = None
    fit_intercept: bool | None = False
    intercept_scaling: Number = 1
    max_weight: Number = 1
    score = scored(ClassifierMixin.score)

    @property
    def learns_offset(self) -> bool:
        """Return whether an offset is learned; None stands for two classes without a map."""
        if self.fit_intercept is None:
            return self.map is None and len(self._classes()) == 2
        return self.fit_intercept

    @property
    def scales_rows(self) -> bool:
        """Return whether the rows are scaled before the mechanism gets them."""
        return False

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # of scikit-learn
        """Say that rows may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(
        self,
        X: ArrayLike,  # noqa: N803  # scikit-learn
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Release weights learned from the rows and their labels.

        A second fit is a second release: if it sees a record again, the costs of both add up.

        Args:
            X: shape (rows, features), numbers; rows that are not finite contribute nothing. Of a
                sparse matrix the weights are those of the dense one, bit for bit.
            y: labels, shape (rows,); a row whose label is not one of ``classes`` contributes
                nothing.
            sample_weight: private weights, shape (rows,). A row of weight w takes part in the fit
                with probability w / ``max_weight``, by one private coin; None takes all rows.
        Raises:
            ParameterError: as for ``learner``.
            BudgetExceeded, LedgerError: the ledger does not pay; nothing is released.
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        if sample_weight is None:
            return self._fitted(X, y)
        return self._released(lambda _: self.labelled(X, y, sample_weight))  # one coin a record

    def labelled(self, X: Any, y: Any = None, sample_weight: Any = None) -> Records:  # noqa: ANN401, N803
        """Return the rows and their labels as the mechanism reads them; nothing is released.

        Source: of the coins: proofs/theory/learners.md, Lemma 16.

        Raises:
            ParameterError: weights under replace-label, where they could tell labels.
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        rows = read_rows(self, X, fitting=True)
        numbers = class_numbers(read_labels(y, rows.shape[0]), self._classes())
        if sample_weight is not None:
            if isinstance(self.neighbours, ReplaceLabel):
                allowed = "left out under replace-label: a weight may tell the label"
                raise ParameterError("sample_weight", "weights", allowed)
            weights = read_targets(sample_weight, rows.shape[0], name="sample_weight")
            most = float(scale(self.max_weight, "max_weight"))
            seed = self.random_state
            rng = None if seed is None else np.random.default_rng([seed, 1])
            coins = (as_rng(rng).words(len(weights)) >> np.uint64(11)) * 2.0**-53
            with np.errstate(over="ignore"):
                numbers[~(coins < weights / most)] = -1  # nan, too
        signed = np.array([-1, 1, 0])[numbers] if len(self._classes()) == 2 else numbers
        return Records(self._extended(rows), signed)

    def _rows(self, X: Any, y: Any = None, *weights: Any) -> Records:  # noqa: ANN401, N803
        """Return ``labelled`` rows; every step reads a block again, and would draw its coins."""
        if weights:
            raise ParameterError("blocks", "weights", "of rows and labels; weights go to fit")
        return self.labelled(X, y)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return scores: of the second class, shape (rows,), or of all, shape (rows, classes)."""
        check_is_fitted(self)
        blocks = dense_blocks(read_rows(self, X, fitting=False))
        mapped = (rows if self.map_ is None else self.map_.apply(rows) for rows in blocks)
        scores = np.concatenate([self._scores(rows) for rows in mapped])
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of mapped rows, shape (rows, weight vectors)."""
        return np.asarray(rows @ self.coef_.T + self.intercept_, dtype=np.float64)

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803  # scikit-learn
        """Return the class of largest score for every row; of equal scores, the first class."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return cast("NDArray[Any]", self.classes_[best])

    def _classes(self) -> list[object]:
        """Return the public labels, at least two and different."""
        return public_classes(self.classes)

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the weights, and the steps that were made if the learner makes steps."""
        self.guarantee_ = guarantee
        self.classes_ = np.asarray(self._classes())
        self.map_ = self.score_map()
        weights = np.atleast_2d(released.weights)
        self.coef_ = weights[:, :-1] if self.learns_offset else weights
        offsets = weights[:, -1] * float(self.intercept_scaling)
        self.intercept_ = offsets if self.learns_offset else np.zeros(len(weights))
        self.n_features_in_ = self.coef_.shape[1] if self.map_ is None else self.map_.features
        if "steps" in released.dtype.names:
            self.n_iter_, self.stopped_ = int(released.steps), bool(released.stopped)
        return self

    def score_map(self) -> FeatureMap | None:
        """Return the map of the rows that released weights are multiplied with; None if none."""
        return self.map

    def _extended(self, rows: Matrix) -> Matrix:
        """Append the constant feature to every row that is not blank."""
        if not self.learns_offset:
            return rows
        present = np.asarray((rows != 0).sum(axis=1) > 0)
        return with_column(rows, np.where(present, float(self.intercept_scaling), 0.0))

    def _check_intercept(self) -> None:
        """Refuse a constant feature beside a map, or one or a bound that is no positive number."""
        scale(self.intercept_scaling, "intercept_scaling")
        scale(self.max_weight, "max_weight")
        fit_intercept: object = self.fit_intercept
        if not isinstance(fit_intercept, bool | None) or (fit_intercept and self.map is not None):
            allowed = "True, False or None, and not True with a map"
            raise ParameterError("fit_intercept", fit_intercept, allowed)


def public_classes(labels: Sequence[object] | None) -> list[object]:
    """Return the labels of all classes.

    Raises:
        ParameterError: not a sequence of at least two different labels.
    Example:
        >>> public_classes(["no", "yes"])
        ['no', 'yes']
    """
    array = np.asarray(labels, dtype=np.object_)
    if array.ndim != 1:
        allowed = "the sequence of all labels, known without looking at private data"
        raise ParameterError("classes", labels, allowed)
    classes = array.tolist()
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ParameterError("classes", labels, "at least two different labels")
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
