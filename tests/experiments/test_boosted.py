"""Several fits of one learner, the best picked privately."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import GDP, AddRemove, BoundedRange, ReplaceOne, compose
from dpproof.accountant.theorems.subsampling import repeated_positions
from dpproof.mechanisms import (
    BatchPerceptron,
    ClassMeans,
    FourierFeatures,
    KeslerPerceptron,
    PhasedHinge,
    Projected,
    Records,
    SignProjection,
)
from dpproof.mechanisms.learning.descent import phase_sizes
from dpproof.mechanisms.learning.risk_bounds import mistakes
from experiments.boosted import Boosted
from experiments.noisy_hinge import NoisyHinge
from experiments.one_vs_rest import OneVsRest
from tests.contracts.mechanism_contract import MechanismContract, one_bad


def base(**changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
    """A perceptron of two steps."""
    return BatchPerceptron(
        **{"relation": AddRemove(), "margin": 0.1, "steps": 2, "sigma": 4, **changes}
    )


class TestBoosted(MechanismContract):
    """The best of three perceptrons."""

    def mechanism(self) -> Boosted[AddRemove]:
        """Two steps each."""
        return Boosted(base=base(), runs=3, epsilon=0.25)

    def data(self) -> Records:
        """A few rows."""
        return Records([[1.0, 0.0], [0.0, -1.0], [0.6, 0.8]], [1, -1, 1])

    def increasing_noise(self) -> Sequence[Boosted[AddRemove]]:
        """Standard deviations from half the norm to fifty times."""
        return [Boosted(base=base(sigma=s), runs=3, epsilon=0.25) for s in (0.5, 2, 50)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other bases, one run, and a pick without an epsilon."""
        bad: dict[str, Sequence[Any]] = {
            "base": (None, "perceptron", ClassMeans(classes=2, sigma=1, relation=AddRemove())),
            "runs": (0, 1, 2.5, None, True),
            "epsilon": (0, -1, None, float("inf")),
        }
        return one_bad(Boosted, good={"base": base(), "runs": 3, "epsilon": 1}, bad=bad)


def test_every_fit_and_the_pick_are_paid_for() -> None:
    """The guarantee is that of all fits and one bounded range, under either relation."""
    for relation, mu in ((AddRemove(), 0.5), (ReplaceOne(), 1.0)):
        hinge = NoisyHinge(margin=0.3, expected_size=100, steps=25, sigma=10, relation=relation)
        stated = Boosted(base=hinge, runs=4, epsilon=0.25).guarantee()
        by_hand = compose(
            *[GDP(mu=mu, relation=relation)] * 4, BoundedRange(epsilon=0.25, relation=relation)
        )

        assert stated.epsilon(delta=1e-6) == by_hand.epsilon(delta=1e-6)


def test_the_pick_has_the_fewest_mistakes() -> None:
    """Without noise on the pick, no fit of the same run has fewer mistakes."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, 3))
    data = Records(rows, np.where(rows[:, 0] > 0, 1, -1))
    learner = Boosted(base=base(sigma=30), runs=5, epsilon=1e6)
    released = learner.release_many(data, 20, rng=np.random.default_rng(1))
    fits = base(sigma=30).release_many(data, 100, rng=np.random.default_rng(1))
    counts = mistakes(fits["weights"], data).reshape(20, 5)

    assert mistakes(released["weights"], data).tolist() == counts.min(axis=1).tolist()
    assert len(set(counts.min(axis=1).tolist())) > 3


@pytest.mark.parametrize(
    ("learner", "shape"),
    [
        (KeslerPerceptron(classes=3, margin=0.1, steps=2, sigma=1, relation=AddRemove()), (3, 4)),
        (OneVsRest(base=base(), classes=3), (3, 4)),
        (Projected(base=base(), projection=SignProjection(features=4, dimension=2, seed=1)), (4,)),
    ],
)
def test_any_learner_of_weights_is_boosted(learner: Any, shape: tuple[int, ...]) -> None:  # noqa: ANN401
    """Several classes and projected rows are scored as their weights are."""
    data = Records(np.eye(4), [1, -1, 1, -1] if len(shape) == 1 else [0, 1, 2, 0])

    assert Boosted(base=learner, runs=2, epsilon=1).release(data).weights.shape == shape


def test_boosted_phases_cost_what_the_specification_says() -> None:
    """Five runs of mu .1 and a pick of .5: epsilon 1.2971612132107 at 1e-6."""
    phased = PhasedHinge(margin=0.1, norm=1, mu=0.1, relation=ReplaceOne())
    found = Boosted(base=phased, runs=5, epsilon=0.5).guarantee().epsilon(delta=1e-6)

    assert found.lower <= 1.2971612132107 * (1 + 1e-9)
    assert found.upper == pytest.approx(1.2971612132107, rel=1e-9)


@pytest.mark.slow
def test_occurrences_add_up_over_boosted_runs() -> None:
    """With replacement the runs together have the law of the sum over all of their phases."""
    phased = PhasedHinge(
        margin=0.1,
        norm=1,
        mu=0.1,
        sampling="with-replacement",
        records=1_000,
        relation=ReplaceOne(),
    )
    one = GDP(mu=0.1, relation=ReplaceOne())
    together = repeated_positions(one, records=1_000, draws=phase_sizes(1_000) * 3)
    pick = BoundedRange(epsilon=0.1, relation=ReplaceOne())
    found = Boosted(base=phased, runs=3, epsilon=0.1).guarantee().epsilon(delta=1e-6).upper

    assert found == pytest.approx(compose(together, pick).epsilon(delta=1e-6).upper, rel=1e-3)


def test_phases_are_scored_inside_the_ball_and_on_mapped_rows() -> None:
    """What is released has norm at most 2 radius, and the count is that of the mapped rows."""
    waves = FourierFeatures(features=2, frequencies=4, width=1, seed=1, norm=4)
    rows = np.random.default_rng(1).normal(size=(60, 2))
    data = Records(rows, np.where(rows[:, 0] * rows[:, 1] > 0, 1, -1))
    phased = PhasedHinge(margin=0.5, norm=1, mu=0.2, map=waves, relation=ReplaceOne())
    released = Boosted(base=phased, runs=4, epsilon=1e6).release_many(data, 30)
    fits = phased.release_many(data, 120)

    assert np.linalg.norm(released["weights"], axis=1).max() <= 2 * (1 + 1e-12)
    means = [mistakes(one["weights"], waves.records(data)).mean() for one in (released, fits)]
    assert means[0] < means[1]
