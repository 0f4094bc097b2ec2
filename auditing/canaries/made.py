"""Canaries for learners of rows, and the score of a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding

_CELLS: Final = 10**9


def orthogonal_canaries(
    count: int, features: int, *, norm: Number = 1, classes: Sequence[Any] = (0, 1), seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Make labelled rows of full norm that disturb each other as little as can be.

    The first ``features`` rows have one coordinate each, in random order; further ones have random
    signs. Labels are random. Nothing of a dataset is in them.

    Args:
        count: number of canaries; beyond ``features`` they are not orthogonal and show less.
        features: width of a row.
        norm: Euclidean norm of each, best that to which the run clips.
        classes: labels to draw from.
        seed: of order, signs and labels.
    Returns:
        Rows of shape (count, features), and labels of shape (count,).
    Example:
        >>> rows, labels = orthogonal_canaries(3, 5)
        >>> (rows @ rows.T).tolist(), len(labels)
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 3)
    """
    arguments.count(count=count), arguments.count(features=features)
    if count * features > _CELLS:
        raise ParameterError("count", count, f"at most {_CELLS // features} rows of this width")
    rng = np.random.default_rng(seed)
    length = float(arguments.positive(norm=norm))
    rows = rng.choice([-1.0, 1.0], size=(count, features)) * (length / features**0.5)
    first = min(count, features)
    rows[:first] = 0.0
    rows[np.arange(first), rng.permutation(features)[:first]] = length
    return rows, np.asarray(list(classes))[rng.integers(0, len(classes), count)]


@withholding
def margin_score(model: Any, canaries: tuple[Any, Any]) -> NDArray[np.float64]:  # noqa: ANN401  # any classifier
    """Return how clearly a fitted classifier gives every canary its own label.

    Args:
        model: has ``decision_function`` and ``classes_``, as classifiers of scikit-learn.
        canaries: rows and labels; the labels are among ``classes_``.
    Returns:
        The decision value of the own label, minus the mean of the others; shape (canaries,).
    """
    rows, labels = canaries
    values, own = np.asarray(model.decision_function(rows)), np.asarray(labels)
    if values.ndim == 1:
        return np.where(own == model.classes_[1], values, -values)
    mine = values[np.arange(len(own)), np.argmax(model.classes_ == own[:, None], axis=1)]
    return np.asarray(mine - (values.sum(axis=1) - mine) / (values.shape[1] - 1))
