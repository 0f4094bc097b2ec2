"""Private linear regression as a scikit-learn regressor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpproof.accountant import Guarantee, PrivacyFilter, Relation, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.learn.private_estimator import PrivateEstimator
from dpproof.learn.reading import clipped_to_norm, read_rows, read_targets, scored
from dpproof.mechanisms import SecondMoments
from dpproof.mechanisms.parameters import scale

# The squared lengths, in units of norm^2, that the constant feature and the target get in a row.
# Sums of products with the target are as noisy as those of features at 1/2; both choices change
# accuracy alone.
_INTERCEPT: Final = Fraction(1, 4)
_TARGET: Final = Fraction(1, 2)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Learn a linear regression under differential privacy, from noisy second moments.

    One release of ``SecondMoments`` of the rows (x, constant, y) holds X'X and X'y; the weights
    solve the normal equations with just as much ridge as keeps them stable: the smallest eigenvalue
    of the released X'X and the size of its noise decide, as in AdaSSP (Wang, arXiv:1803.02596).
    There a third of the budget goes to the smallest eigenvalue; here it follows from what is
    released anyway.

    Args:
        sigma: instead of a budget, the noise's standard deviation on a sum of squares of a feature,
            in squared data units.
        norm: rows are clipped to this Euclidean norm, a public bound in data units.
        bound: targets are clipped to [-bound, bound], a public bound in their units.
        regulariser: weight of the squared length of the weights, in squared data units; None finds
            it from the release.
        fit_intercept: whether to learn an offset, as the weight of a constant feature.
        max_weight: weights of rows are clipped to [0, max_weight], a public bound. A row of that
            weight counts as a row without weights does.
    Attributes:
        coef_: weights, shape (features,).
        intercept_: the offset.
        regulariser_: the ridge that was added.
    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> model = LinearRegression(epsilon=1, delta=1e-5, norm=0.3, bound=350)
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> model.fit(*load_diabetes(return_X_y=True)).coef_.shape
        (10,)
    """

    score = scored(RegressorMixin.score)

    norm: Number = 1
    bound: Number = 1
    regulariser: Number | None = None
    fit_intercept: bool = True
    max_weight: Number = 1

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Release second moments of the rows and their targets, and solve for the weights.

        Weights are private, of the squared errors; None is ``max_weight`` for all. A row with a
        target or weight that is nan contributes nothing. All else is as for
        ``PerceptronClassifier.fit``.
        """
        return self._fitted(X, y, sample_weight)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        budget: PrivacyFilter[Any] | None = None,
    ) -> Self:
        """Release moments of one batch, paid from a filter, and add them to those before.

        ``guarantee_`` is then the filter's: it holds however many batches follow, whatever they
        are chosen by, and also if they share records. The budget of the arguments is one batch's.

        Args:
            X: as for ``fit``.
            y: as for ``fit``.
            sample_weight: as for ``fit``.
            budget: a filter that is shared by all batches, such as ``GDPFilter(mu=1)``.
        Raises:
            ParameterError: as for ``fit``; no filter, or another filter or other arguments than
                before; a ledger.
            BudgetExceeded: the filter has less left; nothing is released.
        """
        return self._added(lambda: self._rows(X, y, sample_weight), budget)

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:
        """Solve the normal equations of the released moments."""
        self.guarantee_ = guarantee
        moments, weight = np.asarray(released), self._target_weight()
        gram, mixed = moments[:-1, :-1], moments[:-1, -1] / weight
        width = len(gram)
        if self.regulariser is None:
            sigma = float(self._at(1).sensitivity.value / guarantee.mu)  # type: ignore[attr-defined]
            # The spectral norm of the noise, of variance sigma^2 / 2 above the diagonal.
            noise = sigma * math.sqrt(2 * width)
            self.regulariser_ = max(0.0, 2 * noise - float(np.linalg.eigvalsh(gram)[0]))
        else:
            self.regulariser_ = float(self.regulariser)
        weights = np.linalg.lstsq(gram + self.regulariser_ * np.eye(width), mixed, rcond=None)[0]
        constant = float(self.norm) * math.sqrt(_INTERCEPT)
        self.coef_ = weights[:-1] if self.fit_intercept else weights
        self.intercept_ = float(weights[-1]) * constant if self.fit_intercept else 0.0
        self.n_features_in_ = len(self.coef_)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted targets, shape (rows,)."""
        check_is_fitted(self)
        rows = read_rows(self, X, fitting=False)
        return np.asarray(rows @ self.coef_ + self.intercept_)

    def _at(self, sigma: Number) -> SecondMoments[Relation]:
        norm = scale(self.norm, "norm")
        scale(self.bound, "bound")
        scale(self.max_weight, "max_weight")
        if self.regulariser is not None:
            check.non_negative(regulariser=self.regulariser)
        lengths = 1 + _TARGET + (_INTERCEPT if self.fit_intercept else 0)
        relation = self.neighbours
        return SecondMoments(sigma=sigma, norm=sqrt_up(lengths * norm**2), relation=relation)

    def _target_weight(self) -> float:
        """Return what a target is multiplied with to have its length in a row."""
        return math.sqrt(_TARGET) * float(self.norm) / float(self.bound)

    def _rows(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.float64]:
        """Return the rows with a constant feature and their targets, each clipped by itself."""
        # A weight w multiplies a row by sqrt(w / max_weight), at most 1, its squares by w / max.
        rows = read_rows(self, X, fitting=True)
        targets = read_targets(y, len(rows))
        parts = [clipped_to_norm(rows, float(self.norm))]
        if self.fit_intercept:
            parts.append(np.full((len(rows), 1), float(self.norm) * math.sqrt(_INTERCEPT)))
        limit = float(self.bound)
        parts.append(np.clip(targets, -limit, limit)[:, np.newaxis] * self._target_weight())
        joined = np.hstack(parts)
        if sample_weight is None:
            return joined
        most = float(self.max_weight)
        weights = read_targets(sample_weight, len(rows), name="sample_weight")
        return np.asarray(joined * np.sqrt(np.clip(weights, 0, most) / most)[:, np.newaxis])
