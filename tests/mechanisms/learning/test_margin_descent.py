"""Noisy descent on a hinge loss, exactly mu-GDP."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import GDP, AddRemove, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    FourierFeatures,
    MarginDescent,
    RademacherProjection,
    Records,
    ReplayRng,
)
from tests.contracts.learner_contract import LearnerContract
from tests.contracts.mechanism_contract import NOT_POSITIVE, one_bad
from tests.mechanisms.learning.builders import BAD

GOOD: dict[str, Any] = {"margin": 0.5, "norm": 1, "steps": 2, "mu": 0.5}
PLAN = RademacherProjection(features=2, dimension=1, seed=1)


class TestMarginDescent(LearnerContract):
    """Under add-remove, with a public number of records."""

    def learner(self, **changes: Any) -> MarginDescent[Any]:  # noqa: ANN401
        """Two steps; sigma says mu."""
        changes.pop("rate", None)
        given = {**GOOD, "relation": AddRemove(), "records": 4, "average": False, **changes}
        both = 2 if given["relation"].symmetric else 1
        given["mu"] = both * math.sqrt(given["steps"]) / given.pop("sigma", 2)
        return MarginDescent(**{"relation": ReplaceOne(), **given})

    def labels(self) -> list[float]:
        """Both signs."""
        return [1.0, -1.0]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {name: BAD[name] for name in ("steps", "relation", "average", "features")}
        bad |= {"norm": (*BAD["norm"], None), "records": (0, 2.5, -1), "map": (1, "identity")}
        bad |= dict.fromkeys(("margin", "mu", "radius"), NOT_POSITIVE)
        unknown = {**GOOD, "relation": AddRemove(), "records": None}
        blank = {**unknown, "relation": ZeroOut()}
        other = {**GOOD, "map": PLAN, "features": 3}
        return [
            *one_bad(MarginDescent, good={**GOOD, "relation": ReplaceOne()}, bad=bad),
            *(
                lambda given=given: MarginDescent(**{"relation": ReplaceOne(), **given})
                for given in (unknown, blank, other)
            ),
        ]


def test_the_run_is_gdp_at_the_stated_mu() -> None:
    """Whatever the steps and the relation; the largest mu of (1, 1e-5) is .26805."""
    for relation in (ReplaceOne(), ReplaceLabel(), AddRemove()):
        learner = MarginDescent(
            margin=0.1, norm=3, steps=150, mu=0.26805, relation=relation, records=10
        )
        found = learner.guarantee()

        assert isinstance(found, GDP)
        assert float(found.mu) == 0.26805
        assert found.mu <= learner.mu
        assert found.epsilon(delta=1e-5).upper == pytest.approx(1, abs=1e-5)
        assert learner.sensitivity == (3 if isinstance(relation, AddRemove) else 6)


def test_two_steps_attain_the_profile() -> None:
    """Opposite records keep both sums 2 C apart: the transcript is two Gaussians, not less."""
    learner = MarginDescent(margin=1, norm=1, steps=2, mu=0.5, relation=ReplaceOne())
    one, other = (learner.contributions(Records([[1.0]], [label])) for label in (1, -1))
    states = np.array([[0.0], [0.3], [-0.9]])
    apart = (one.totals(states, None).sums - other.totals(states, None).sums) * 2.0**-24

    assert (apart == 2).all()
    assert learner.guarantee().delta(epsilon=0.2).upper == pytest.approx(0.125448356710603)
    assert learner.guarantee().delta(epsilon=1).upper == pytest.approx(0.00682959498311)


@pytest.mark.parametrize("kept", ["mean", "last"])
def test_steps_are_those_of_descent_in_data_units(kept: str) -> None:
    """With next to no noise the states are those of subgradient descent, by hand."""
    rows, labels = np.array([[1.2, 1.6], [0.0, 2.0], [-2.0, 0.0]]), np.array([1, 1, -1])
    w, states = np.zeros(2), [np.zeros(2)]
    for _ in range(8):
        mistakes = labels * (rows @ w) < 1.5
        w = w + 0.5 * (labels * mistakes) @ rows / (3 * 3 * 2)
        states.append(w)
    expected = np.mean(states, axis=0) if kept == "mean" else w
    learner = MarginDescent(
        margin=1.5,
        norm=2,
        steps=8,
        mu=2.0**40,
        radius=0.5,
        average=kept == "mean",
        relation=ReplaceOne(),
    )

    assert learner.release(Records(rows, labels)).weights == pytest.approx(expected, abs=1e-6)


def test_maps_and_weights() -> None:
    """Weights of a linear map are for the rows before mapping, others for mapped rows."""
    rows = np.random.default_rng(1).normal(size=(40, 8)) / 4
    labels = np.where(rows[:, 0] > 0, 1, -1)
    plan = RademacherProjection(features=8, dimension=3, seed=5)
    learner = MarginDescent(margin=0.1, norm=1, steps=5, mu=50, map=plan, relation=ReplaceOne())
    base = MarginDescent(margin=0.1, norm=1, steps=5, mu=50, relation=ReplaceOne())
    one = learner.release(Records(rows, labels), rng=ReplayRng(1)).weights
    other = base.release(plan.records(Records(rows, labels)), rng=ReplayRng(1)).weights
    features = FourierFeatures(features=8, frequencies=6, width=1, seed=2)
    kernel = MarginDescent(margin=0.1, norm=1, steps=5, mu=50, map=features, relation=ReplaceOne())

    assert one == pytest.approx(other @ plan.matrix())
    assert kernel.release((rows, labels)).weights.shape == (12,)
    assert "RademacherProjection" in str(learner.guarantee().derivation.statement)
    assert isinstance(proofs.check(learner.guarantee().certify(delta=1e-5)), proofs.VerifiedUnder)


def test_sums_after_clipping_have_the_norm_for_every_map() -> None:
    """A projection that doubles a row's length is clipped: the sensitivity is no matter of luck."""
    plan = RademacherProjection(features=400, dimension=4, seed=1)
    long = 2 * plan.matrix()[0] / np.linalg.norm(plan.matrix()[0])
    learner = MarginDescent(margin=0.1, norm=1, steps=1, mu=1, map=plan, relation=ReplaceOne())
    found = learner.contributions(Records([long], [1])).totals(np.zeros((1, 4)), None).sums

    assert np.linalg.norm(plan.apply(long[np.newaxis])) > 2
    assert 1 - 1e-6 < np.linalg.norm(found) * 2.0**-24 <= 1


