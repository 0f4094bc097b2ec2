"""Private k-means with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from dpproof.accountant import Guarantee, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation
from dpproof.learn.private_estimator import UnlabelledEstimator
from dpproof.learn.reading import in_blocks, read_rows
from dpproof.mechanisms import Blocks, Mechanism, NoisyLloyd
from dpproof.mechanisms.parameters import scale

# Candidates a cluster among which the first centres are chosen far from each other.
_CANDIDATES: Final = 50


@final
@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(TransformerMixin, ClusterMixin, UnlabelledEstimator):  # type: ignore[misc]  # untyped
    """Find clusters under differential privacy, by Lloyd's iteration on noisy means.

    Steps of ``NoisyLloyd`` from public centres. Neither the labels of the rows that were fitted nor
    their distances are kept, as they are not released; ``predict`` computes them for any rows.

    Args:
        n_clusters: k.
        epsilon: with ``delta``, the budget: sigma is calibrated to it.
        delta: see ``epsilon``.
        sigma: instead of a budget, the noise's standard deviation on the sum of a cluster's rows,
            in data units.
        norm: rows are clipped to this Euclidean norm, a public bound in data units.
        init: the first centres, public, shape (n_clusters, features); None spreads them in the
            ball of radius norm / 2, without looking at the data.
        steps: how often the centres move; every step has its part of the budget.
        relation: which datasets are neighbours; None is AddRemove().
        random_state, ledger, ledger_key: as for ``PerceptronClassifier``.
    Attributes:
        cluster_centers_: shape (n_clusters, features).
        n_features_in_: features of ``fit``.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
    Example:
        >>> from sklearn.datasets import load_iris
        >>> rows, _ = load_iris(return_X_y=True)
        >>> model = KMeans(n_clusters=3, epsilon=5, delta=1e-5, norm=10)
        >>> model.fit(rows).predict(rows).shape
        (150,)
    """

    n_clusters: int = field(default=8, kw_only=False)
    norm: Number = 1
    init: ArrayLike | None = None
    steps: int = 5

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002, N803  # scikit-learn
        """Release centres of the rows; arguments and refusals are those of ``PCA.fit``."""
        in_blocks(self, X)  # the first centres are as wide as the rows
        return self._fitted(X)

    def _before(self, blocks: Blocks) -> None:
        """Read the width, which is that of the first centres."""
        if self.init is None:
            _, width, pieces = blocks.map(self._reader()).sum(_width)
            self.n_features_in_ = width // pieces

    def _rows(self, X: Any, *_: Any) -> NDArray[np.float64]:  # noqa: ANN401, N803
        """Return the rows as floats."""
        return np.asarray(read_rows(self, X, fitting=True))

    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep the released centres."""
        self.guarantee_ = guarantee
        self.cluster_centers_ = np.asarray(released.centres)
        self.n_features_in_ = self.cluster_centers_.shape[1]
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:  # noqa: N803  # scikit-learn
        """Return the nearest centre of every row, shape (rows,)."""
        read_rows(self, X, fitting=False)  # refuses what has no nearest centre
        return np.asarray(self.transform(X).argmin(axis=1))

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return distances to the centres, shape (rows, n_clusters); as of ``PCA.transform``."""
        check_is_fitted(self)
        rows = read_rows(self, X, fitting=False, finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = [np.square(rows - one).sum(axis=1) for one in self.cluster_centers_]
        return np.asarray(np.sqrt(np.stack(squares, axis=1)))

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.int64]:  # noqa: N803
        """Fit, and then predict for the same rows; the prediction is not protected."""
        return self.fit(X, y).predict(X)

    def _at(self, sigma: Number) -> Mechanism[Relation]:
        relation = self.neighbours
        number = check.count(n_clusters=self.n_clusters)
        centres = self._first() if self.init is None else np.asarray(self.init)
        if centres.ndim != 2 or len(centres) != number:
            raise ParameterError("init", centres.shape, f"of shape ({number}, features)")
        return NoisyLloyd(
            centres=centres, steps=self.steps, sigma=sigma, norm=self.norm, relation=relation
        )

    def _first(self) -> NDArray[np.float64]:
        """Return public centres, far from each other, in the ball of radius norm / 2."""
        public = np.random.default_rng(0)
        features = getattr(self, "n_features_in_", 1)
        candidates = public.normal(size=(_CANDIDATES * self.n_clusters, features))
        lengths = public.random(len(candidates)) ** (1 / features)
        candidates *= (lengths / np.linalg.norm(candidates, axis=1))[:, np.newaxis]
        chosen = candidates[:1]
        while len(chosen) < self.n_clusters:
            apart = pairwise_distances(candidates, chosen).min(axis=1)
            chosen = np.vstack([chosen, candidates[apart.argmax()]])
        return chosen * float(scale(self.norm, "norm")) / 2


def _width(rows: NDArray[np.float64]) -> tuple[int, int, int]:
    """Return the number of rows, their width, and 1."""
    return len(rows), rows.shape[1], 1
