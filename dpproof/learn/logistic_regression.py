"""Private logistic regression as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import Guarantee, ReplaceLabel, ReplaceOne, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import Relation
from dpproof.learn.linear_classifier import LinearClassifier
from dpproof.mechanisms import LogisticObjective, Mechanism, OneVsRest
from dpproof.mechanisms.learning.logistic_objective import free_regulariser

# Share of the budget's epsilon at which the loss has its floor: the output noise has to fit above.
_FLOOR: Final = Fraction(63, 64)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(LinearClassifier):
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
            number of rows. None is the least that costs nothing: norm sigma or 2 sigma^2, or with
            a budget, if records are added or removed, about norm^2 / epsilon.
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
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
        NotImplied: on guarantee and fit, a regulariser below norm sigma and 2 sigma^2 if a record
            or label is replaced.
    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> model = LogisticRegression(epsilon=1, delta=1e-5, classes=[0, 1])
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model.fit(X, y).predict_proba(X).shape
        (569, 2)
    """

    norm: Number | None = None
    regulariser: Number | None = None

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the weights, and how predictions scale their rows."""
        self.guarantee_ = guarantee
        self.classes_ = np.asarray(self._classes())
        self.scaled_ = self.norm is None
        self.coef_ = np.atleast_2d(released.weights)
        self.intercept_ = np.zeros(len(self.coef_))
        return self

    def _weighted(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale every row to norm 1 if the fit did."""
        if not self.scaled_:
            return rows
        largest = np.abs(rows).max(axis=1, keepdims=True)
        rows = rows / np.where(largest > 0, largest, 1)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(length > 0, length, 1)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return the probabilities of the classes, shape (rows, classes).

        With more than two classes those of one against the rest, divided by their sum.
        """
        scores = self.decision_function(X)
        shares = 0.5 * (1 + np.tanh(0.5 * scores))
        if shares.ndim == 1:
            return np.stack([1 - shares, shares], axis=1)
        total = shares.sum(axis=1, keepdims=True)
        even = np.full_like(shares, 1 / shares.shape[1])
        return np.asarray(np.divide(shares, total, out=even, where=total > 0))

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        classes = len(self._classes())
        relation = self.neighbours
        regulariser = self._least(sigma, relation) if self.regulariser is None else self.regulariser
        base = LogisticObjective(
            sigma=sigma, regulariser=regulariser, norm=self.norm, relation=relation
        )
        return base if classes == 2 else OneVsRest(base=base, classes=classes)

    def _least(self, sigma: Number, relation: Relation) -> Number:
        """Return the least regulariser at which epsilon is that of the gradient alone.

        Of several runs the floors add up, so with more than two classes there is none.
        """
        norm = Fraction(1) if self.norm is None else Fraction(self.norm)
        free = free_regulariser(Fraction(sigma), norm) if sigma else Fraction(1)
        several = len(self._classes()) > 2
        if self.epsilon is None or several or isinstance(relation, ReplaceOne | ReplaceLabel):
            return free
        curved = 1 / (2 * Fraction(sigma) ** 2) if sigma else Fraction(1)
        floored = 1 / (curved + _FLOOR * check.positive(epsilon=self.epsilon) / norm**2)
        return min(free, floored)
