"""Events of a score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accountant.errors import ParameterError
from auditing.witnesses.witness import Question


@pytest.mark.parametrize(
    "score",
    [lambda rows: rows[:, 0], lambda rows: rows, lambda _: np.zeros(3)],
    ids=["nan", "matrix", "length"],
)
def test_refuses_scores_that_are_none(score: Any) -> None:  # noqa: ANN401
    """A row without a score would be in no event and outside of none."""
    rows = np.array([[1.0], [np.nan]])

    with pytest.raises(ParameterError, match="one number for every row"):
        Question.about(score, rows, upwards=True, swapped=False)
    with pytest.raises(ParameterError, match="one number for every row"):
        Question(score, upwards=False, swapped=False, thresholds=np.zeros(1)).cell(rows)