def test_without_a_stated_size_the_public_one_counts_all_records() -> None:
    """Under replace-one a malformed record in place of another does not change the step size."""
    rows = [([0.6, 0.8], 1), ([0.0, 1.0], 1)]
    odd = [*rows, ([np.nan, 0.0], 1)]
    stated = MarginDescent(**GOOD, records=3, relation=ReplaceOne())
    learner = MarginDescent(**GOOD, features=2, relation=ReplaceOne())
    weights = learner.release(odd, rng=ReplayRng(4)).weights

    assert (
        weights == stated.release(Records(*zip(*rows, strict=True)), rng=ReplayRng(4)).weights
    ).all()
    with pytest.raises(ParameterError, match="number of records is private"):
        MarginDescent(**GOOD, relation=AddRemove())


def test_the_bounds_hold_on_a_planted_halfspace() -> None:
    """Mistakes and hinge loss stay below their bounds in expectation, with and without outliers."""
    rng = np.random.default_rng(7)
    side, gamma, n = rng.choice([-1.0, 1.0], size=3_000), 0.3, 3_000
    rest = rng.normal(size=(n, 9))
    rest *= math.sqrt(1 - gamma**2) / np.linalg.norm(rest, axis=1, keepdims=True)
    rows = np.column_stack([gamma * side, rest])
    learner = MarginDescent(margin=gamma, norm=1, steps=400, mu=0.237, relation=ReplaceOne())
    for outliers in (0, 60):
        labels = np.where(np.arange(n) < outliers, -side, side)
        runs = learner.release_many(Records(rows, labels), 3, rng=rng)["weights"]
        hinge = np.maximum(0, 1 - labels * (runs @ rows.T) / gamma).sum(axis=1).mean()
        wrong = (labels * (runs @ rows.T) <= 0).sum(axis=1).mean()
        bound = learner.mistakes(records=n, width=10, outliers=outliers)

        assert wrong <= hinge <= bound < n


