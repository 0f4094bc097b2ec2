"""A lower bound of epsilon at all times."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import ConfidenceSequence
from dpproof.auditing.evidence import EProcess

GRID = (0.0, 0.2, 0.5, 1.0, 2.0)


def after_one(sequence: ConfidenceSequence, eta: float, *, label: bool) -> ConfidenceSequence:
    """The sequence after one more trial."""
    return sequence.after(np.array([eta]), np.array([label]), highest=eta, lowest=eta)


def bounds_on(
    sequence: ConfidenceSequence, labels: tuple[bool, ...], eta: float = 0.9
) -> list[float]:
    """The bound after every single trial."""
    found = []
    for label in labels:
        sequence = after_one(sequence, eta, label=label)
        found.append(sequence.epsilon)
    return found


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("eta", [0.9, 0.97])
def test_bound_ever_exceeds_the_truth_rarely(epsilon: float, eta: float) -> None:
    """Exactly, over all paths of eight trials looked at one by one, as a tree."""
    significance, bias = 0.6, 1 / (1 + math.exp(-epsilon))

    def error(sequence: ConfidenceSequence, left: int) -> float:
        if sequence.epsilon > epsilon:
            return 1.0
        if left == 0:
            return 0.0
        return sum(
            chance * error(after_one(sequence, eta, label=label), left - 1)
            for label, chance in ((True, bias), (False, 1 - bias))
        )

    start = ConfidenceSequence.over((0.0, 0.2, 0.5, 0.8), significance=significance)
    assert 0 < error(start, 8) <= significance


def test_bound_never_falls_and_grows_with_the_significance() -> None:
    """After a lucky streak and a loss the bound stays; every level is below the next one."""
    rng = np.random.default_rng(2)
    labels = tuple((rng.random(400) < 0.88).tolist()) + (False,) * 100
    paths = [
        bounds_on(ConfidenceSequence.over(GRID, significance=level), labels)
        for level in (1e-4, 0.01, 0.2)
    ]

    assert all(path == sorted(path) for path in paths)
    assert all(a <= b for low, high in pairwise(paths) for a, b in zip(low, high, strict=True))
    assert paths[-1][-1] >= 1.0


def test_an_epsilon_counts_only_when_all_below_are_refuted() -> None:
    """Evidence against the middle of the grid alone shows nothing."""
    sequence = ConfidenceSequence.over(GRID, significance=0.05)
    largest = np.array([0.0, 9.0, 9.0, 0.0, 9.0])
    gap = ConfidenceSequence(sequence.bets, 0.05, sequence.wealths, largest)
    full = ConfidenceSequence(sequence.bets, 0.05, sequence.wealths, largest + 9 * (largest == 0))

    assert gap.epsilon == 0.0
    assert full.epsilon == 2.0
    assert [gap.refutes(j) for j in range(5)] == [False, True, True, False, True]


def test_agrees_with_single_bets() -> None:
    """Each grid point's wealth is what two ``EProcess`` bettors with half of it each make."""
    rng = np.random.default_rng(4)
    eta, labels = rng.choice([0.2, 0.5, 0.8], size=300), rng.random(300) < 0.6
    sequence = ConfidenceSequence.over(GRID, delta=0.01, significance=0.05)
    sequence = sequence.after(eta, labels, highest=0.9, lowest=0.1)
    for position, epsilon in enumerate(GRID):
        bet = EProcess(epsilon=epsilon, delta=0.01)
        sides = [
            bet.log_wealths(eta, labels, highest=0.9),
            bet.log_wealths(1 - eta, ~labels, highest=0.9),
        ]

        assert sequence.evidence(position) == pytest.approx(EProcess.mixed(np.ravel(sides)))


@pytest.mark.parametrize("eta", [-0.1, 0.3, 0.85, float("nan")])
def test_refuses_predictions_beyond_their_limits(eta: float) -> None:
    """A prediction is between the two numbers fixed before."""
    sequence = ConfidenceSequence.over(GRID, significance=0.05)
    with pytest.raises(ParameterError):
        sequence.after(np.array([eta]), np.array([True]), highest=0.8, lowest=0.4)


def test_refuses_an_empty_grid() -> None:
    """There is something to bet against."""
    with pytest.raises(ParameterError):
        ConfidenceSequence.over([], significance=0.05)
