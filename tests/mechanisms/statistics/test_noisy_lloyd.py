"""Clusters from noisy means."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.mechanisms import ClassMeans, NoisyLloyd
from dpproof.mechanisms.learning.records import clipped_rows
from dpproof.mechanisms.statistics.second_moments import nearest
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad


@pytest.mark.slow
class TestNoisyLloyd(MechanismContract):
    """Two clusters in the plane."""

    def mechanism(self) -> NoisyLloyd[AddRemove]:
        """Two steps."""
        return NoisyLloyd(centres=[[1, 0], [-1, 0]], steps=2, sigma=3, norm=2, relation=AddRemove())

    def data(self) -> object:
        """Rows of both clusters, one too long, and one that is not finite."""
        return [[1.0, 0.5], [-1.0, -3.0], [math.nan, 0.0], [1.0, 1.0]]

    def increasing_noise(self) -> Sequence[NoisyLloyd[AddRemove]]:
        """From the norm to thirty times."""
        return [
            NoisyLloyd(centres=[[1], [0]], steps=2, sigma=s, relation=AddRemove())
            for s in (1, 4, 30)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "centres": (np.zeros((0, 2)), [1, 0], [[math.nan], [0]], "ab", [[1], [0, 1]], None),
            "steps": (0, 1.5, None),
            "sigma": NOT_POSITIVE,
            "count_sigma": (0, -1),
            "norm": NOT_POSITIVE,
            "relation": (AddRemove,),
        }
        good: dict[str, Any] = {"centres": [[1], [0]], "steps": 1, "sigma": 1}
        return one_bad(NoisyLloyd, good={**good, "relation": AddRemove()}, bad=bad)


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()], ids=str)
def test_every_step_costs_what_class_means_cost(relation: AddRemove | ReplaceOne) -> None:
    """Mu grows by the square root of the steps."""
    many = NoisyLloyd(centres=np.eye(3), steps=9, sigma=7, norm=2, relation=relation)
    one = ClassMeans(classes=3, sigma=7, norm=2, relation=relation)

    assert many.guarantee().epsilon(delta=1e-5) == one.repeat(9).guarantee().epsilon(delta=1e-5)
    assert one.repeat(9).guarantee().epsilon(delta=1e-5).lower > 3 * 0.5


def test_the_nearest_centre_is_exact_and_local() -> None:
    """Against squared distances in Python's integers; and one row alone as among all."""
    rng = np.random.default_rng(6)
    rows = clipped_rows(rng.normal(size=(400, 3)), 2.0, 24)
    centres = clipped_rows(np.vstack([rng.normal(size=(6, 3)), rows[:2] / 2**24 * 2]), 2.0, 28)
    found = nearest(rows, centres)
    whole = [[int(k) << 4 for k in row] for row in rows]
    others = [[int(h) for h in centre] for centre in centres]
    distances = [
        [sum((a - b) ** 2 for a, b in zip(x, c, strict=True)) for c in others] for x in whole
    ]

    for row, picked in zip(distances, found, strict=True):
        assert row[picked] - min(row) <= 2 * 2**5  # half squares are rounded down to 2^-52
    for i in range(0, 400, 7):
        assert nearest(rows[i : i + 1], centres)[0] == found[i]


def test_clusters_are_found() -> None:
    """With hardly any noise the centres are those of the clusters, in any order."""
    rng = np.random.default_rng(7)
    means = np.array([[0.5, 0.5], [-0.5, 0.5], [0.0, -0.6]])
    rows = np.concatenate([rng.normal(mean, 0.05, size=(300, 2)) for mean in means])
    learner = NoisyLloyd(
        centres=[[0.2, 0.1], [-0.2, 0.1], [0, -0.1]], steps=6, sigma=0.5, relation=AddRemove()
    )
    found = learner.release(rows)

    assert np.abs(found.centres - means).max() < 0.03
    assert np.abs(found.counts - 300).max() < 10


def test_an_empty_cluster_starts_again_beside_the_largest() -> None:
    """A centre that no row is near to ends up among the rows, and inside the norm."""
    rows = np.random.default_rng(8).normal([0.5, 0.0], 0.05, size=(500, 2))
    found = NoisyLloyd(
        centres=[[0.4, 0.0], [-1.0, 0.0]], steps=4, sigma=0.5, relation=AddRemove()
    ).release(rows)

    assert np.abs(found.centres - [0.5, 0.0]).max() < 0.2
    assert (np.linalg.norm(found.centres, axis=1) <= 1).all()
