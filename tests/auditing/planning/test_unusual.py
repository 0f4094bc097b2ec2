"""Nearly all of the significance for an output other than the usual one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpproof.auditing import Outcome, audit
from dpproof.auditing.counts import Claim
from dpproof.auditing.planning.plan import EpsilonPlan, Method, with_unusual
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.standard import Coordinate
from dpproof.auditing.witnesses.witness import Question
from tests.auditing.samplers import Case, Rng, alarms, rounded

DELTA = 2e-4


def partition(plus_one: bool) -> Any:  # noqa: ANN401, FBT001
    """A key of some records, released where its noisy count passes a threshold."""
    threshold = plus_one + math.log(1 / (2 * DELTA))

    def draw(count: float, size: int, rng: Rng) -> Any:  # noqa: ANN401
        noisy = rounded(count + rng.laplace(size=size))
        return np.where((count > 0) & (noisy > threshold), noisy, np.nan)

    return draw


def rare(share: float, delta: float) -> Any:  # noqa: ANN401
    """Something unusual, as rarely as (1, delta) just allows."""
    more = math.e * share + delta
    return lambda on, size, rng: np.where(rng.random(size) < (more if on else share), 1.0, np.nan)


@pytest.mark.parametrize("pair", [(1.0, 0.0), (0.0, 1.0)])
def test_a_threshold_without_its_one_is_found(pair: tuple[float, float]) -> None:
    """A key of one record comes up with probability e delta instead of delta, whichever is D."""
    report = audit(partition(plus_one=False), pair, (1, DELTA), samples=60_000, seed=1)

    assert report.outcome is Outcome.VIOLATION, str(report)
    assert "whether an output is released that is not the usual one" in str(report)


@pytest.mark.slow
def test_it_is_found_nearly_always() -> None:
    """Of twenty audits at least nineteen refute; of a right threshold at most four."""
    for plus_one, least, most in ((False, 19, 20), (True, 0, 4)):
        found = [
            audit(partition(plus_one), (1.0, 0.0), (1, DELTA), samples=60_000, seed=seed).outcome
            for seed in range(20)
        ].count(Outcome.VIOLATION)
        assert least <= found <= most


@pytest.mark.slow
@pytest.mark.parametrize(("share", "samples"), [(0.0, 3_000), (1e-3, 3_000), (2e-3, 800)])
def test_tight_controls_alarm_rarely(share: float, samples: int) -> None:
    """At most 19 of 200 audits at 5 %, three standard deviations above what may alarm."""
    assert alarms(Case("rare", rare(share, 1e-3), 1, 0, (1, 1e-3), samples), 200) <= 19


def _plan() -> EpsilonPlan:
    question = Question(Coordinate(0), upwards=True, swapped=False, thresholds=np.array([1.0]))
    return EpsilonPlan(question, 0, 1.0, Method.LABEL, 0.5)


@pytest.mark.parametrize(
    ("on_data", "on_neighbour", "orders"),
    [(2, 0, [False]), (0, 3, [True]), (0, 0, [False, True]), (1, 1, [False, True])],
)
def test_the_shares_add_up(on_data: int, on_neighbour: int, orders: list[bool]) -> None:
    """A tenth of what there was stays; one hit outweighs all where the pilot had none."""
    labels = np.arange(1_000) < 500
    rows = np.zeros((1_000, 1))
    rows[:on_data], rows[1_000 - on_neighbour :] = 1.0, 1.0
    plans = with_unusual((_plan(), _plan()), Training(rows, labels), Claim.of((1, DELTA)))

    assert math.fsum(plan.share for plan in plans) == pytest.approx(1.0, abs=1e-12)
    assert math.fsum(plan.share for plan in plans) <= 1.0
    assert [plan.question.sides[0].swapped for plan in plans[2:]] == orders
    assert all((plan.weight > 1e6) is (0 in (on_data, on_neighbour)) for plan in plans[2:])


def test_outputs_that_vary_and_claims_without_delta_keep_their_plans() -> None:
    """Labels say enough of a rare event if no delta has to be explained."""
    labels = np.arange(200) < 100
    plans = (_plan(),)
    varied = Training(np.arange(200.0)[:, None] % 50, labels)
    constant = Training(np.zeros((200, 1)), labels)

    assert with_unusual(plans, varied, Claim.of((1, DELTA))) is plans
    assert with_unusual(plans, constant, Claim.of((1, 0))) is plans
