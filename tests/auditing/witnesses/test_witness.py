"""Events of a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.auditing.witnesses.witness import Question


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


def test_questions_with_the_same_score() -> None:
    """Thresholds may differ, the side and the order of the datasets may not."""

    def score(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return rows[:, 0]

    one = Question(score, upwards=True, swapped=False, thresholds=np.zeros(1))
    assert one.same_score(replace(one, thresholds=np.ones(2)))
    others = replace(one, upwards=False), replace(one, swapped=True), replace(one, score=np.sum)
    assert not any(one.same_score(other) for other in (*others, score))
