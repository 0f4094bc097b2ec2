"""What classifiers share that append a constant feature, or map their rows."""

from __future__ import annotations

from abc import ABC
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import Guarantee, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation
from dpproof.learn.linear_classifier import LinearClassifier
from dpproof.mechanisms import FeatureMap


class MappedClassifier(LinearClassifier, ABC):
    """A linear classifier of rows with a constant feature, or of mapped rows."""

    map: FeatureMap | None
    fit_intercept: bool
    intercept_scaling: Number

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
        """The map of the rows that released weights are multiplied with; None if there is none."""
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
