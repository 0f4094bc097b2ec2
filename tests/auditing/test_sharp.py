"""The event that smooth odds choose, and when they choose none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import auditing
from auditing import Design, EventCounts, Outcome, Pair, RandomisedLabel
from auditing.audit import WITNESSES
from auditing.claim import Claim
from auditing.plan import EpsilonPlan, Method, plan_epsilon, questions
from auditing.sharp import sharpened
from auditing.trials import Trials
from tests.auditing.samplers import Draw, gaussian, laplace, rounded

SIGMA, DELTA = 3.7306, 1e-5  # (1, 1e-5)


def leaky(value: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Wide noise, and one output in forty tells the value."""
    told = rng.random(size) < 0.025
    return np.where(told, 200.0 + value, rounded(rng.normal(scale=20.0, size=size)))


def plans(draw: Draw, delta: float, *, seed: int, trials: int = 18_000) -> tuple[EpsilonPlan, ...]:
    """What a pilot of a ninth of the trials chooses against (1, delta)."""
    training = Trials(draw, Pair(0.0, 1.0), seed=seed).training(trials // 9)
    claim = Claim.of((1, delta))
    ranked = list(questions(WITNESSES, *training.halves()))
    plan = plan_epsilon(ranked, claim, trials)
    return sharpened(plan, ranked, training, claim, trials=trials, significance=0.05)


def shown(high: float, low: float) -> float:
    """The bound at expected counts from D' guessed above one threshold and D below another."""
    noise = stats.norm(scale=SIGMA)
    right = 0.5 * (noise.sf(high - 1) + noise.cdf(low))
    wrong = 0.5 * (noise.sf(high) + noise.cdf(low - 1))
    hits, others = round(18_000 * right), round(18_000 * wrong)
    counts = EventCounts(hits, 18_000 - others, others, others, Design.GUESSES)
    return RandomisedLabel(significance=0.0375).epsilon(counts, delta=DELTA)


def test_chooses_nearly_the_best_event_of_gaussian_noise() -> None:
    """In the median of 15 pilots, and mostly from both ends, within 4 points of the best."""
    best = max(shown(0.5 + t, 0.5 - t) for t in np.linspace(0, 5 * SIGMA, 40))
    reached = []
    for seed in range(15):
        *_, sharp = plans(gaussian(SIGMA), DELTA, seed=seed)
        ends = {side.upwards: float(side.thresholds[0]) for side in sharp.question.sides}
        reached.append(shown(ends.get(True, math.inf), -ends.get(False, math.inf)))

    assert np.median(reached) > best - 0.04


@pytest.mark.parametrize("delta", [0, 1e-5])
def test_significance_is_shared(delta: float) -> None:
    """All of it, by two plans, each at its own part."""
    plan, sharp = plans(laplace(1.0), delta, seed=1)

    assert plan.share + sharp.share == 1
    assert sharp.share == 0.75
    assert sharp.method is Method.LABEL
    assert sharp.bound(0.04).significance == pytest.approx(0.03)
    report = auditing.audit(laplace(1.0), (0.0, 1.0), (1, delta), samples=10_000, seed=1)
    assert sum(f.significance for f in report.findings) <= 0.05 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("draw", "trials"),
    [(leaky, 18_000), (lambda v, n, rng: (v + rng.random(n) > 0.9) * 1.0, 18_000),
     (laplace(1.0), 450)],
    ids=["contradicted", "two values", "few trials"],
)  # fmt: skip
def test_keeps_the_plan_alone(draw: Draw, trials: int) -> None:
    """Where an event has hits that no smooth odds explain, or counts say enough."""
    (plan,) = plans(draw, 0, seed=1, trials=trials)

    assert plan.share == 1


def test_an_early_look_is_paid_for_where_training_promises_a_violation() -> None:
    """A tenth of the significance and fewer trials for a gross violation, else one look."""
    gross = auditing.audit(laplace(0.2), (0.0, 1.0), (1, 0), samples=10_000, seed=1)
    sound = auditing.audit(laplace(1.0), (0.0, 1.0), (1, 0), samples=10_000, seed=1)

    assert gross.outcome is Outcome.VIOLATION
    assert gross.trials < gross.planned / 5
    assert sum(f.significance for f in gross.findings) == pytest.approx(0.005)
    assert sum(f.significance for f in sound.findings) == pytest.approx(0.05)
    assert sound.trials == sound.planned
