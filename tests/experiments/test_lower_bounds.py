"""Lower bounds: our learners obey them, and one that claims less than it costs does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant import AddRemove, PureDP
from dpproof.mechanisms import BatchPerceptron, MeanHalfspace, Mechanism
from dpproof.mechanisms.samplers.rng import ReplayRng
from experiments.lower_bounds import (
    axis_task,
    copies_cap,
    halfspace_tasks,
    packing_cap,
    packing_records,
    robust,
)
from experiments.mistake_exponential import CandidateExponential

DIMENSION, MARGIN = 5, 0.5
AXES = np.vstack([np.eye(DIMENSION), -np.eye(DIMENSION)])
SEED, RUNS, ALARM = 34, 4_000, 1e-9
TASKS = range(2 * DIMENSION)


def task(axis: int, records: int) -> Any:  # noqa: ANN401  # Records
    """One task of the packing."""
    return axis_task(axis, dimension=DIMENSION, margin=MARGIN, records=records)


def picked(epsilon: float, records: int) -> float:
    """How often the exponential mechanism over all axes succeeds, exactly, on average."""
    learner = CandidateExponential(
        candidates=AXES, margin=0.9 * MARGIN, epsilon=epsilon, relation=AddRemove()
    )
    shares = []
    for axis in TASKS:
        data = task(axis, records)
        odds = np.exp(-epsilon * learner.mistakes(data).astype(float))
        shares.append(odds[robust(AXES, data, margin=0.9 * MARGIN)].sum() / odds.sum())
    return float(np.mean(shares))


def test_no_halfspace_serves_two_tasks() -> None:
    """Sets of the packing are disjoint: of 20,000 directions none is in two, all axes in one."""
    directions = np.random.default_rng(SEED).normal(size=(20_000, DIMENSION))
    directions = np.vstack([directions, AXES])
    served = sum(
        robust(directions, task(axis, 4), margin=0.9 * MARGIN).astype(int) for axis in TASKS
    )

    assert served.max() == 1
    assert served[-2 * DIMENSION :].tolist() == [1] * (2 * DIMENSION)
    assert served[:-10].sum() > 10


@pytest.mark.parametrize("records", [1, 2, 3, 5])
def test_an_exact_pick_obeys_the_cap_and_an_overdrawn_one_does_not(records: int) -> None:
    """At its epsilon; at twice of that the cap is crossed while it says something."""
    cap = packing_cap(PureDP(epsilon=1), records=records, sets=len(AXES))

    assert picked(1, records) <= cap
    if cap < 0.9:
        assert picked(2, records) > cap


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        MeanHalfspace(sigma=1, relation=AddRemove()),
        BatchPerceptron(margin=MARGIN, steps=6, sigma=2, relation=AddRemove()),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("records", [1, 3])
def test_noisy_sums_obey_the_cap(learner: Mechanism[AddRemove], records: int) -> None:
    """The lower end of the success in 4,000 runs a task is below it; false alarm 1e-9, seed 34."""
    won = 0
    for axis in TASKS:
        data = task(axis, records)
        runs = learner.draw([data], RUNS, ReplayRng(SEED + axis))[0]
        won += int(robust(np.asarray(runs["weights"]), data, margin=0.9 * MARGIN).sum())
    lowest = stats.beta.ppf(ALARM, won, len(TASKS) * RUNS - won + 1)
    cap = packing_cap(learner.guarantee(), records=records, sets=len(AXES))

    assert won > 0
    assert lowest <= cap < 1


@pytest.mark.parametrize("records", [1, 2, 5])
def test_copies_of_a_bit_are_learned_below_the_cap(records: int) -> None:
    """The best test of n copies of a sign at Gaussian noise, exactly; a lower claim is refuted."""
    learner = MeanHalfspace(sigma=2, relation=AddRemove())
    for delta in (1e-5, 1e-2):
        epsilon = learner.guarantee().epsilon(delta=delta).upper
        success = stats.norm.cdf(records / 2)

        assert success <= copies_cap(epsilon=epsilon, delta=delta, records=records)
        assert success > copies_cap(epsilon=epsilon / 9, delta=delta / 9, records=records)


def test_numbers_of_records() -> None:
    """The printed law n >= ln(K success)/epsilon, within one; the repaired packing of a margin."""
    for epsilon, sets in ((1.0, 2_000), (0.5, 200)):
        needed = packing_records(PureDP(epsilon=epsilon), sets=sets, success=0.5)

        assert abs(needed - np.log(sets * 0.5) / epsilon) <= 1 + 0.7 / epsilon
    assert halfspace_tasks(0.002) == int(2 ** (0.39 * 250))
