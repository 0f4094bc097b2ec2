"""Margins in the norm of the largest coordinate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.mechanisms import BatchPerceptron, KeslerPerceptron, Records
from tests.contracts.learner_contract import LearnerContract
from tests.contracts.mechanism_contract import one_bad

GOOD: dict[str, Any] = {"margin": 0.1, "steps": 2, "sigma": 2, "margin_norm": "linf"}


class TestCoordinatePerceptron(LearnerContract):
    """The contract of learners, of two classes."""

    def learner(self, **changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
        """Two steps."""
        return BatchPerceptron(**{**GOOD, **changes})

    def labels(self) -> list[float]:
        """Both signs."""
        return [1.0, -1.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other norms."""
        return one_bad(BatchPerceptron, good=GOOD, bad={"margin_norm": ("l1", None, 2)})


@pytest.mark.slow
class TestCoordinateKesler(LearnerContract):
    """The contract of learners, of three classes."""

    def learner(self, **changes: Any) -> KeslerPerceptron[Any]:  # noqa: ANN401
        """Two steps."""
        return KeslerPerceptron(**{**GOOD, "classes": 3, **changes})

    def labels(self) -> list[float]:
        """Class numbers."""
        return [0.0, 1.0, 2.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other norms."""
        return one_bad(
            KeslerPerceptron, good={**GOOD, "classes": 3}, bad={"margin_norm": ("l1", None, 2)}
        )


@pytest.mark.parametrize("kind", [BatchPerceptron, KeslerPerceptron])
def test_mistakes_are_those_that_moved_coordinates_turn(kind: Any) -> None:  # noqa: ANN401
    """By definition: the worst corner of the cube around a record is on the wrong side."""
    rng = np.random.default_rng(3)
    rows, two = rng.normal(size=(200, 5)), kind is BatchPerceptron
    labels = rng.choice([-1, 1], size=200) if two else rng.integers(0, 3, size=200)
    more = {} if two else {"classes": 3}
    found = kind(margin=0.3, norm=20, steps=1, sigma=1, margin_norm="linf", **more)
    plain = kind(margin=0.3, norm=20, steps=1, sigma=1, **more)
    state = rng.normal(size=(1, 5) if two else (1, 3, 5))
    if two:
        worst = labels * (rows @ state[0]) - 0.3 * np.abs(state[0]).sum()
    else:
        gaps = (rows @ state[0].T)[np.arange(200), labels][:, None] - rows @ state[0].T
        between = np.abs(state[0][labels][:, None] - state[0]).sum(axis=2)
        gaps = np.where(between > 0, gaps - 0.3 * between, np.inf)
        worst = gaps.min(axis=1)
    data = Records(rows, labels)
    counted = int(found.contributions(data).totals(state, None).counts[0])

    assert np.abs(worst).min() > 1e-5  # no record is next to the border
    assert counted == (worst < 0).sum()
    assert counted > int(plain.contributions(data).totals(state, None).counts[0])
    assert found.guarantee() == plain.guarantee()
    start = found.contributions(data).totals(np.zeros_like(state), None)
    assert start.counts[0] == 200
