"""The experiments on large margins, at a tiny size."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")

from experiments import data, nguyen2020


def test_everything_runs_on_small_data() -> None:
    """Every algorithm learns two cones and even digits, better than the larger class."""
    even = data.digits().two("digits, even", lambda y: y % 2 == 0)
    tables, figures = nguyen2020.experiment(
        [(nguyen2020.cones(200, 20), 0.3), (even, 0.03)],
        fits=1,
        epsilons=(8.0,),
        sizes=(20,),
        margins=(0.3,),
    )
    accuracies = [row[-1] for row in tables[-1].rows if row[0] == "two cones"]

    assert len(tables) == 4
    assert len(figures) == 2
    assert len(accuracies) == 4
    assert all(isinstance(a, float) and 0 <= a <= 1 for a in accuracies)


def test_the_printed_selection_is_not_paid_for() -> None:
    """For 20 records all runs cost a fraction of epsilon 1, and with the selection more than 1."""
    (row,) = nguyen2020.printed_budget((20,)).rows

    assert float(str(row[-2])) < 0.1
    assert 1 < float(str(row[-1])) < 1.1


def test_public_sets_are_scaled_by_public_constants() -> None:
    """Rows of one set do not depend on the others, and their numbers lie in [0, 1]."""
    for split in (data.digits(), data.breast_cancer()):
        assert split.train_x.min() >= 0
        assert split.train_x.max() <= 1
        assert len(split.train_x) + len(split.test_x) in (1797, 569)
