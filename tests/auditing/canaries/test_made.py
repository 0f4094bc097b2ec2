"""Canaries that are made, and the score of classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import margin_score, orthogonal_canaries


def test_rows_have_full_norm_and_are_orthogonal() -> None:
    """Up to as many as there are features; the rest has the norm."""
    rows, labels = orthogonal_canaries(30, 20, norm=2.5, classes="xyz", seed=3)

    assert np.allclose(rows[:20] @ rows[:20].T, 6.25 * np.eye(20))
    assert np.allclose(np.linalg.norm(rows, axis=1), 2.5)
    assert set(labels) == set("xyz")
    with pytest.raises(ParameterError, match="count"):
        orthogonal_canaries(10**6, 10**6)


@pytest.mark.parametrize("classes", [(0, 1), ("a", "b", "c")])
def test_score_is_high_for_the_own_label(classes: tuple[object, ...]) -> None:
    """Of classifiers with two classes and with more."""
    rows, labels = orthogonal_canaries(12, 12, classes=classes, seed=2)
    model = LogisticRegression(C=1e3).fit(rows, labels)
    wrong = np.roll(np.asarray(classes), 1)[np.searchsorted(np.asarray(classes), labels)]

    assert (margin_score(model, (rows, labels)) > 0).all()
    assert (margin_score(model, (rows, wrong)) < 0).all()
