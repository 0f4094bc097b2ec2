"""A halfspace of the plane by the exponential mechanism."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, BoundedRange, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import Records
from experiments.circle_exponential import CircleExponential
from experiments.mistake_exponential import CandidateExponential
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad
from tests.contracts.weakened import assert_caught

GOOD: dict[str, Any] = {"margin": 0.1, "epsilon": 1}


class TestCircleExponential(MechanismContract):
    """Of 4096 directions."""

    def mechanism(self) -> CircleExponential[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return CircleExponential(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Rows on every side."""
        return Records([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[CircleExponential[AddRemove]]:
        """Epsilon from 4 to a hundredth."""
        return [
            CircleExponential(**{**GOOD, "epsilon": e}, relation=AddRemove())
            for e in (4, 1, 0.1, 0.01)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "margin": (-0.1, float("nan"), None),
            "epsilon": NOT_POSITIVE,
            "norm": (0, -1, "1"),
            "relation": ("add-remove", None),
            "directions": (2, 7, 0, -4, 4.0, None, 2**21),
        }
        return one_bad(CircleExponential, good={**GOOD, "relation": AddRemove()}, bad=bad)


@pytest.mark.parametrize("directions", [4, 6, 64, 1_000, 4_096])
@pytest.mark.parametrize("margin", [0, 0.1, 0.6, 0.99, 1, 3])
def test_counts_are_those_of_every_direction_alone(directions: int, margin: float) -> None:
    """Along the circle the mistakes are what one product a record and direction finds."""
    rng = np.random.default_rng(directions)
    rows = np.concatenate(
        [
            [[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0], [np.nan, 1], [0.6, 0.8], [1e-6, 0]],
            rng.normal(size=(60, 2)) * 10.0 ** rng.integers(-3, 3, size=(60, 1)),
        ]
    )
    data = Records(rows, rng.choice([1, -1, 7], size=len(rows)))
    pick = CircleExponential(margin=margin, epsilon=1, directions=directions, relation=AddRemove())
    corners = [pick.release([], rng=rng).weights for _ in range(3)]
    turns = (np.arange(directions) + 0.5) / directions - 0.5
    polygon = np.column_stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)])
    slow = CandidateExponential(candidates=polygon, margin=margin, epsilon=1, relation=AddRemove())

    assert pick.mistakes(data).tolist() == slow.mistakes(data).tolist()
    for corner in corners:
        assert np.abs(polygon - corner).max(axis=1).min() < 1e-8


def test_mistakes_move_by_one_in_the_same_direction() -> None:
    """A record adds the same 0s and 1s beside any others, in any order, bit for bit."""
    pick = CircleExponential(margin=0.3, epsilon=1, directions=64, relation=AddRemove())
    universe = [
        (row, label)
        for row in ([1.0, 0.0], [0.05, 0.9], [-3.0, 4.0], [0.2, 0.1], [0.0, 0.0], [np.nan, 0.0])
        for label in (1, -1, 0)
    ]
    alone = [pick.mistakes([record]) for record in universe]
    everything = pick.mistakes(universe)

    assert {int(x) for counts in alone for x in counts} == {0, 1}
    assert (everything == np.sum(alone, axis=0)).all()
    for (i, one), (j, other) in itertools.product(enumerate(universe), repeat=2):
        assert (pick.mistakes([one, other]) == alone[i] + alone[j]).all()
    for relation in (AddRemove(), ZeroOut(), ReplaceOne()):
        stated = CircleExponential(margin=0.3, epsilon=1, relation=relation)
        assert stated.guarantee() == BoundedRange(epsilon=1, relation=relation)


def test_picks_have_the_stated_probabilities() -> None:
    """Proportional to e^(-epsilon mistakes), half of it under replace-one."""
    data = Records([[1.0, 0.0]] * 2 + [[0.0, 1.0]], [1, 1, 1])
    for relation, factor in ((AddRemove(), 1.0), (ReplaceOne(), 0.5)):
        pick = CircleExponential(margin=0.1, epsilon=1, directions=8, relation=relation)
        weights = np.exp(-factor * pick.mistakes(data))
        seen = np.bincount(pick.release_many(data, 20_000)["index"], minlength=8) / 20_000

        assert sorted(set(pick.mistakes(data).tolist())) == [0, 1, 2, 3]
        assert seen == pytest.approx(weights / weights.sum(), abs=0.03)


def test_the_loss_stays_in_a_range_of_epsilon() -> None:
    """Exactly, on all pairs of a grid: a range of epsilon, and twice that were it not halved."""
    pick = CircleExponential(margin=0.2, epsilon=0.5, directions=64, relation=AddRemove())
    rows = [[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8], [0.0, -1.0]]
    laws = {}
    for i, data in enumerate([[], *([(row, 1)] for row in rows)]):
        weights = np.exp(-0.5 * pick.mistakes(data))
        laws[i] = np.log(weights / weights.sum())
    added = [laws[i] - laws[0] for i in range(1, 5)]
    replaced = [laws[i] - laws[j] for i in range(1, 5) for j in range(1, 5)]

    assert max(np.ptp(loss) for loss in added) == pytest.approx(0.5)
    assert max(np.ptp(loss) for loss in replaced) == pytest.approx(1.0)


def test_a_weakened_copy_is_caught() -> None:
    """A pick at four times the claimed epsilon is refuted by one record."""
    claim = CircleExponential(
        margin=0, epsilon=0.5, directions=16, relation=AddRemove()
    ).guarantee()
    row = Records([[1.0, 0.0]], [1])

    assert_caught(
        CircleExponential(margin=0, epsilon=2, directions=16, relation=AddRemove()),
        claim,
        (row, row[:0]),
    )


def test_few_mistakes_at_the_sample_size_of_the_calculator() -> None:
    """At n = 397, margin 0.3, epsilon 1: half of alpha = 0.1 exceeded in at most 1 of 100 picks.

    If that is true, more than 14 of 200 exceed it with probability below 1e-8.
    """
    rng = np.random.default_rng(3)
    sides, labels = rng.choice([-1.0, 1.0], size=397), rng.choice([-1.0, 1.0], size=397)
    rows = np.column_stack([np.full(397, 0.3), np.sqrt(0.91) * sides]) * labels[:, np.newaxis]
    pick = CircleExponential(margin=0.95 * 0.3, epsilon=1, relation=AddRemove())
    picked = pick.release_many(Records(rows, labels), 200)["index"]

    assert (pick.mistakes(Records(rows, labels))[picked] > 0.05 * 397).sum() <= 14


def test_more_dimensions_are_refused() -> None:
    """The sphere beyond the plane would need a Markov chain."""
    with pytest.raises(ParameterError, match="2 wide"):
        CircleExponential(**GOOD, relation=AddRemove()).release(Records(np.eye(3), [1, 1, 1]))
