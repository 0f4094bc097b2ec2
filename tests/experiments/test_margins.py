"""The experiments on learners by margin, at a tiny size."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("sklearn")

from experiments import bassily2022, data, removal, wang2025


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


def test_margins_grow_as_hard_points_go() -> None:
    """The curve does not fall by more than the solver's tolerance, and its table reads it off."""
    split = data.digits()
    figure = removal.curves(split, [(3, 5)], rounds=2)
    table = removal.table(figure)

    for points in figure.curves.values():
        margins = [height for _, height in points]
        assert all(after > before * 0.97 for before, after in itertools.pairwise(margins))
        assert margins[-1] > 0
    assert len(table.rows) == 2


def test_one_point_ends_a_margin() -> None:
    """The largest margin is .5 with the point on its own side, and 0 on the other one."""
    ((_, points), _) = removal.discontinuity(margins=5).curves.items()

    assert points[0][1] == pytest.approx(0.5, abs=0.01)
    assert points[-1][1] == 0


def test_bounds_are_tables_of_formulas() -> None:
    """The pure learner's cover says nothing; risks at .05 are those of the specification."""
    learned = removal.learning_bounds()
    risks = {tuple(row[:2]): float(str(row[2])) for row in removal.risk_bounds().rows}

    assert all(float(str(row[-1])) > 0.1 for row in learned.rows)
    assert float(str(learned.rows[-1][2])) < 0.2
    assert risks[0.05, "a million candidates"] == pytest.approx(0.0637, abs=5e-5)
    assert risks[0.05, "halfspaces, 10 dimensions"] == pytest.approx(0.110, abs=5e-4)
