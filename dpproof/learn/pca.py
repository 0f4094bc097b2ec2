"""Private principal components with scikit-learn's interface."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpproof.accountant import Guarantee, arguments as check
from dpproof.accountant.adaptive.privacy_filter import PrivacyFilter
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import Relation
from dpproof.learn.private_estimator import UnlabelledEstimator
from dpproof.learn.reading import clipped_to_norm, matrix, read_rows
from dpproof.mechanisms import SecondMoments

# The squared length, in units of norm^2, of the constant feature by which the mean is known; a
# longer one would make the mean more exact and the second moments less.
_CONSTANT: Final = Fraction(1, 4)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PCA(TransformerMixin, UnlabelledEstimator):  # type: ignore[misc]  # untyped library
    """Find principal components under differential privacy, from noisy second moments.

    The eigenvectors of one release of ``SecondMoments`` (Dwork, Talwar, Thakurta & Zhang, STOC
    2014, Algorithm 1). With ``center`` every row carries a constant feature, so that the same
    release holds the number of rows and their mean.

    Args:
        n_components: how many components to keep.
        epsilon: with ``delta``, the budget: sigma is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the noise's standard deviation on a sum of squares of a feature,
            in squared data units.
        norm: rows are clipped to this Euclidean norm, a public bound in data units.
        center: whether to subtract the mean. Without it components are those of second moments
            around 0, with a fifth less noise.
        relation: which datasets are neighbours; None is AddRemove().
        random_state, ledger, ledger_key: as for ``PerceptronClassifier``.
    Attributes:
        components_: shape (n_components, features), of length 1, by decreasing variance.
        mean_: noisy mean, shape (features,); zeros without ``center``.
        explained_variance_: eigenvalues of the noisy covariance, or of the noisy sum of squares
            without ``center``; noise may make small ones negative.
        n_features_in_: features of ``fit``.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
    Example:
        >>> from sklearn.datasets import load_digits
        >>> model = PCA(n_components=2, epsilon=1, delta=1e-5, norm=70)
        >>> model.guarantee().epsilon(delta=1e-5).upper <= 1
        True
        >>> rows, _ = load_digits(return_X_y=True)
        >>> model.fit(rows).transform(rows).shape
        (1797, 2)
    """

    n_components: int = field(default=2, kw_only=False)
    norm: Number = 1
    center: bool = True

    def partial_fit(
        self,
        X: ArrayLike,  # noqa: N803  # scikit-learn
        y: object = None,  # noqa: ARG002
        *,
        budget: PrivacyFilter[Any] | None = None,
    ) -> Self:
        """Release moments of one batch, paid from a filter, and add them to those before.

        Arguments, guarantee and errors are those of ``LinearRegression.partial_fit``, without y.
        """
        return self._added(lambda: self._rows(X), budget)

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the eigenvectors of the released moments."""
        self.guarantee_ = guarantee
        moments = np.asarray(released)
        constant = float(self.norm) * math.sqrt(_CONSTANT)
        if self.center:
            count = max(1.0, float(moments[-1, -1]) / constant**2)
            self.mean_ = moments[:-1, -1] / constant / count
            moments = moments[:-1, :-1] / count - np.outer(self.mean_, self.mean_)
        else:
            self.mean_ = np.zeros(len(moments))
        values, vectors = np.linalg.eigh(moments)
        largest = slice(None, -self.n_components - 1, -1)
        self.explained_variance_, components = values[largest], vectors[:, largest].T
        signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
        self.components_ = components * signs[:, np.newaxis]
        self.n_features_in_ = components.shape[1]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return coordinates along the components, shape (rows, n_components).

        Laws: those of one row depend on it alone, bit for bit; not finite if the row is not.
        """
        check_is_fitted(self)
        rows = read_rows(self, X, fitting=False, finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = rows - self.mean_
            return np.stack([(moved * axis).sum(axis=1) for axis in self.components_], axis=1)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return the rows with these coordinates, shape (rows, features)."""
        check_is_fitted(self)
        return np.asarray(matrix(X) @ self.components_ + self.mean_)

    def _at(self, sigma: Number) -> SecondMoments[Relation]:
        norm = check.positive(norm=self.norm)
        check.count(n_components=self.n_components)
        center: object = self.center
        if not isinstance(center, bool):
            raise ParameterError("center", center, "True or False")
        lengths = 1 + (_CONSTANT if center else 0)
        relation = self.neighbours
        return SecondMoments(sigma=sigma, norm=sqrt_up(lengths * norm**2), relation=relation)

    def _rows(self, X: Any, *_: Any) -> NDArray[np.float64]:  # noqa: ANN401, N803
        """Return the clipped rows, with the constant feature."""
        rows = read_rows(self, X, fitting=True)
        if rows.shape[1] < self.n_components:
            allowed = f"at most the number of features, {rows.shape[1]}"
            raise ParameterError("n_components", self.n_components, allowed)
        clipped = clipped_to_norm(rows, float(self.norm))
        if not self.center:
            return clipped
        constant = np.full((len(rows), 1), float(self.norm) * math.sqrt(_CONSTANT))
        return np.hstack([clipped, constant])
