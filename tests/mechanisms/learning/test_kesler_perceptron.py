"""The private batch perceptron for several classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove
from dpproof.mechanisms import KeslerPerceptron, Records
from tests.contracts.learner_contract import LearnerContract, assert_ties_are_mistakes
from tests.contracts.mechanism_contract import one_bad
from tests.mechanisms.learning.builders import BAD, GOOD


class TestKeslerPerceptron(LearnerContract):
    """Three classes, all records in every step."""

    def learner(self, **changes: Any) -> KeslerPerceptron[Any]:  # noqa: ANN401
        """Two steps."""
        return KeslerPerceptron(**{"relation": AddRemove(), **GOOD, "classes": 3, **changes})

    def labels(self) -> list[float]:
        """Class numbers."""
        return [0.0, 1.0, 2.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {**BAD, "classes": (0, 1, 2.0, -3, None, 2**17)}
        return one_bad(
            KeslerPerceptron, good={**GOOD, "classes": 3, "relation": AddRemove()}, bad=bad
        )


def test_the_rival_is_the_nearest_class_by_angle() -> None:
    """The least margin is divided by the distance of the weight vectors, not the largest score."""
    learner = KeslerPerceptron(classes=3, margin=0.9, steps=1, sigma=1, relation=AddRemove())
    state = np.array([[0.0, 0.0], [0.5, 0.5], [0.6, -4.0]])
    (sums,) = learner.contributions(Records([[1.0, 0.0]], [0.0])).totals(state[None], None).sums

    # margins: -0.5 / 0.707 against class 1, -0.6 / 4.04 against class 2 with the larger score
    assert (sums / 2**24).tolist() == [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]


def test_exact_ties_are_mistakes() -> None:
    """Where every score is exactly 0, margin 0 is not exceeded, beside any number of rows."""
    learner = KeslerPerceptron(
        classes=3, margin=0, steps=1, sigma=1, norm=None, relation=AddRemove()
    )

    assert_ties_are_mistakes(learner, [0.0, 1.0, 2.0])


def test_equal_weights_are_margin_zero() -> None:
    """At the start every record is a mistake, its rival the first other class."""
    learner = KeslerPerceptron(classes=3, margin=0, steps=1, sigma=1, relation=AddRemove())
    data = Records([[1.0, 0.0], [0.0, 1.0]], [0.0, 2.0])
    (sums,) = learner.contributions(data).totals(np.zeros((1, 3, 2)), None).sums

    assert (sums / 2**24).tolist() == [[1.0, -1.0], [-1.0, 0.0], [0.0, 1.0]]


def test_mu_is_of_the_stacked_vector() -> None:
    """Ten classes cost sqrt(2), not sqrt(10): mu = sqrt(2 T) / sigma, from above."""
    mu = (
        KeslerPerceptron(classes=10, margin=0.1, steps=50, sigma=40, relation=AddRemove())
        .guarantee()
        .gdp()
        .upper
    )

    assert 0.25 <= mu == pytest.approx(0.25, rel=1e-12)
