"""The parameters of two papers' efficient learners."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant import GDP, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import RademacherProjection, Records
from experiments.plans.margin_presets import adaptive_margins, efficient_margin, projected_descent


def test_projected_descent_projects_only_where_that_is_shorter() -> None:
    """The dimension follows the margin; the hinge is at half of it, in any unit."""
    short = projected_descent(features=100, margin=0.6, mu=0.2, records=1_000, norm=2)
    long = projected_descent(features=10**5, margin=0.6, mu=0.2, records=1_000, norm=2)

    assert short.map is None
    assert isinstance(long.map, RademacherProjection)
    assert long.map.dimension == 881  # 8 log(20,000) / .09
    assert (int(long.norm), long.margin) == (2, short.margin)
    assert float(long.margin) == 0.3
    assert long.steps == 12  # (1000 mu)^2 / (4 k), rounded up
    for learner in (short, long):
        assert learner.guarantee().gdp().upper == pytest.approx(0.2, rel=1e-12)


def test_efficient_margin_is_private_beyond_the_range_of_the_paper() -> None:
    """At epsilon above log(1/delta), and delta above 1/records, too."""
    for epsilon, delta in ((1, 1e-5), (8, 1e-3), (1, 0.1)):
        learner = efficient_margin(
            features=30, margin=0.1, epsilon=epsilon, delta=delta, records=50, steps=5
        )
        found = learner.guarantee()

        assert isinstance(found, GDP)
        assert found.relation == ReplaceOne()
        assert epsilon * (1 - 1e-6) < found.epsilon(delta=delta).upper <= epsilon


def test_both_learn() -> None:
    """A wide margin in 600 dimensions, of which a projection leaves fewer."""
    rng = np.random.default_rng(5)
    side = rng.choice([-1.0, 1.0], size=2_000)
    rest = rng.normal(size=(2_000, 599))
    rest *= 0.6 / np.linalg.norm(rest, axis=1, keepdims=True)
    data = Records(np.column_stack([0.8 * side, rest]), side)
    one = projected_descent(features=600, margin=0.8, mu=0.25, records=2_000, seed=3)
    two = efficient_margin(
        features=600, margin=0.4, epsilon=1, delta=1e-5, records=2_000, seed=3, steps=50
    )
    for learner in (one, two):
        weights = learner.release(data, rng=rng).weights

        assert learner.map is not None
        assert weights.shape == (600,)
        assert np.mean(np.sign(data.rows @ weights) == side) > 0.97


def test_refusals() -> None:
    """Numbers outside their domains, before anything is computed."""
    for bad in ({"margin": 0}, {"records": 0}, {"failure": 1}, {"features": 0}, {"mu": 0}):
        given = {"features": 10, "margin": 0.1, "mu": 0.2, "records": 10, **bad}
        with pytest.raises(ParameterError):
            projected_descent(**given)  # type: ignore[arg-type]


def test_every_dyadic_margin_has_a_projection() -> None:
    """The budget is that of the whole grid, whose largest margin is half of the norm."""
    learner = adaptive_margins(features=6, mu=0.5, records=90, steps=3, norm=2)
    rows = np.random.default_rng(1).normal(size=(90, 6))

    assert learner.guarantee().relation == ReplaceOne()
    assert learner.guarantee().mu_squared <= 0.25  # type: ignore[attr-defined]
    assert float(learner.margins[-1]) == 1
    assert learner.release(Records(rows, np.sign(rows[:, 0]))).weights.shape == (6,)
