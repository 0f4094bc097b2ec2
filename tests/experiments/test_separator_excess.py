"""The excess losses of noisy separators stay below their bound, and not far below."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant import AddRemove
from dpproof.mechanisms import Cube, Records, SeparatorPerturbation
from dpproof.mechanisms.samplers.rng import ReplayRng
from experiments.separator_excess import mean_excess

RUNS, SEED = 2_000, 3


@pytest.mark.parametrize("noise", ["linf", "laplace", "sphere"])
def test_mean_excess_is_below_the_bound(noise: str) -> None:
    """On halfspaces of five signs that 20 records hold apart; seed 3, false alarm below 1e-9."""
    rng = np.random.default_rng(SEED)
    rows = rng.choice([-1, 1], (20, 5))
    labels = np.where(rows @ [1, 1, 1, -1, -1] > 0, 1, -1)
    learner = SeparatorPerturbation(epsilon=1, space=Cube(5), noise=noise, relation=AddRemove())
    weights = np.asarray(learner.draw([Records(rows, labels)], RUNS, ReplayRng(SEED))[0]["weights"])
    wrong = ((rows @ weights.T) * labels[:, np.newaxis] <= 0).sum(axis=0)
    best = min(
        ((rows @ np.array(signs)) * labels <= 0).sum()
        for signs in np.stack(np.meshgrid(*[[-1, 1]] * 5), axis=-1).reshape(-1, 5)
    )
    excess = wrong - best
    mean, error = float(excess.mean()), float(excess.std()) / RUNS**0.5

    assert best == 0
    assert 0 < mean < mean_excess(learner) + 6.5 * error
