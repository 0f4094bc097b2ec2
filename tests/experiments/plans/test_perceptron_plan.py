"""Plans of perceptrons: against published constants, their own inverse, and a run."""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms import Records
from experiments.plans.perceptron_plan import PerceptronPlan, certifies, plan_perceptron

EASY: dict[str, Any] = {"features": 20, "gamma": 0.5, "margin": 0.25, "alpha": 0.2, "xi": 0.1}
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}


@pytest.mark.parametrize(
    ("problem", "records", "steps"),
    [
        ((20, 0.5, 0.25, 0.2), 158_489, 1_259),
        ((20, 0.5, 0.25, 0.1), 446_684, 2_512),
        ((50, 0.3, 0, 0.1), 398_107, 1_778),
        ((100, 0.1, 0, 0.1), 1_122_018, 12_589),
        ((100, 0.1, 0.095, 0.1), 28_183_829, 3_981_072),
    ],
)
def test_a_table_computed_elsewhere_is_certified(
    problem: tuple[int, float, float, float], records: int, steps: int
) -> None:
    """A prototype's least records in tenths of decades suffice, and 0.7 of them do not."""
    given: dict[str, Any] = {
        **dict(zip(("features", "gamma", "margin", "alpha"), problem, strict=True)),
        "law": "ours",
        "xi": 0.1,
        "steps": steps,
        "rate": steps**-0.5,
        "sigma": 3.9,
        "count_noise": 19.5,
    }

    assert certifies(records=records, **given)
    assert not certifies(records=int(0.7 * records), **given)
    assert not certifies(records=records, **{**given, "count_noise": 100})
    assert not certifies(records=records, **{**given, "steps": steps // 8})


@pytest.mark.parametrize("law", ["paper", "ours"])
def test_a_plan_is_the_inverse_of_its_evaluator(law: Any) -> None:  # noqa: ANN401
    """The plan is certified, and with one record less it is not; its learner keeps the budget."""
    plan = plan_perceptron(**EASY, **BUDGET, law=law)
    given = {
        "law": law,
        **EASY,
        "steps": plan.steps,
        "rate": plan.rate,
        "sigma": plan.sigma,
        "count_noise": plan.count_noise,
    }

    assert certifies(records=plan.records, **given)
    assert not certifies(records=plan.records - 1, **given)
    if law == "ours":
        assert 0.999 < plan.learner().guarantee().epsilon(delta=1e-5).upper <= 1


def test_the_papers_constants_are_the_papers() -> None:
    """Steps, rate and noise are those printed in its Lemmas 18 and 19."""
    plan = plan_perceptron(**EASY, **BUDGET, law="paper")
    log = math.log(120_000 / 1e-5)

    assert plan.steps == 120_000
    assert plan.rate == pytest.approx(120_000**-0.5)
    assert plan.sigma == pytest.approx(100 * log)
    assert plan.count_noise == pytest.approx(100 * math.sqrt(log))
    assert plan.below == pytest.approx(0.3 * 0.2 * plan.rate * plan.records)
    assert plan_perceptron(
        features=20, gamma=0.5, alpha=0.2, xi=0.1, **BUDGET, law="paper"
    ).margin == pytest.approx(0.475)


def test_a_plan_is_kept_by_a_run() -> None:
    """On two cones of exactly the margin, runs stop with few margin mistakes, but for xi = 1e-9."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    rng = np.random.default_rng(seed)
    easy: dict[str, Any] = {"features": 3, "gamma": 0.6, "margin": 0.2, "alpha": 0.5, "xi": 1e-9}
    plan = plan_perceptron(**easy, epsilon=20, delta=1e-3)
    labels = rng.choice([-1.0, 1.0], size=plan.records)
    side = np.where(rng.random(plan.records) < 0.7, 0.8, -0.8)
    rows = labels[:, np.newaxis] * np.stack([np.full(plan.records, 0.6), side, 0 * side], axis=1)
    released = plan.learner().release(Records(rows, labels), rng=rng)
    direction = released.weights / np.linalg.norm(released.weights)

    assert released.stopped
    assert np.mean(labels * (rows @ direction) <= 0.2) <= 0.25


@pytest.mark.slow
def test_harder_problems_need_more() -> None:
    """Records grow with the width, and fall with margin, error, failure and budget."""
    base = plan_perceptron(**EASY, **BUDGET).records
    hard = {**EASY, "features": 200, "gamma": 0.45, "alpha": 0.15, "xi": 1e-3}
    assert plan_perceptron(**hard, epsilon=0.5, delta=1e-6).records > base


@pytest.mark.parametrize(
    "change",
    [
        {"gamma": 0},
        {"gamma": 1.5},
        {"margin": 0.5},
        {"margin": -1},
        {"alpha": 0},
        {"xi": 1},
        {"features": 0},
        {"epsilon": 0},
        {"delta": 1},
    ],
)
def test_refuses_bad_arguments(change: dict[str, Any]) -> None:
    """Every argument outside its domain is refused by its name."""
    with pytest.raises(ParameterError, match=next(iter(change))):
        plan_perceptron(**{**EASY, **BUDGET, **change})


def test_what_no_records_certify_is_refused() -> None:
    """A margin too small for any number of records is a calibration error; a law has two names."""
    with pytest.raises(CalibrationError, match="steps are more than"):
        plan_perceptron(**{**EASY, "gamma": 1e-12, "margin": 0}, **BUDGET, law="paper")
    plan = plan_perceptron(**EASY, **BUDGET)
    assert isinstance(plan, PerceptronPlan)
    given = {**EASY, "steps": 1, "rate": 1, "sigma": 1, "count_noise": 1}
    with pytest.raises(ParameterError, match="law"):
        certifies(law="theirs", records=10, **given)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="records"):
        certifies(law="ours", records=0, **given)
