"""Plans of hinge descent: against published constants, their own inverse, and runs."""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms import Records
from experiments.plans.hinge_plan import HingePlan, hinge_mistakes, plan_hinge, published_excess

EASY: dict[str, Any] = {"features": 20, "gamma": 0.5, "alpha": 0.2, "xi": 0.1}
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}


@pytest.mark.parametrize(("records", "excess"), [(10**6, 4188), (10**9, 7.7), (10**12, 0.012)])
def test_the_published_solver_at_its_printed_dimension(records: int, excess: float) -> None:
    """A specification's values at alpha = xi = gamma = 0.1, to their digits."""
    failure = 0.1 * 0.1**2 / (64 * records)
    dimension = math.ceil(40_000 * math.log(2 / failure) / 0.1**2)
    found = published_excess(
        records=records, features=dimension, gamma=0.1, xi=0.1, epsilon=1, delta=1e-6
    )

    assert found == pytest.approx(excess, rel=0.02)


def test_a_plan_is_the_inverse_of_its_evaluator() -> None:
    """The planned records suffice and one less does not; the learner keeps the budget."""
    plan = plan_hinge(**EASY, **BUDGET)
    given: dict[str, Any] = {
        "features": 20,
        "gamma": 0.5,
        "xi": 0.1,
        "steps": plan.steps,
        "sigma": plan.sigma,
    }

    assert hinge_mistakes(records=plan.records, **given) <= 0.1
    assert hinge_mistakes(records=plan.records - 1, **given) > 0.1
    assert 0.999 < plan.learner().guarantee().epsilon(delta=1e-5).upper <= 1
    assert plan.records < 5_000
    paper = plan_hinge(**EASY, **BUDGET, law="paper")
    assert (
        published_excess(records=paper.records, features=20, gamma=0.5, xi=0.1, **BUDGET) <= 0.025
    )
    assert paper.runs == math.ceil(math.log(80))
    assert paper.steps == paper.records**2 - 1
    with pytest.raises(ParameterError, match="to make a learner"):
        paper.learner()


def test_planned_runs_make_few_mistakes() -> None:
    """On two cones of the planned margin no more than the proved share is mistaken, 8 runs in 8.

    The bound fails with probability at most 0.1 a run; it is so loose that a miss means a mistake.
    """
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    rng, count = np.random.default_rng(seed), 4_000
    plan = HingePlan(law="ours", records=count, steps=64, sigma=30.0, margin=0.5, runs=1)
    labels = np.where(rng.uniform(size=count) < 0.5, 1, -1)
    rows = np.zeros((count, 20))
    rows[:, 0] = 0.5
    rows[:, 1] = np.where(rng.uniform(size=count) < 0.7, 1, -1) * math.sqrt(0.75)
    released = plan.learner().release_many(Records(rows * labels[:, None], labels), 8, rng=rng)
    wrong = (np.asarray(released["weights"]) @ rows.T < 0.05).mean(axis=1)
    bound = hinge_mistakes(records=count, features=20, gamma=0.5, xi=0.1, steps=64, sigma=30)

    assert bound < 0.9
    assert (wrong <= bound).all()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"gamma": 1.5}, "in \\(0, 1\\]"),
        ({"alpha": 0}, "alpha"),
        ({"xi": 1}, "xi"),
        ({"features": 0}, "features"),
        ({"law": "theirs"}, '"paper" or "ours"'),
    ],
)
def test_refusals(changes: dict[str, Any], text: str) -> None:
    """Arguments outside their domains are refused by their names."""
    with pytest.raises(ParameterError, match=text):
        plan_hinge(**{**EASY, **BUDGET, **changes})


def test_no_number_of_records() -> None:
    """A margin that is too small for any data is refused, by both solvers."""
    with pytest.raises(CalibrationError, match="no number of records"):
        plan_hinge(**{**EASY, **BUDGET, "law": "paper", "gamma": 1e-15})
    with pytest.raises(CalibrationError, match="no number of records"):
        plan_hinge(**{**EASY, **BUDGET, "gamma": 1e-30})
