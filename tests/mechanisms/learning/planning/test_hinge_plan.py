"""Plans of hinge descent: against published constants, their own inverse, and runs."""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms import HingePlan, Records, hinge_mistakes, plan_hinge, published_excess
from dpproof.mechanisms.learning.planning.hinge_plan import (
    cosine_after_projection,
    cosine_dimension,
)

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


def test_in_the_plane_the_probability_is_known() -> None:
    """Two dimensions turn an acute angle into an obtuse one with probability (1 - rho) / 2."""
    for rho in (0.1, 0.5, 0.9):
        below = cosine_after_projection(dimension=2, margin=rho, kept=0)

        assert below == pytest.approx((1 - rho) / 2, abs=1e-9)


@pytest.mark.parametrize(
    ("dimension", "margin", "kept"), [(3, 0.5, 0.2), (20, 0.3, 0.1), (50, 0.2, 0.1), (7, 0.1, 0.0)]
)
def test_simulation_agrees(dimension: int, margin: float, kept: float) -> None:
    """A hundred thousand projections with a fixed seed agree to five standard errors."""
    rng = np.random.default_rng(7)
    u = rng.normal(size=(100_000, dimension))
    v = margin * u + math.sqrt(1 - margin**2) * rng.normal(size=u.shape)
    cosine = (u * v).sum(axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    exact = cosine_after_projection(dimension=dimension, margin=margin, kept=kept)

    assert abs(np.mean(cosine <= kept) - exact) < 5 * math.sqrt(exact * (1 - exact) / 100_000)


@pytest.mark.parametrize(
    ("margin", "shares"),
    [
        (0.3, (382, 905, 125, 294, 102, 241)),
        (0.2, (912, 2159, 288, 681, 235, 554)),
        (0.1, (3777, 8937, 1173, 2774, 951, 2249)),
        (0.05, (15236, 36050, 4710, 11142, 3816, 9028)),
    ],
)
def test_dimensions_are_those_computed_elsewhere(margin: float, shares: tuple[int, ...]) -> None:
    """For half, a tenth and none of the margin, at failures 1e-3 and 1e-6."""
    found = [
        cosine_dimension(margin=margin, share=share, failure=failure)
        for share in (0.5, 0.1, 0)
        for failure in (1e-3, 1e-6)
    ]

    assert tuple(found) == shares


def test_the_dimension_is_the_inverse_of_the_probability() -> None:
    """At the dimension the failure is kept, at one less it is not."""
    for margin, share, failure in ((0.3, 0.5, 1e-3), (0.9, 0.1, 0.01), (0.05, 0.0, 1e-9)):
        m = cosine_dimension(margin=margin, share=share, failure=failure)
        at, before = (
            cosine_after_projection(dimension=k, margin=margin, kept=share * margin)
            for k in (m, m - 1)
        )

        assert at <= failure < before


def test_cosine_projection_refusals() -> None:
    """Dimensions, cosines, shares and failures outside their domains are refused."""
    for bad in ({"dimension": 1}, {"margin": 1}, {"margin": 0}, {"kept": 0.3}, {"kept": -0.1}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            cosine_after_projection(**{"dimension": 9, "margin": 0.3, "kept": 0.1, **bad})  # type: ignore[arg-type]
    for other in ({"share": 1}, {"share": -1}, {"failure": 0}, {"failure": 1}):
        with pytest.raises(ParameterError, match=next(iter(other))):
            cosine_dimension(**{"margin": 0.3, "share": 0.5, "failure": 0.1, **other})
    with pytest.raises(CalibrationError, match="no dimension"):
        cosine_dimension(margin=1e-4, share=0.5, failure=1e-3)
