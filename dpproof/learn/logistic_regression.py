"""Private logistic regression as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from accountant import AddRemove, Guarantee, ReplaceLabel, ReplaceOne, calibrate
from accountant import arguments as check
from accountant.arguments import Number
from accountant.errors import ParameterError
from accountant.relation import Relation
from dpproof.learn.perceptron_classifier import class_numbers
from dpproof.learn.spending import LedgerPlace, paid
from dpproof.learn.warnings import PredictableNoise, SecondRelease
from mechanisms import LogisticObjective, Mechanism, OneVsRest, Records
from proofs.certificate import Certificate

# Share of the budget's epsilon at which the loss has its floor: the output noise has to fit above.
_FLOOR: Final = Fraction(63, 64)


@final
class LogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """Learn logistic regression under differential privacy, by objective perturbation.

    Two classes are learned by ``LogisticObjective``, k classes by k runs of it, one class against
    the rest. What ``fit`` keeps is a function of the released weights and of the arguments; the
    guarantee depends on the arguments alone.

    Args:
        epsilon: with ``delta``, the budget: sigma is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the standard deviation of the random linear term.
        classes: all labels, in the order of ``classes_``, at least two. They are public; a row with
            another label contributes nothing.
        norm: rows are clipped to this Euclidean norm, a public bound in data units. None scales
            every row to norm 1, in fits and in predictions, which needs no bound.
        regulariser: weight of ||w||^2 / 2 in the sum of the losses, which is not divided by the
            number of rows. None is the least that costs nothing: 2 sigma^2, or with a budget, if
            records are added or removed, about norm^2 / epsilon.
        relation: which datasets are neighbours; None is AddRemove().
        random_state: None takes the noise from the operating system. An integer makes it
            predictable, for tests only, and warns.
        ledger: a ``dpproof.Ledger``, its path or its URL, from which ``fit`` pays before it
            releases anything; clones spend the same one.
        ledger_key: names the fit in the ledger. It pays for one fit: a second one is refused.
    Attributes:
        classes_: ``classes`` as an array.
        coef_: the weights: shape (1, features) for two classes, else (classes, features).
        intercept_: zeros; add a constant feature to learn an offset, which counts in the norm.
        n_features_in_: features of ``fit``.
        guarantee_: what the fit satisfies.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
        NotImplied: on guarantee and fit, a regulariser below 2 sigma^2 if a record or label is
            replaced.
    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> model = LogisticRegression(epsilon=1, delta=1e-5, classes=[0, 1])
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model.fit(X, y).predict_proba(X).shape
        (569, 2)
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        classes: Sequence[object] | None = None,
        norm: Number | None = None,
        regulariser: Number | None = None,
        relation: Relation | None = None,
        random_state: int | None = None,
        ledger: LedgerPlace | None = None,
        ledger_key: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.sigma = sigma
        self.classes = classes
        self.norm = norm
        self.regulariser = regulariser
        self.relation = relation
        self.random_state = random_state
        self.ledger = ledger
        self.ledger_key = ledger_key

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
            NotImplied: a regulariser below 2 sigma^2 if a record or label is replaced.
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> LogisticRegression:  # noqa: N803  # scikit-learn
        """Release weights learned from the rows and their labels.

        A second fit is a second release: if it sees a record again, the costs of both add up.

        Args:
            X: shape (rows, features), numbers; rows that are not finite contribute nothing.
            y: labels, shape (rows,); a row whose label is not one of ``classes`` contributes
                nothing.
        Raises:
            ParameterError: as for ``learner``.
            BudgetExceeded, LedgerError: the ledger does not pay; nothing is released.
            NotImplied: a regulariser below 2 sigma^2 if a record or label is replaced.
            ValueError: X and y are not a matrix and a vector of the same length.
        """
        learner = self.learner()
        guarantee = learner.guarantee()
        if hasattr(self, "coef_"):
            warnings.warn(
                "this estimator was fitted before; on the same records the guarantee of both fits "
                "is their composition",
                SecondRelease,
                stacklevel=2,
            )
        rows = validate_data(self, X, ensure_all_finite=False, ensure_min_samples=0)
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None")
        # A list is read label by label: as one array, a single text turns all its numbers to texts.
        labels = column_or_1d(y, warn=True, dtype=None if hasattr(y, "dtype") else np.object_)
        if labels.shape != (len(rows),):
            raise ValueError(f"y has shape {labels.shape}, expected one label for {len(rows)} rows")
        numbers = class_numbers(labels, self._classes())
        signed = np.array([-1, 1, 0])[numbers] if len(self._classes()) == 2 else numbers
        with paid(self.ledger, self.ledger_key, guarantee, type(self).__name__):
            released = learner.release(Records(rows, signed), rng=self._rng())
        self.guarantee_ = guarantee
        self.classes_ = np.asarray(self._classes())
        self.scaled_ = self.norm is None
        self.coef_ = np.atleast_2d(released.weights)
        self.intercept_ = np.zeros(len(self.coef_))
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Log odds: of the second class, shape (rows,), or of each, shape (rows, classes)."""
        check_is_fitted(self)
        rows = np.asarray(validate_data(self, X, reset=False), dtype=np.float64)
        if self.scaled_:
            largest = np.abs(rows).max(axis=1, keepdims=True)
            rows = rows / np.where(largest > 0, largest, 1)
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows / np.where(length > 0, length, 1)
        scores = np.asarray(rows @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Probabilities of the classes, shape (rows, classes).

        With more than two classes those of one against the rest, divided by their sum.
        """
        scores = self.decision_function(X)
        shares = 0.5 * (1 + np.tanh(0.5 * scores))
        if shares.ndim == 1:
            return np.stack([1 - shares, shares], axis=1)
        total = shares.sum(axis=1, keepdims=True)
        even = np.full_like(shares, 1 / shares.shape[1])
        return np.asarray(np.divide(shares, total, out=even, where=total > 0))

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803  # scikit-learn
        """The class of largest score for every row; of equal scores, the first class."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return cast("NDArray[Any]", self.classes_[best])

    def _classes(self) -> list[object]:
        if self.classes is None or isinstance(self.classes, str):
            allowed = "the sequence of all labels, known without looking at private data"
            raise ParameterError("classes", self.classes, allowed)
        classes = np.asarray(self.classes, dtype=np.object_).tolist()
        if len(classes) < 2 or len(set(classes)) < len(classes):
            raise ParameterError("classes", self.classes, "at least two different labels")
        return list(classes)

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        classes = len(self._classes())
        relation: Relation = AddRemove() if self.relation is None else self.relation
        regulariser = self._least(sigma, relation) if self.regulariser is None else self.regulariser
        base = LogisticObjective(
            sigma=sigma, regulariser=regulariser, norm=self.norm, relation=relation
        )
        return base if classes == 2 else OneVsRest(base=base, classes=classes)

    def _least(self, sigma: Number, relation: Relation) -> Number:
        """The least regulariser at which epsilon is that of the gradient alone.

        Of several runs the floors add up, so with more than two classes there is none.
        """
        free = 2 * Fraction(sigma) ** 2 if sigma else Fraction(1)
        several = len(self._classes()) > 2
        if self.epsilon is None or several or isinstance(relation, ReplaceOne | ReplaceLabel):
            return free
        norm = Fraction(1) if self.norm is None else Fraction(self.norm)
        return 1 / (1 / free + _FLOOR * check.positive(epsilon=self.epsilon) / norm**2)

    def _rng(self) -> np.random.Generator | None:
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise predictable, and the fit protects nobody: tests only",
            PredictableNoise,
            stacklevel=3,
        )
        return np.random.default_rng(self.random_state)
