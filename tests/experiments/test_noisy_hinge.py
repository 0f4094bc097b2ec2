"""Noisy projected subgradient descent on the margin hinge loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, Poisson, ReplaceOne, calibrate
from dpproof.mechanisms import BatchPerceptron, Records
from experiments.noisy_hinge import NoisyHinge, SubsampledHinge
from tests.contracts.learner_contract import LearnerContract
from tests.contracts.mechanism_contract import NOT_POSITIVE, one_bad
from tests.mechanisms.learning.builders import BAD

GOOD: dict[str, Any] = {"margin": 0.5, "expected_size": 4, "steps": 2, "sigma": 2}


class TestNoisyHinge(LearnerContract):
    """All records in every step; there is no rate."""

    def learner(self, **changes: Any) -> NoisyHinge[Any]:  # noqa: ANN401
        """Two steps."""
        changes.pop("rate", None)
        return NoisyHinge(**{"relation": AddRemove(), **GOOD, **changes})

    def labels(self) -> list[float]:
        """Both signs."""
        return [1.0, -1.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {
            name: values
            for name, values in BAD.items()
            if name not in ("rate", "margin_norm", "iterates")
        }
        bad |= {"margin": NOT_POSITIVE, "expected_size": (0, 2.5, -1, None)}
        return one_bad(NoisyHinge, good={**GOOD, "relation": AddRemove()}, bad=bad)


@pytest.mark.parametrize("norm", [1, 4])
def test_steps_are_projected_in_data_units(norm: int) -> None:
    """With next to no noise the states are those of projected descent, by hand."""
    rows, labels = np.array([[0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]]) * norm, np.array([1, 1, -1])
    w, margin = np.zeros(2), 0.75 * norm
    for _ in range(9):
        mistakes = labels * (rows @ w) < 0.96 * margin
        w = w + (labels * mistakes) @ rows / (3 * 2 * norm)
        w = w / max(1, np.linalg.norm(w))
    learner = NoisyHinge(
        margin=margin,
        expected_size=2,
        steps=9,
        sigma=2.0**-40,
        norm=norm,
        average=False,
        relation=AddRemove(),
    )

    assert learner.release(Records(rows, labels)).weights == pytest.approx(w, abs=1e-6)


def test_learns_two_cones_under_replace_one() -> None:
    """2,000 records of margin 0.3 in 20 dimensions at (1, 1e-6): next to no error."""
    rng = np.random.default_rng(11)
    sides = np.where(rng.random(2_000) < 0.7, 1.0, -1.0)
    labels = rng.choice([-1.0, 1.0], size=len(sides))
    signed = np.column_stack([np.full(len(sides), 0.3), np.sqrt(1 - 0.09) * sides])
    rows = np.column_stack([signed, np.zeros((len(sides), 18))]) * labels[:, np.newaxis]
    shared: dict[str, Any] = {"margin": 0.3, "expected_size": 2_000, "steps": 200}
    shared["relation"] = ReplaceOne()
    sigma = calibrate(
        lambda s: NoisyHinge(**{"relation": AddRemove(), **shared}, sigma=s), epsilon=1, delta=1e-6
    ).value
    weights = (
        NoisyHinge(**{"relation": AddRemove(), **shared}, sigma=sigma)
        .release(Records(rows, labels), rng=rng)
        .weights
    )

    assert np.mean(np.sign(rows @ weights) != labels) < 0.02
    assert np.linalg.norm(weights) <= 1 + 1e-9


SUBSAMPLED_HINGE_GOOD: dict[str, Any] = {
    "learning_rate": 0.25,
    "decay": 0.5,
    "steps": 2,
    "sigma": 2,
}


class TestSubsampledHinge(LearnerContract):
    """On all records in every step."""

    def learner(self, **changes: Any) -> SubsampledHinge[Any]:  # noqa: ANN401
        """Two steps."""
        return SubsampledHinge(**{"relation": AddRemove(), **SUBSAMPLED_HINGE_GOOD, **changes})

    def labels(self) -> list[float]:
        """Both signs."""
        return [1.0, -1.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {
            name: values
            for name, values in BAD.items()
            if name not in ("margin", "margin_norm", "iterates")
        }
        bad |= {"learning_rate": (*NOT_POSITIVE, 2.0**301), "decay": (-1, None, float("nan"), 9)}
        return one_bad(
            SubsampledHinge, good={**SUBSAMPLED_HINGE_GOOD, "relation": AddRemove()}, bad=bad
        )


def test_costs_what_the_same_sums_of_a_perceptron_cost() -> None:
    """The price is that of the noisy sums, whatever is made of them."""
    hinge = SubsampledHinge(
        learning_rate=0.1, steps=30, sigma=4, rate=0.25, norm=2, relation=AddRemove()
    )
    perceptron = BatchPerceptron(
        margin=0, steps=30, sigma=4, rate=0.25, norm=2, relation=AddRemove()
    )

    assert hinge.guarantee() == perceptron.guarantee()
    assert hinge.sums().step() == perceptron.sums().step()
    assert perceptron.sums().step().scheme == Poisson(sampling_rate=0.25)  # type: ignore[attr-defined]


@pytest.mark.parametrize("norm", [1, 4])
def test_steps_follow_the_subgradient_in_data_units(norm: int) -> None:
    """With next to no noise the states are those of plain subgradient descent, by hand."""
    rows, labels = np.array([[0.5, 0.0], [0.0, 1.0], [-1.0, 0.0]]) * norm, np.array([1, 1, -1])
    rate, decay, w = 0.125, 0.5, np.zeros(2)
    for _ in range(7):
        inside = labels * (rows @ w) < 1
        w = (1 - rate * decay) * w + rate * (labels * inside) @ rows
    learner = SubsampledHinge(
        learning_rate=rate,
        decay=decay,
        steps=7,
        sigma=2.0**-40,
        norm=norm,
        average=False,
        relation=AddRemove(),
    )
    released = learner.release(Records(rows, labels)).weights

    assert released == pytest.approx(w, abs=1e-6)


@pytest.mark.parametrize("rate", [0.5, 2.0**300])
def test_states_stay_finite_at_the_largest_decay(rate: float) -> None:
    """They alternate in sign and do not grow beyond the steps; a state past floats has no grid."""
    learner = SubsampledHinge(
        learning_rate=rate,
        decay=2 / rate,
        steps=2_000,
        sigma=2.0**300,
        average=False,
        relation=AddRemove(),
    )

    assert np.isfinite(learner.release(Records(np.eye(3), [1, -1, 1])).weights).all()
