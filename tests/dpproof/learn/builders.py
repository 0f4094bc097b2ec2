"""What the tests of this folder share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


def model(
    weights: Any,  # noqa: ANN401
    offsets: Any = None,  # noqa: ANN401
    classes: Any = None,  # noqa: ANN401
    plan: Any = None,  # noqa: ANN401
) -> Any:  # noqa: ANN401  # what a fitted classifier looks like
    """A fitted classifier with these weights."""
    coef = np.atleast_2d(np.asarray(weights, dtype=float))
    intercept = np.zeros(len(coef)) if offsets is None else np.asarray(offsets, dtype=float)
    names = np.asarray(range(max(2, len(coef))) if classes is None else classes)

    def predict(rows: Any) -> Any:  # noqa: ANN401
        mapped = rows if plan is None else plan.apply(rows)
        scores = mapped @ coef.T + intercept
        best = (scores[:, 0] > 0).astype(int) if len(coef) == 1 else scores.argmax(axis=1)
        return names[best]

    return SimpleNamespace(
        coef_=coef, intercept_=intercept, classes_=names, predict=predict, map_=plan
    )