def test_the_inequality_of_the_last_state_holds_on_every_path() -> None:
    """(*) of Theorem 2', for random hinges, references, steps, and noise of any size and law."""
    rng = np.random.default_rng(34)
    closest = math.inf
    for _ in range(400):
        steps, width, rows = rng.integers(1, 9), rng.integers(1, 4), rng.integers(1, 6)
        z = rng.normal(size=(rows, width))
        pace, reference = rng.exponential(), rng.normal(size=width) * rng.exponential()
        scale = rng.choice([0, 0.1, 1, 10])

        def loss(w: Any) -> float:  # noqa: ANN401
            return float(np.maximum(0, 1 - z @ w).sum())  # noqa: B023  # called in this turn

        for last in (1, 2):
            weight = [1 / (steps - t) for t in range(-1, steps)] + [last]  # v_{-1}, ..., v_T
            w, moving = np.zeros(width), reference
            right = weight[0] * (reference @ reference)
            for t in range(steps + 1):
                before, now = weight[t], weight[t + 1]
                apart = before * np.sum((w - moving) ** 2)
                right -= apart * (1 - before / now)
                moving = (before * moving + (now - before) * w) / now
                downhill, noise = (z @ w < 1) @ z, scale * rng.standard_t(2, size=width)
                right += 2 * pace * now * noise @ (w - moving)
                right += pace**2 * now * np.sum((downhill + noise) ** 2)
                end, w = w, w + pace * (downhill + noise)
            left = 2 * pace * (loss(end) - loss(reference))
            assert left <= right + 1e-9 * (abs(right) + abs(left) + 1)
            closest = min(closest, float((right - left) / right))

    assert closest < 0.05  # some paths come near


def test_the_last_state_has_the_bounds_of_its_theorem() -> None:
    """Mean and quantile of 400 runs against both bounds, and the numbers of the theorem by hand.

    A bound with probability .05 that holds is missed 45 times of 400 with probability 1e-6.
    """
    rng = np.random.default_rng(5)
    high = rng.uniform(0.5, 1, 300)
    rows = np.stack([high, np.sqrt(1 - high**2) * rng.choice([-1, 1], 300)], axis=1)
    given: dict[str, Any] = {"margin": 0.5, "norm": 1, "steps": 60, "relation": ReplaceOne()}
    learner = MarginDescent(**given, mu=0.03, average=False)
    runs = learner.release_many(Records(rows, np.ones(300)), 400, rng=ReplayRng(1))["weights"]
    losses = np.maximum(0, 1 - np.asarray(runs) @ rows.T / 0.5).sum(axis=1)
    expected = learner.excess(records=300, width=2)
    likely = learner.excess(records=300, width=2, failure=0.05)

    assert 0.05 * expected < losses.mean() <= expected < likely
    assert (losses > likely).sum() < 45
    g, s, log = 600.0, float(learner.sigma) / 0.5, math.log(60)
    pace = 1 / math.sqrt(61 * (g**2 + 2 * s**2))
    harmonic = sum(1 / t for t in range(1, 61))
    squares = 4 + sum(1 / t**2 for t in range(1, 61))
    start = 1 / (2 * pace * 61)
    mean = start + pace / 2 * (1 + harmonic) * (g**2 + 2 * s**2)
    tail = 2 * g * s * math.sqrt(2 * squares * log) + 2 * s**2 * math.sqrt(2 * squares * log)
    whole = start + pace / 2 * ((2 + harmonic) * (g**2 + 2 * s**2) + tail + 8 * s**2 * log)
    assert mean <= expected == pytest.approx(mean, rel=1e-4)
    assert whole <= likely == pytest.approx(whole, rel=1e-3)
    assert learner.mistakes(records=300, width=2, outliers=2, failure=0.05) == likely + 6
    mean_state = MarginDescent(**given, mu=0.03)
    assert mean_state.excess(records=300, width=2) < expected
    with pytest.raises(ParameterError, match="average=False"):
        mean_state.mistakes(records=300, width=2, failure=0.05)
