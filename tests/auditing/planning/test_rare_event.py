"""The event that smooth odds choose, and when they choose none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof import auditing
from dpproof.accountant import GDP, ZCDP
from dpproof.auditing import Design, EventCounts, Outcome, Pair, RandomisedLabel
from dpproof.auditing.audit import WITNESSES
from dpproof.auditing.counts import Claim
from dpproof.auditing.planning.plan import (
    CurvePlan,
    EpsilonPlan,
    Method,
    plan_curve,
    plan_epsilon,
    questions,
    sharpened,
    sharpened_curve,
)
from dpproof.auditing.trials.trials import Trials
from tests.auditing.samplers import Draw, gaussian, laplace, rounded
from tests.auditing.variants import truncated_gaussian

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


def curves(
    draw: Draw, claim: object, *, seed: int
) -> tuple[CurvePlan | None, tuple[CurvePlan, ...]]:
    """What a pilot of 700 trials chooses by frequencies, and by smooth odds."""
    training = Trials(draw, Pair(0.0, 1.0), seed=seed).training(700)
    ranked = list(questions(WITNESSES, *training.halves()))
    plan = plan_curve(ranked, Claim.of(claim))
    return plan, sharpened_curve(plan, ranked, training, Claim.of(claim))


def clear(plan: CurvePlan, sigma: float) -> float:
    """True standard errors a trial that an event of Gaussian noise is beyond its tangent."""
    side = 1 if plan.question.upwards else -1
    means = (1.0, 0.0) if plan.question.swapped else (0.0, 1.0)
    p, q = (stats.norm.sf(plan.question.thresholds[0] - side * mean, scale=sigma) for mean in means)
    slope = math.exp(plan.tangent.epsilon)
    error = math.sqrt(p * (1 - p) + slope**2 * q * (1 - q))
    return float((p - slope * q - plan.tangent.delta) / error)


def test_chooses_nearly_the_best_tangent_of_gaussian_noise() -> None:
    """Where the claim is half the loss, what is chosen shows more than what was most frequent."""
    sigma, found = 5**0.5 / 2, []
    for seed in range(30):
        plan, sharp = curves(gaussian(sigma), ZCDP(rho=0.1), seed=seed)
        assert plan is not None
        if not plan.question.fitted and str(plan.question.score) == "output[0]":
            found.append((clear(plan, sigma), clear(sharp[-1], sigma)))
    raw, smooth = np.array(found).T

    assert len(found) > 15
    assert np.median(smooth) > 0.16  # of 0.183
    assert smooth.mean() > raw.mean() + 0.01


def test_a_jump_keeps_its_tangent() -> None:
    """Odds that jump at the end of the noise contradict a smooth curve, most of the time.

    Both tangents are tested then, as few trials may look like a jump.
    """
    chosen = [curves(truncated_gaussian, GDP(mu=1), seed=seed) for seed in range(12)]

    assert sum(plan is sharp[0] for plan, sharp in chosen) >= 9


def test_a_point_has_no_tangent() -> None:
    """Nothing to choose for (epsilon, delta), nor for an output with two values."""
    assert curves(gaussian(1.0), (1, 0.01), seed=1) == (None, ())
    plan, sharp = curves(lambda value, n, rng: rng.random(n) < value / 2, ZCDP(rho=0.1), seed=1)
    assert sharp == (plan,)
