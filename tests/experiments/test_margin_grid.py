"""Margins chosen from a public grid by noisy counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import GDP, AddRemove
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import ReplaceOne
from dpproof.mechanisms import (
    FourierFeatures,
    RademacherProjection,
    Records,
    cover_count,
    halfspace_risk,
)
from dpproof.mechanisms.learning.risk_bounds import mistakes
from experiments.margin_grid import MarginGrid, dyadic_margins
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"margins": [0.1, 0.5], "norm": 1, "steps": 2, "mu": 0.5}
PLANS = tuple(RademacherProjection(features=4, dimension=k, seed=1) for k in (1, 3))
WAVES = FourierFeatures(features=2, frequencies=3, width=2, seed=1, norm=4)


class TestMarginGrid(MechanismContract):
    """Two margins under add-remove."""

    def mechanism(self) -> MarginGrid[AddRemove]:
        """With a public number of records."""
        return MarginGrid(**GOOD, relation=AddRemove(), records=4)

    def data(self) -> Records:
        """A few rows."""
        return Records([[1.0, 0.0], [0.0, -1.0], [0.6, 0.8]], [1, -1, 1])

    def increasing_noise(self) -> Sequence[MarginGrid[AddRemove]]:
        """From mu 4 to 1/50."""
        given = {**GOOD, "relation": AddRemove(), "records": 4}
        return [MarginGrid(**{**given, "mu": mu}) for mu in (4, 1, 0.5, 0.02)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "margins": ([], [1], [1, 0], None, "ab", 3),
            "mu": NOT_POSITIVE,
            "norm": NOT_POSITIVE,
            "score_share": (0, 1, None, 0.99),
            "report_share": (0, 1, None, 0.9),
            "penalised": (1, None, True),
            "map": (3, (None,), (WAVES, WAVES)),
            "steps": (0, 2.5, None),
            "relation": (AddRemove(), None),
            "records": (0, 2.5),
        }
        plain = {**GOOD, "penalised": True, "records": 9}
        return [
            *one_bad(MarginGrid, good={**GOOD, "relation": ReplaceOne()}, bad=bad),
            lambda: MarginGrid(**plain, relation=ReplaceOne()),
        ]


def test_everything_is_paid_for_once() -> None:
    """Of mu^2 the trainings have 88 %, and all parts together have all of it and not more."""
    learner = MarginGrid(**GOOD, relation=ReplaceOne())
    found = learner.guarantee()
    trained = sum(float(one.mu) ** 2 for one in learner.learners())
    counted = 2 / float(learner.score_sigma) ** 2 + 2 / float(learner.report_sigma) ** 2

    assert isinstance(found, GDP)
    assert found.mu_squared <= 0.25
    assert trained == pytest.approx(0.88 * 0.25)
    assert counted == pytest.approx(0.12 * 0.25)
    assert float(found.mu_squared) == pytest.approx(trained + counted)


def test_the_chosen_margin_has_the_least_noisy_count() -> None:
    """Its weights are those of the index, and the count that is reported is another one."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3))
    data = Records(rows, np.sign(rows[:, 0]))
    learner = MarginGrid(margins=[0.01, 0.1, 1], norm=4, steps=9, mu=2, relation=ReplaceOne())
    runs = learner.release_many(data, 300, rng=np.random.default_rng(2))
    index = runs["index"]
    true = mistakes(runs["weights"], data)
    gaps = (runs["mistakes"] - true) / float(learner.report_sigma)
    least = (runs["scores"][np.arange(300), index] - true) / float(learner.score_sigma)

    assert (runs["scores"].argmin(axis=1) == index).all()
    assert (runs["candidates"][np.arange(300), index] == runs["weights"]).all()
    assert len(set(index.tolist())) > 1
    # Means of 300: five standard errors, and the least of three is .4 or more below.
    assert abs(gaps.mean()) < 5 / math.sqrt(300)
    assert least.mean() < -0.3
    assert 0.75 < gaps.std() < 1.25


def test_penalties_follow_the_width_of_mapped_rows() -> None:
    """Half of five times the logarithm of the patterns; what is released has no penalty in it."""
    shared = {**GOOD, "map": PLANS, "records": 40}
    plain, penalised = (
        MarginGrid(**shared, relation=ReplaceOne()),
        MarginGrid(**shared, penalised=True, relation=ReplaceOne()),
    )
    rows = np.random.default_rng(1).normal(size=(40, 4))
    data = Records(rows, np.sign(rows[:, 0]))
    runs = penalised.release_many(data, 50, rng=np.random.default_rng(2))

    assert set(plain.penalties) == {0.0}
    assert penalised.penalties == tuple(
        2.5 * cover_count(dimension=width, points=80) for width in (1, 3)
    )
    chosen = (runs["scores"] + np.array(penalised.penalties)).argmin(axis=1)
    assert (chosen == runs["index"]).all()
    assert runs["weights"].shape == (50, 4)


def test_one_map_that_is_not_linear_serves_all_margins() -> None:
    """Counts are of mapped rows, as the weights are."""
    learner = MarginGrid(**{**GOOD, "mu": 500}, map=WAVES, relation=ReplaceOne())
    data = Records(np.random.default_rng(1).normal(size=(30, 2)), [1, -1] * 15)
    found = learner.release(data)
    true = mistakes(found.candidates, WAVES.records(data))

    assert found.weights.shape == (6,)
    assert np.abs(found.scores - true).max() < 1


def test_the_excess_holds_and_the_report_bounds_the_risk() -> None:
    """With K = 2 the chosen is within the bound of the best; risk bounds take the report as is."""
    learner = MarginGrid(**{**GOOD, "mu": 2}, relation=ReplaceOne())
    data = Records(np.random.default_rng(1).normal(size=(200, 2)), [1, -1] * 100)
    runs = learner.release_many(data, 200, rng=np.random.default_rng(3))
    true = np.stack([mistakes(one, data) for one in runs["candidates"]])
    over = true[np.arange(200), runs["index"]] - true.min(axis=1)
    count = learner.reported(float(runs["mistakes"][0]), records=200)

    assert (over <= learner.excess(failure=1e-9)).all()
    assert count.selected == 1
    assert halfspace_risk(count, dimension=2).risk <= 1


def test_a_dyadic_grid_is_dense_enough() -> None:
    """Any margin has half of itself or more below it."""
    grid = dyadic_margins(records=1_000)
    for margin in np.geomspace(1 / 1_000, 1, 50):
        assert any(margin / 2 < one <= margin * (1 + 1e-12) for one in grid)
    with pytest.raises(ParameterError, match="smallest must be"):
        dyadic_margins(records=10, smallest=2)
