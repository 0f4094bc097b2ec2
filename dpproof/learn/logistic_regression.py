"""Private logistic regression as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from dpproof.accountant import Guarantee, ReplaceLabel, ReplaceOne, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.relation import Relation
from dpproof.learn.linear_classifier import LinearClassifier
from dpproof.mechanisms import Featured, LogisticObjective, Mechanism, SoftmaxDescent
from dpproof.mechanisms.learning.logistic_objective import free_regulariser

# Share of the budget's epsilon at which the loss has its floor: the output noise has to fit above.
_FLOOR: Final = Fraction(63, 64)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(LinearClassifier):
    """Learn logistic regression under differential privacy.

    Two classes are learned by objective perturbation, ``LogisticObjective``, more by noisy steps on
    the multinomial loss, ``SoftmaxDescent``, all in one chain. What ``fit`` keeps is a function of
    the released weights and of the arguments; the guarantee depends on the arguments alone.

    Args:
        epsilon: with ``delta``, the budget: sigma is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the standard deviation of the random linear term, or with more
            than two classes of the noise on a sum of gradients.
        classes: all labels, in the order of ``classes_``, at least two. They are public; a row with
            another label contributes nothing.
        norm: rows are clipped to this Euclidean norm, a public bound in data units. None scales
            every row to norm 1, in fits and in predictions, which needs no bound.
        regulariser: weight of ||w||^2 / 2 in the sum of the losses, which is not divided by the
            number of rows. For two classes None is the least that costs nothing: norm sigma/2
            or 2 sigma^2, or with a budget, if records are added or removed, about norm^2 / epsilon.
            For more it is 0.
        steps: with more than two classes, how many noisy sums, fixed in advance.
        radius: with more than two classes, how far the first step goes, in units of 1 / norm.
        map: a public feature map, such as ``FourierFeatures(...)``, through which all rows go.
        fit_intercept: whether to learn an offset, as the weight of a constant feature.
        intercept_scaling: the value of that feature, a public constant in data units. Rows are
            clipped or scaled together with it, in fits and in predictions.
        max_weight: weights of rows are clipped to [0, max_weight], a public bound.
        relation: which datasets are neighbours; None is AddRemove().
        random_state, ledger, ledger_key: as for ``PerceptronClassifier``.
    Attributes:
        classes_: ``classes`` as an array.
        coef_: the weights: shape (1, features) for two classes, else (classes, features); of mapped
            rows if there is a map.
        intercept_: the offsets; zeros without ``fit_intercept``.
        map_: the map of the fit, or None.
        n_iter_: steps made, 1 for two classes.
        n_features_in_: features of ``fit``.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
        NotImplied: on guarantee and fit, a regulariser below norm sigma/2 and 2 sigma^2 if a record
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
    steps: int = 16
    radius: Number = 16

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the weights, and how predictions scale their rows."""
        self.scaled_ = self.norm is None
        self.constant_ = float(self.intercept_scaling) if self.learns_offset else 0.0
        return super().adopt(released, guarantee)

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale every row, with the constant feature, to norm 1 if the fit did."""
        if not self.scaled_:
            return super()._scores(rows)
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=self.constant_)
        largest = np.where(largest > 0, largest, 1.0)
        rows = rows / largest
        squares = np.square(rows).sum(axis=1, keepdims=True) + (self.constant_ / largest) ** 2
        scores = rows @ self.coef_.T + self.intercept_ / largest
        return np.asarray(scores / np.sqrt(np.where(squares > 0, squares, 1.0)))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return the probabilities of the classes, shape (rows, classes): of scores, the softmax.

        Of two classes the scores are those of the second and 0.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            shares = 0.5 * (1 + np.tanh(0.5 * scores))
            return np.stack([1 - shares, shares], axis=1)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _priced(self, sigma: Number) -> Mechanism[Relation]:
        """Leave the regulariser free where records are replaced: no price there depends on it."""
        if not isinstance(self.neighbours, ReplaceOne | ReplaceLabel):
            return self._at(sigma)
        free: Self = clone(self).set_params(sigma=sigma, epsilon=None, regulariser=None)
        return free.learner()

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        classes = len(self._classes())
        relation = self.neighbours
        self._check_intercept()
        shared: dict[str, Any] = {"sigma": sigma, "norm": self.norm, "relation": relation}
        descent = SoftmaxDescent(  # refuses bad steps for two classes, too
            classes=max(classes, 3),
            steps=self.steps,
            radius=self.radius,
            regulariser=self.regulariser,
            **shared,
        )
        base: LogisticObjective[Relation] | SoftmaxDescent[Relation] = descent
        if classes == 2:
            regulariser = self.regulariser
            least = self._least(sigma, relation) if regulariser is None else regulariser
            base = LogisticObjective(regulariser=least, **shared)
        return base if self.map is None else Featured(base=base, map=self.map)

    def _least(self, sigma: Number, relation: Relation) -> Number:
        """Return the least regulariser at which epsilon is that of the gradient alone."""
        norm = Fraction(1) if self.norm is None else Fraction(self.norm)
        free = free_regulariser(Fraction(sigma), norm) if sigma else Fraction(1)
        if self.epsilon is None or isinstance(relation, ReplaceOne | ReplaceLabel):
            return free
        curved = 1 / (2 * Fraction(sigma) ** 2) if sigma else Fraction(1)
        floored = 1 / (curved + _FLOOR * check.positive(epsilon=self.epsilon) / norm**2)
        return min(free, floored)
