"""The private batch perceptron for two classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import GDP, AddRemove, calibrate
from dpproof.accountant.relation import ReplaceOne
from dpproof.mechanisms import BatchPerceptron, KeslerPerceptron, Records
from tests.contracts.learner_contract import LearnerContract, assert_ties_are_mistakes
from tests.contracts.mechanism_contract import one_bad
from tests.mechanisms.learning.builders import BAD, GOOD


class TestBatchPerceptron(LearnerContract):
    """On all records in every step."""

    def learner(self, **changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
        """Two steps."""
        return BatchPerceptron(**{"relation": AddRemove(), **GOOD, **changes})

    def labels(self) -> list[float]:
        """Both signs."""
        return [1.0, -1.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(BatchPerceptron, good={**GOOD, "relation": AddRemove()}, bad=BAD)


class TestSampledPerceptron(TestBatchPerceptron):
    """On a Poisson sample in every step."""

    def learner(self, **changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
        """Half of the records."""
        return BatchPerceptron(**{"relation": AddRemove(), **GOOD, "rate": 0.5, **changes})


def test_full_batches_are_gdp_exactly() -> None:
    """Mu is sqrt(T) norm / sigma as an exact rational where it is one, in the data's units."""
    learner = BatchPerceptron(margin=0.1, steps=25, sigma=40, norm=8, relation=AddRemove())

    replaced = BatchPerceptron(margin=0.1, steps=25, sigma=40, norm=8, relation=ReplaceOne())

    assert learner.guarantee() == GDP(mu=1)
    assert replaced.guarantee() == GDP(mu=2, relation=ReplaceOne())


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"), [(3.812816832, 0.01, 10_000), (0.871199, Fraction(1, 120), 120)]
)
def test_sampled_runs_cost_what_the_literature_says(sigma: float, rate: float, steps: int) -> None:
    """The noise multipliers for (1, 1e-5) at the rates of Ghazi et al.'s experiments."""
    learner = BatchPerceptron(margin=0.1, steps=steps, sigma=sigma, rate=rate, relation=AddRemove())

    assert learner.guarantee().epsilon(delta=1e-5).upper == pytest.approx(1, abs=2e-6)


def test_sampling_under_replace_one_has_its_own_price() -> None:
    """The pair of a Gaussian sum costs more than the add-remove formula, and less than 2 norm."""
    learner = BatchPerceptron(
        margin=0.1, steps=120, sigma=0.871199, rate=Fraction(1, 120), relation=ReplaceOne()
    )

    assert learner.guarantee().epsilon(delta=1e-5).upper == pytest.approx(1.13472, abs=1e-5)


def test_exact_ties_are_mistakes() -> None:
    """Where every product is exactly 0, margin 0 is not exceeded, beside any number of rows."""
    assert_ties_are_mistakes(
        BatchPerceptron(margin=0, steps=1, sigma=1, norm=None, relation=AddRemove()), [1.0, -1.0]
    )


def test_learns_a_halfspace_that_the_mean_gets_wrong() -> None:
    """Two cones: rows have margin 0.3 at the first axis, and their mean errs on three in ten."""
    rng = np.random.default_rng(7)
    sides = np.where(rng.random(6_000) < 0.7, 1.0, -1.0)
    labels = rng.choice([-1.0, 1.0], size=len(sides))
    signed = np.column_stack([np.full(len(sides), 0.3), np.sqrt(1 - 0.09) * sides])
    rows = np.column_stack([signed, np.zeros((len(sides), 8))]) * labels[:, np.newaxis]
    sigma = calibrate(
        lambda s: BatchPerceptron(margin=0.15, steps=100, sigma=s, relation=AddRemove()),
        epsilon=1,
        delta=1e-5,
    ).value
    learner = BatchPerceptron(margin=0.15, steps=100, sigma=sigma, relation=AddRemove())
    weights = learner.release(Records(rows, labels), rng=rng).weights

    assert np.mean(np.sign(rows @ (rows * labels[:, np.newaxis]).mean(axis=0)) != labels) > 0.25
    assert np.mean(np.sign(rows @ weights) != labels) == 0


def test_average_is_the_mean_of_the_last_half() -> None:
    """With next to no noise the states are known: a record that stays a mistake adds up."""
    data = Records([[1.0, 0.0]], [1.0])
    exact: dict[str, Any] = {"margin": 2, "steps": 5, "sigma": 2.0**-40}
    mean = BatchPerceptron(**exact, relation=AddRemove()).release(data).weights
    last = BatchPerceptron(**exact, average=False, relation=AddRemove()).release(data).weights

    assert mean == pytest.approx([4, 0], abs=1e-9)
    assert last == pytest.approx([5, 0], abs=1e-9)


PERCEPTRON_GOOD: dict[str, Any] = {"margin": 0.1, "steps": 2, "sigma": 2, "margin_norm": "linf"}


class TestCoordinatePerceptron(LearnerContract):
    """The contract of learners, of two classes."""

    def learner(self, **changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
        """Two steps."""
        return BatchPerceptron(**{"relation": AddRemove(), **PERCEPTRON_GOOD, **changes})

    def labels(self) -> list[float]:
        """Both signs."""
        return [1.0, -1.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other norms."""
        return one_bad(
            BatchPerceptron,
            good={**PERCEPTRON_GOOD, "relation": AddRemove()},
            bad={"margin_norm": ("l1", None, 2)},
        )


@pytest.mark.slow
class TestCoordinateKesler(LearnerContract):
    """The contract of learners, of three classes."""

    def learner(self, **changes: Any) -> KeslerPerceptron[Any]:  # noqa: ANN401
        """Two steps."""
        return KeslerPerceptron(
            **{"relation": AddRemove(), **PERCEPTRON_GOOD, "classes": 3, **changes}
        )

    def labels(self) -> list[float]:
        """Class numbers."""
        return [0.0, 1.0, 2.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other norms."""
        return one_bad(
            KeslerPerceptron,
            good={**PERCEPTRON_GOOD, "classes": 3, "relation": AddRemove()},
            bad={"margin_norm": ("l1", None, 2)},
        )


@pytest.mark.parametrize("kind", [BatchPerceptron, KeslerPerceptron])
def test_mistakes_are_those_that_moved_coordinates_turn(kind: Any) -> None:  # noqa: ANN401
    """By definition: the worst corner of the cube around a record is on the wrong side."""
    rng = np.random.default_rng(3)
    rows, two = rng.normal(size=(200, 5)), kind is BatchPerceptron
    labels = rng.choice([-1, 1], size=200) if two else rng.integers(0, 3, size=200)
    more = {} if two else {"classes": 3}
    found = kind(
        margin=0.3, norm=20, steps=1, sigma=1, margin_norm="linf", relation=AddRemove(), **more
    )
    plain = kind(margin=0.3, norm=20, steps=1, sigma=1, relation=AddRemove(), **more)
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
