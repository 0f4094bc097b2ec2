"""The scores of a linear classifier, one per class, read from a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.learn.linear_classifier import class_numbers
from dpproof.learn.reading import matrix
from dpproof.mechanisms import (
    FeatureMap,
    FourierFeatures,
    GaussianProjection,
    RademacherProjection,
    ScatteringFeatures,
    SignProjection,
)

Projection: TypeAlias = SignProjection | GaussianProjection | RademacherProjection
"""A map that multiplies rows by a matrix, after and before scaling of which all is known."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearScores:
    """Scores of all classes: f(x) = weights map(x) + offsets.

    Two classes that share one score s have the scores 0 and s.

    Attributes:
        weights: shape (classes, features of mapped rows).
        offsets: shape (classes,).
        map: through which rows go, or None.
    """

    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]
    map: FeatureMap | None

    def rows(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn
        """Return the rows as floats.

        Raises:
            ParameterError: not a matrix of the model's width.
        """
        rows = matrix(X)
        width = self.weights.shape[1] if self.map is None else self.map.features
        if rows.shape[1] != width:
            raise ParameterError("X", rows.shape, f"a matrix {width} wide")
        return rows

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores, shape (rows, classes)."""
        mapped = rows if self.map is None else self.map.apply(rows)
        return np.asarray(mapped @ self.weights.T + self.offsets)


def scores_of(model: Any) -> LinearScores:  # noqa: ANN401  # any fitted linear classifier
    """Read the scores of a model.

    Raises:
        ParameterError: no linear classifier that is fitted, or one with another map.
    """
    plan = getattr(model, "map_", None)
    kinds = FourierFeatures | ScatteringFeatures | Projection
    if plan is not None and not isinstance(plan, kinds):
        allowed = "without a map, or with Fourier or scattering features or a random projection"
        raise ParameterError("model", plan, allowed)
    if not all(hasattr(model, name) for name in ("coef_", "intercept_", "classes_", "predict")):
        raise ParameterError("model", model, "a fitted linear classifier")
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    offsets = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if len(weights) == 1:
        weights = np.concatenate([np.zeros_like(weights), weights])
        offsets = np.concatenate([np.zeros(1), offsets])
    if not (np.isfinite(weights).all() and np.isfinite(offsets).all()):
        raise ParameterError("model", model, "a classifier with finite weights")
    return LinearScores(weights, offsets, plan)


def class_of(
    model: Any,  # noqa: ANN401  # any fitted classifier
    rows: NDArray[np.float64],
    y: ArrayLike | None,
) -> NDArray[np.int64]:
    """Return the class numbers of labels, -1 if unknown; without labels, of the largest scores.

    Raises:
        ParameterError: not one label per row.
    """
    if y is None:
        return np.asarray(scores_of(model)(rows).argmax(axis=1))
    labels = withholding(np.asarray)(y)
    if labels.shape != (len(rows),):
        raise ParameterError("y", labels.shape, f"one label for each of {len(rows)} rows")
    return class_numbers(labels, list(model.classes_.tolist()))
