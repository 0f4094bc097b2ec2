"""Certified lower bounds of how far a row can move before a classifier may change its mind."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.learn.fourier_radius import fourier_radii, projected_radii
from dpproof.learn.matrix_norm import lengths, slack
from dpproof.learn.scores import LinearScores, Projection, class_of, scores_of
from dpproof.mechanisms import FourierFeatures

NORMS: Final = ("l2", "linf")


def certify_radius(
    model: Any,  # noqa: ANN401  # any fitted linear classifier
    X: ArrayLike,  # noqa: N803  # scikit-learn
    y: ArrayLike | None = None,
    *,
    norm: str = "l2",
    curvature: bool = True,
) -> NDArray[np.float64]:
    """Return the distance that every row can move with the model sure to call it y, in data units.

    Statement: if ||z - x|| is below the radius, the model's scores, in exact arithmetic, are
        largest for y at z. For scores linear in x this is exact up to rounding: the least distance
        to a border, (f_y - f_c)(x) / ||w_y - w_c|| over the other classes c, with the Euclidean
        norm for ``l2`` and the sum of absolute values for ``linf``. For Fourier features see
        ``fourier_radius.py``; under ``linf`` their radius is divided by sqrt(features).
    Source: Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Lemmas 7 and 22; Hein &
        Andriushchenko, arXiv:1705.08475; proofs/theory/robustness.md.

    A radius is computed from the released model and the row, so for rows of others it costs
    nothing. Radii of private training rows, and averages of them, are not covered by the model's
    guarantee.

    Args:
        model: a fitted linear classifier with ``coef_``, ``intercept_`` and ``classes_``, such as
            ``PerceptronClassifier``, without a map, with ``FourierFeatures`` or with one of the
            random projections (``SignProjection``, ``GaussianProjection``,
            ``RademacherProjection``, ``HadamardProjection``).
        X: shape (rows, features).
        y: the labels to be kept; None takes the predicted ones.
        norm: ``"l2"`` or ``"linf"``, in which rows are moved.
        curvature: False gives the paper's radius for Fourier features, which is smaller.
    Returns:
        Shape (rows,). 0 if the label is unknown, the row is not finite, or the model calls it
        something else; infinite if no row would be called something else.
    Raises:
        ParameterError: another model, norm or shape.
    Example:
        >>> from dpproof.learn import PerceptronClassifier
        >>> model = PerceptronClassifier(sigma=2**-20, classes=[0, 1], steps=1)
        >>> _ = model.fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
        >>> certify_radius(model, [[3.0, 4.0]]).round(3)
        array([3.])
    """
    if norm not in NORMS:
        raise ParameterError("norm", norm, " or ".join(map(repr, NORMS)))
    scores = scores_of(model)
    rows = scores.rows(X)
    kept = class_of(model, rows, y)
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    inside = np.where(finite[:, np.newaxis], rows, 0.0)
    if isinstance(scores.map, FourierFeatures):
        radii = fourier_radii(scores, scores.map, inside, kept, curvature=curvature)
        radii = radii if norm == "l2" else radii / np.sqrt(rows.shape[1]) * (1 - slack(4))
    elif isinstance(scores.map, Projection):
        radii = projected_radii(scores, scores.map, inside, kept, norm)
    else:
        radii = _linear(scores, inside, kept, norm)
    return np.where(finite & (kept >= 0), radii, 0.0)


def _linear(
    scores: LinearScores, rows: NDArray[np.float64], kept: NDArray[np.int64], norm: str
) -> NDArray[np.float64]:
    """Return the least distance to a border between the kept class and another, rounded down."""
    radii = np.full(len(rows), np.inf)
    order = 1 if norm == "linf" else 2
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        values = rows @ scores.weights.T + scores.offsets
        sizes = np.abs(rows) @ np.abs(scores.weights).T + np.abs(scores.offsets)
        for winner in np.unique(kept[kept >= 0]):
            of = kept == winner
            gaps = values[of][:, [winner]] - values[of]
            gaps -= slack(rows.shape[1]) * (sizes[of][:, [winner]] + sizes[of])
            between = lengths(scores.weights[winner] - scores.weights, order)
            away = np.where(gaps > 0, gaps / between, 0.0) * (1 - slack(4))
            away[:, winner] = np.inf
            radii[of] = away.min(axis=1)
    return radii
