"""The experiments on learners by margin, at a tiny size."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")

from experiments import bassily2022, data, wang2025


def test_both_learners_run() -> None:
    """A table of covers out of reach, the price of sampling, and accuracies on zeros."""
    split = data.digits().two("digits, 0", lambda y: y == 0)
    found = bassily2022.learners([split], fits=1, epsilon=8, sizes=((4, 2_000),), steps=30)
    accuracies = [float(str(row[-1])) for row in found.rows]
    costs = [[float(str(cell)) for cell in row] for row in bassily2022.sampling().rows]

    assert len(accuracies) == 2 + len(bassily2022.MARGINS)
    assert max(accuracies) > accuracies[0]
    assert all(once < often < grouped for _, once, often, grouped in costs)
    assert len(bassily2022.covers().rows) == 4


def test_tuning_stays_within_the_noise_of_the_specification() -> None:
    """Eight margins at 5 % miss probability: noise at most 7.66, where all of them need 10.56."""
    (every, tried) = [float(str(row[-1])) for row in wang2025.tuning().rows[:2]]

    assert tried <= 7.66
    assert every == pytest.approx(8**0.5 / 0.26805, rel=1e-3)


def test_tuned_fits_run() -> None:
    """Two margins, both ways of tuning."""
    split = data.digits().two("digits, even", lambda y: y % 2 == 0)
    tables = wang2025.experiment([split], epsilon=8, fits=1, steps=20, grid=(1 / 8, 1 / 64))

    assert len(tables[1].rows) == 4
    assert all(0.4 < float(str(row[-1])) <= 1 for row in tables[1].rows)
